"""Sends waiting reports: the times, the uploads, and the treatment of responses.

This package imports only `client_sdk.answers`, `client_sdk.ledger`, `client_sdk.host`,
`client_sdk.protocol` and `client_sdk.results`. Only `transport` imports the library ``requests``.
"""
