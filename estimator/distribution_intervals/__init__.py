"""Intervals of a number's distribution, valid for every population.

A distribution function never falls. Its mean over a range of the grid is therefore never below
its value where the range begins, and never above its value where the range ends. The mean over
a range has an unbiased estimate with a known variance, so each range gives a one-sided limit
that holds whatever the answers are: smooth, spiked or on a lattice. Long ranges have little
noise, short ones little distance to the value. The fitted histogram says which range promises
most; the limit itself never uses it.

Imports likelihood, inverse and statistics.
"""
