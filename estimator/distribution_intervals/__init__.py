"""Intervals of a number's distribution, valid for every population.

A distribution function never falls. Its mean over a stretch of the range is therefore never below
its value where the stretch begins, and never above its value where the stretch ends. The mean over
a stretch has an unbiased estimate with a known variance, so each stretch gives a one-sided limit
that holds whatever the answers are: smooth, spiked or on a lattice. Long stretches have little
noise, short ones little distance to the value. The fitted histogram says which stretch promises
most; it never takes part in the limit itself.

Imports likelihood, inverse and statistics.
"""
