"""From a true answer to a report: by the calendar, coins and the budget.

Imports the ledger, the host, results and the protocol. Nothing here touches the network.
"""
