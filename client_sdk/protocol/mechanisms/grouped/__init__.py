"""Grouped geometry: one of several cells of a text, through a projective geometry, with the group in the clear.

One module has the law, another which geometry there is. Imports the vocabulary's coins and epsilon, and geometries.
"""
