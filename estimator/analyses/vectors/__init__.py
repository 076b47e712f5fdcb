"""Vectors: the mean of a tally, how rotations are turned back, and tallies drawn by their law."""
