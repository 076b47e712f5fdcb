"""Balanced designs: the channel, its blocks, and which of them suits a number of values.

Imports the vocabulary's coins, epsilon and constants; nothing of the other mechanisms.
"""
