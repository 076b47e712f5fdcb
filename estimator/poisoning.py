"""Made-up reports: how far they could have moved an estimate, and whether a tally is one that no population makes.

An estimate is the mean over reports of what each of them adds. Where a fraction beta of the reports is made up, and the
others by themselves would give f, the estimate is at most (1 - beta) f + beta * most, and at least the same with the
least that a report can add. So an estimate e that is seen was raised by at most beta * (most - e) / (1 - beta), and
lowered by at most beta * (e - least) / (1 - beta) (Cao, Jia & Gong 2021, "Data poisoning attacks to local differential
privacy protocols", section 4; Cheu, Smith & Ullman 2021, "Manipulation attacks in local differential privacy").

The tallies that populations make lie near the channel's range: the laws of its symbols under all shares. The test
compares the likeliest of these laws with the tally itself, by the logarithm of the ratio of their likelihoods, and sees
how large that is in tallies drawn from the likeliest law (a parametric bootstrap; Davison & Hinkley 1997, "Bootstrap
methods and their application", section 4.2). The likeliest shares lie above 0 by chance where the truth is 0, and
tallies of such a law keep nearer to the range than honest ones: twice as many of these would be accused as is said. So
shares that cannot be told from 0 are taken for 0 (Andrews & Soares 2010, "Inference for parameters defined by moment
inequalities using generalized moment selection"); of numbers on a grid they are left as they are, and up to 8 % of
honest tallies had p <= .05, measured. Drawing ends early where the answer is clear (Besag & Clifford 1991, "Sequential
Monte Carlo p-values"). To pass proves nothing: made-up reports that look like those of some population, as those of
liars who follow the protocol do, pass always.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from client_sdk.spec import Channel, Label, Metric, Number, Subset
from estimator.climb import climbed
from estimator.expectation_maximisation import AT_ONCE
from estimator.grid_range import as_far
from estimator.intervals import Floats
from estimator.inverse import inverse_of
from estimator.inverse.decoders import decoder_of
from estimator.inverse.grid import grid_law
from estimator.inverse.protocol import Inverse
from estimator.likelihood import maximum_likelihood
from estimator.positions import positions_of, scale_of
from estimator.tallies import Counts

DRAWN_AT_MOST = 999
"""Tallies that are drawn for a test: with none of them as far from the range, a thousandth is the p-value."""

CLEAR = 10
"""So many drawn tallies as far from the range as the tally itself end the test early."""

SEED = 1
"""The same tally gets the same p-value on every run."""

ROUNDING = 1e-9
"""Of the reports: a ratio of likelihoods below it is but rounding."""


@dataclass(frozen=True, slots=True)
class RangeTest:
    """Whether some population could have produced a tally.

    Attributes:
        statistic: twice the logarithm by which the likeliest law is less likely than the tally's own frequencies.
        p_value: how often a tally of the likeliest law is as far from the range.
        drawn: how many were drawn to tell; none where the tally lies within the range.

    """

    statistic: float
    p_value: float
    drawn: int

    @property
    def is_impossible(self) -> bool:
        """Whether none of all tallies that were drawn is as far from the range."""
        return self.p_value <= 1 / (DRAWN_AT_MOST + 1)


@dataclass(frozen=True, slots=True)
class Move:
    """By how much an unbiased estimate could have been moved.

    Attributes:
        down: by how much it could have been lowered.
        up: by how much it could have been raised.

    """

    down: float
    up: float


@dataclass(frozen=True, slots=True)
class Fakes:
    """What made-up reports could have done to the estimates of a tally.

    Attributes:
        fraction: of the reports that is taken for made up: beta.
        shares: where answers have shares each value with its move, in the domain's order; else none.
        mean: the move of the mean, or none where there is no mean.
        test: of the tally.

    """

    fraction: float
    shares: tuple[tuple[Label, Move], ...] | None
    mean: Move | None
    test: RangeTest


def fakes_of(
    metric: Metric, counts: Counts, labels: Sequence[Label] | None, unbiased: Floats, fraction: float
) -> Fakes:
    """Return what made-up reports could have done to a tally.

    Args:
        metric: the question.
        counts: of each symbol, shape (m,), at least one above 0.
        labels: whose shares were estimated; or none.
        unbiased: the estimates of those shares, then of the mean, if there is one.
        fraction: of the reports that is taken for made up.

    """
    downs, ups = reach_of(metric, unbiased, fraction)
    moves = [Move(down, up) for down, up in zip(downs.tolist(), ups.tolist(), strict=True)]
    shares = None if labels is None else tuple(zip(labels, moves, strict=False))  # the mean's comes last
    mean = moves[-1] if len(moves) > len(labels or ()) else None
    return Fakes(fraction, shares, mean, range_test(metric.channel, counts))


def reach_of(metric: Metric, unbiased: Floats, fraction: float) -> tuple[Floats, Floats]:
    """Return by how much at most each estimate that is seen was lowered, and raised; as `fakes_of`."""
    least, most = extremes_of(metric)
    odds = fraction / (1 - fraction)
    return odds * (unbiased - least), odds * (most - unbiased)


def extremes_of(metric: Metric) -> tuple[Floats, Floats]:
    """Return the least and the most that one report can add to each unbiased estimate: shares, then the mean."""
    domain, positions = metric.domain, positions_of(metric)
    decoder = decoder_of(metric.channel)
    if decoder is not None:
        return _of_mean(metric, decoder.answers)
    inverse = inverse_of(metric.channel)
    if isinstance(domain, Number) and domain.size is None:
        return _of_mean(metric, inverse.contrast(np.array([0.0, 1.0])))
    factor = domain.max_items if isinstance(domain, Subset) else 1
    ends = [np.broadcast_to(factor * end, metric.channel.inputs)[: len(domain.labels)] for end in inverse.extremes()]
    if positions is None:
        return ends[0], ends[1]
    lowest, highest = positions.min(), positions.max()
    added = lowest + (highest - lowest) * inverse.contrast(scale_of(metric))
    return np.append(ends[0], added.min()), np.append(ends[1], added.max())


def _of_mean(metric: Metric, answers: Floats) -> tuple[Floats, Floats]:
    """Return the ends of what symbols speak for, from 0 to 1, in the units of a number."""
    assert isinstance(metric.domain, Number)  # noqa: S101 such channels are for numbers only
    low, high = float(metric.domain.low), float(metric.domain.high)
    return low + (high - low) * answers.min(keepdims=True), low + (high - low) * answers.max(keepdims=True)


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
