"""Intervals of a number's distribution, valid for every population.

A distribution function never falls. Its mean over a range of the grid is therefore never below its
value at the start of the range, and never above its value at the end. The mean over a range has an
unbiased estimate with a known variance. Each range therefore gives a one-sided limit that is valid
for all answers, whether these are smooth, spiked or on a lattice. The mean over a long range has
little noise; the mean over a short range is close to the value at its end. The fitted histogram
selects the most promising range, but the limit itself does not depend on the histogram.

This package imports likelihood, decoders and statistics.
"""
