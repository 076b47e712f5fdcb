"""Rehearsals, which randomize known answers before a release and compare estimates with them."""
