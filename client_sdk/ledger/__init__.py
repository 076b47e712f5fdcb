"""The one SQLite file of a device: charges, the outbox, and a secret.

Imports the host, results and the protocol.
"""
