"""Derives the tables of ``optimal-mean``, and compares them with a linear program."""
