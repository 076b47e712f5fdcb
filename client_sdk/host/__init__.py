"""The process and the machine in which the SDK runs.

This package imports only `client_sdk.results` and `client_sdk.protocol`.
"""
