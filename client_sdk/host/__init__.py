"""The process and the machine that the SDK runs in.

This package imports only results and the protocol.
"""
