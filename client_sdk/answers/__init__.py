"""Turns true answers into queued reports, if the calendar, the consent and the budget allow it.

This package never uses the network. It imports only `client_sdk.ledger`, `client_sdk.host`,
`client_sdk.protocol` and `client_sdk.results`.
"""
