"""Turns true answers into queued reports, if the calendar, the consent and the budget allow it.

This package never uses the network.
"""
