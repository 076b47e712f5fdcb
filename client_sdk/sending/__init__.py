"""When and how waiting reports leave the device.

This package imports answers, the ledger, the host, results and the protocol. Only `transport`
imports requests.
"""
