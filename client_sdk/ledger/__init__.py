"""The ledger: a device's SQLite file, with charges, waiting reports, and the device's secret.

Unless its docstring says otherwise, a function that takes a connection runs within a transaction
that its caller has begun. This package imports only `client_sdk.host`, `client_sdk.protocol` and
`client_sdk.results`.
"""
