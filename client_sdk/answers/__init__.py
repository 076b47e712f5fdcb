"""The path from a true answer to a queued report: the calendar, randomness and the budget.

This package imports the ledger, the host, results and the protocol. It never uses the network.
"""
