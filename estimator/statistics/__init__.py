"""Intervals, tests and projections. This package imports no other part of Hearsay."""
