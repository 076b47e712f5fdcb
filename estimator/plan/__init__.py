"""Plans, which are made before any data is collected.

A plan predicts the errors of estimates from a given number of devices. The plan also bounds the
privacy loss of a device from its reports and from published tallies. An allocation divides a
privacy budget among metrics.
"""
