"""Sends waiting reports: when, in which uploads, and what follows from each response.

This package imports the modules of answers, the ledger, the host and the protocol, and
`client_sdk.results`. Only `transport` imports the library ``requests``.
"""
