"""A test of a tally: whether some population could have made it.

The tallies that populations make lie near the channel's range: the laws of its symbols under all shares. The test
compares the likeliest of these laws with the tally itself, by the logarithm of the ratio of their likelihoods, and sees
how large that is in tallies drawn from the likeliest law (a parametric bootstrap; Davison & Hinkley 1997, "Bootstrap
methods and their application", section 4.2). The likeliest shares lie above 0 by chance where the truth is 0, and
tallies of such a law keep nearer to the range than honest ones: twice as many of these would be accused as is said. So
shares that cannot be told from 0 are taken for 0 (Andrews & Soares 2010, "Inference for parameters defined by moment
inequalities using generalized moment selection"); of numbers on a grid they are left as they are, and up to 9 % of
honest tallies had p <= .05, measured. Drawing ends early where the answer is clear (Besag & Clifford 1991, "Sequential
Monte Carlo p-values"). To pass proves nothing: made-up reports that look like those of some population, as those of
liars who follow the protocol do, pass always.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from client_sdk.protocol import Channel
from estimator.inverse import inverse_of
from estimator.inverse.decoders import decoder_of
from estimator.inverse.grid import grid_law
from estimator.inverse.protocol import Inverse
from estimator.likelihood.expectation_maximisation import AT_ONCE
from estimator.likelihood.projected_gradient import climbed
from estimator.likelihood.range_distance import as_far
from estimator.likelihood.shares import maximum_likelihood
from estimator.results.poisoning import DRAWN_AT_MOST, RangeTest
from estimator.statistics.arrays import Counts, Floats

CLEAR = 10
"""So many drawn tallies as far from the range as the tally itself end the test early."""

SEED = 1
"""The same tally gets the same p-value on every run."""

ROUNDING = 1e-9
"""Of the reports: a ratio of likelihoods below it is but rounding."""


def range_test(channel: Channel, counts: Counts) -> RangeTest:
    """Return whether some population could have produced a tally, by a seeded test.

    Args:
        channel: whose range it is.
        counts: of each symbol, shape (m,), at least one above 0.

    """
    reports = int(counts.sum())
    law = likeliest_law(channel, counts)
    statistic = _statistic(counts, law)
    if statistic <= ROUNDING * reports:
        return RangeTest(max(0.0, statistic), 1.0, drawn=0)
    drawn_from = law if _is_on_grid(channel) else _barest_law(inverse_of(channel), counts)
    found = 0
    for drawn, is_as_far in enumerate(_drawn(channel, reports, drawn_from, statistic), start=1):
        found += is_as_far
        if found == CLEAR:
            return RangeTest(statistic, CLEAR / drawn, drawn)
    return RangeTest(statistic, (found + 1) / (DRAWN_AT_MOST + 1), DRAWN_AT_MOST)


def _drawn(channel: Channel, reports: int, law: Floats, statistic: float) -> Iterator[bool]:
    """Yield of each tally that is drawn from a law whether it is as far from the range as the statistic says."""
    generator = np.random.default_rng(SEED)
    if not _is_on_grid(channel):
        for _ in range(DRAWN_AT_MOST):
            again = generator.multinomial(reports, law)
            yield _statistic(again, likeliest_law(channel, again)) >= statistic
        return
    for first in range(0, DRAWN_AT_MOST, AT_ONCE):
        some = generator.multinomial(reports, law, size=min(AT_ONCE, DRAWN_AT_MOST - first))
        yield from as_far(grid_law(channel), channel.inputs, some, statistic).tolist()


def likeliest_law(channel: Channel, counts: Counts) -> Floats:
    """Return the law of the symbols, of the channel's range, that makes a tally likeliest; shape (m,), of sum 1."""
    if _is_on_grid(channel):
        operators = grid_law(channel)
        alike = np.full(channel.inputs, 1 / channel.inputs)
        law = operators.symbol_law(climbed(operators, counts, alike))
    else:
        inverse = inverse_of(channel)
        law = inverse.symbol_law(maximum_likelihood(inverse, counts))
    normalised: Floats = law / law.sum()
    return normalised


def _is_on_grid(channel: Channel) -> bool:
    """Whether its inputs are the points of a grid, of which only the law of all is known and not the share of each."""
    return decoder_of(channel) is not None


def _barest_law(inverse: Inverse, counts: Counts) -> Floats:
    """Return the likeliest law with shares of 0 where those that are likeliest cannot be told from it; shape (m,)."""
    reports = int(counts.sum())
    shares = maximum_likelihood(inverse, counts)
    told = shares > math.sqrt(math.log(max(reports, 2))) * inverse.standard_errors(counts, reports)
    told[shares.argmax()] = True
    law = inverse.symbol_law(np.where(told, shares, 0.0) / shares[told].sum())
    normalised: Floats = law / law.sum()
    return normalised


def _statistic(counts: Counts, law: Floats) -> float:
    seen = counts > 0
    expected = counts.sum() * law[seen]
    return 2 * float(counts[seen] @ np.log(counts[seen] / expected))
