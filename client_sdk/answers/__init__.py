"""Turns true answers into queued reports, if calendar, consent and budget allow a report.

This package never uses the network.
"""
