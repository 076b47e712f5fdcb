"""Intervals, tests and projections: statistics without any dependency on Hearsay."""
