"""The ledger: a device's SQLite file, with charges, waiting reports, and the device's secret.

Functions that take a connection run within the caller's transaction, unless their docstrings say
otherwise.
"""
