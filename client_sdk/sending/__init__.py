"""When and how waiting reports leave the device.

Imports the ledger, the host, results and the protocol; only `transport` imports requests.
"""
