"""Turns true answers into queued reports, as far as calendar, consent and budget allow.

This package imports the modules of the ledger, the host and the protocol, and `client_sdk.results`.
It never uses the network.
"""
