"""Rehearsals: known answers are randomized, and estimates are compared with the known answers."""
