"""The one SQLite file of a device: charges, the outbox, and permanent answers.

Imports the host, results and the protocol.
"""
