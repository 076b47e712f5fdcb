"""Rehearsals, which randomize known answers and compare the estimates with the truth."""
