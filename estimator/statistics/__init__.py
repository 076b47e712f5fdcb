"""Intervals, tests and projections: statistics that know nothing of Hearsay."""
