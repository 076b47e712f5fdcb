"""Derives the tables of ``optimal-mean``, and measures them against the linear program."""
