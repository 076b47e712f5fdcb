"""Selects the tallies of a report, and compares and pools windows and groups."""
