"""When and how waiting reports are sent.

This package imports answers, the ledger, the host, results and the protocol. Only `transport`
imports requests.
"""
