"""Tallies: read strictly, within limits, from a file or a collector."""
