"""Plans, made before any data is collected.

A plan predicts errors for a number of devices. The plan also bounds what reports and published
tallies reveal about a device. An allocation divides a budget among metrics.
"""
