"""Turns true answers into queued reports, if the calendar, consent and budget allow a report.

This package never uses the network.
"""
