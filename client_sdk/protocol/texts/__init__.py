"""Grouped geometry: one of a text's cells, through a projective geometry, its group in the clear.

One module has the law, another which geometry there is. Imports the vocabulary's coins and epsilon,
and geometries.
"""
