"""Plans, which are made before any data is collected.

A plan predicts how large the errors will be for a given number of devices. It also bounds how much
reports and published tallies reveal about a device, and can divide a budget among metrics.
"""
