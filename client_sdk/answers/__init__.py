"""The path from a true answer to a queued report: the calendar, randomness and the budget.

Imports the ledger, the host, results and the protocol. Nothing here touches the network.
"""
