"""Confidence intervals for a number's distribution, valid for every population.

Let F be the distribution function of the answers: F(x) is the share of answers up to x. F never
falls. The mean of F over a range of answers, such as from 40 to 50, is therefore at least F(40) and
at most F(50). This mean has an unbiased estimate of known variance. An upper limit of the mean is
also an upper limit of F(40). A lower limit of the mean is also a lower limit of F(50). These limits
are valid for every population.

The mean over a long range has little noise. The mean over a short range is closer to F at the
range's ends. A histogram fitted to the tally predicts which range gives the tightest limit. For a
given range, the limit does not depend on this histogram.
"""
