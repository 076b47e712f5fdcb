"""When and how waiting reports leave the device.

Imports answers, the ledger, the host, results and the protocol. Only `transport` imports requests.
"""
