"""Plans made before any data is collected: precision, privacy loss, and allocation of the budget.

The precision says how large errors will be with a number of devices. The privacy losses are upper
bounds on what reports and published tallies reveal about a device.
"""
