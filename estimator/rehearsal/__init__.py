"""Rehearsals before a release: randomize known answers, and compare estimates with the truth."""
