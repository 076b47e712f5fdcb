"""Intervals, tests and projections, without any dependency on the rest of Hearsay."""
