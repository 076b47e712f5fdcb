"""The one SQLite file of a device: charges, the outbox, and a secret.

Unless its docstring says otherwise, a function that takes a connection runs within a transaction
that its caller has begun. This package imports the host, results and the protocol.
"""
