"""Sends waiting reports. Decides when to send them, in which uploads, and how to treat responses.

This package imports only `client_sdk.answers`, `client_sdk.ledger`, `client_sdk.host`,
`client_sdk.protocol` and `client_sdk.results`. Only `transport` imports the library ``requests``.
"""
