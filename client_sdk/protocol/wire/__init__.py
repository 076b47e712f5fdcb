"""The bodies that devices, relays, collectors and estimators exchange, which are read strictly.

This package imports only windows and errors from `client_sdk.protocol`.
"""
