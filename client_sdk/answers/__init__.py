"""From a true answer to a queued report: by the calendar, coins and the budget.

Imports the ledger, the host, results and the protocol. Nothing here touches the network.
"""
