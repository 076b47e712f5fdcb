"""The ledger: a device's SQLite file, with charges, waiting reports, and the device's secret.

Unless its docstring says otherwise, a function that takes a connection runs within a transaction
that its caller has begun. This package imports the modules of the host and the protocol, and
`client_sdk.results`.
"""
