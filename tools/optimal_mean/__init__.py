"""Derives the tables of the mechanism ``optimal-mean``, and measures them against the linear programme."""
