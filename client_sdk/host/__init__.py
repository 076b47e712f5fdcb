"""The process and the machine that the SDK runs in.

This package imports only `client_sdk.results` and `client_sdk.protocol`.
"""
