"""The bodies that devices, relays, collectors and estimators exchange. They are parsed strictly.

This package imports only windows and errors from `client_sdk.protocol`.
"""
