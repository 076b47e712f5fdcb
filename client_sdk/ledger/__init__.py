"""The one SQLite file of a device: charges, the outbox, and a secret.

A function that takes a connection is one step of a transaction that its caller has begun, unless
its docstring says otherwise. This package imports the host, results and the protocol.
"""
