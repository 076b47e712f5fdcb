"""Plans, made before any data is collected.

A plan predicts errors for a number of devices. It bounds what reports and published tallies reveal
about a device. It can also divide a budget among metrics.
"""
