"""The process and the machine that the SDK runs in.

Imports only results and the protocol.
"""
