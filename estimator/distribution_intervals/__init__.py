"""Intervals of a number's distribution, valid for every population.

A distribution function never falls. Its mean over a range of the grid is therefore never below its
value at the start of the range, and never above its value at the end. The mean over a range has an
unbiased estimate with a known variance, so each range gives a one-sided limit that is valid for all
answers: smooth, spiked or on a lattice. Long ranges have little noise, short ones little distance
to the value. The fitted histogram selects the most promising range; the limit itself never uses it.

Imports likelihood, inverse and statistics.
"""
