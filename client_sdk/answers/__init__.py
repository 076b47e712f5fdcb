"""Turns true answers into queued reports, if the calendar, the consent and the budget allow a
report.

This package never uses the network.
"""
