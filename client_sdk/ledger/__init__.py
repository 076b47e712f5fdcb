"""The one SQLite file of a device: charges, the outbox, and what is kept of answers.

Imports the host, results and the protocol.
"""
