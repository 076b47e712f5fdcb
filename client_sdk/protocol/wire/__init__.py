"""The bodies that devices, relays, collectors and estimators exchange, with strict parsers.

This package imports only windows and errors from `client_sdk.protocol`.
"""
