"""Plans made before any data is collected: precision, privacy loss, and allocation of the budget.

The privacy losses are upper bounds on what reports and published tallies reveal.
"""
