"""Rehearsals: known answers are randomized, and estimates are compared with them."""
