"""Rotated axes: a signed axis of a public random rotation that a vector points along.

One module has the law, another how many rotations there are, of which dimension. Imports the
vocabulary's coins, epsilon and exact arithmetic.
"""
