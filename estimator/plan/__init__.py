"""Plans, which are made before any data is collected.

A plan predicts the errors of estimates from a given number of devices. The plan also states how
much privacy a device can lose through its reports and through published tallies. An allocation
divides a total epsilon among metrics.
"""
