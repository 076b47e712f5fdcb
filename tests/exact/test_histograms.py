"""Histograms whose bins are single answers, such as counts, and of channels other than square
wave.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from client_sdk.protocol import Channel
from client_sdk.protocol.kinds.number import Count, Number
from client_sdk.protocol.mechanisms.hierarchical import Hierarchical
from client_sdk.protocol.mechanisms.laplace import Laplace
from client_sdk.protocol.mechanisms.square_wave import SquareWave
from estimator.analyses.grid import QUANTILES, distribution_of, mean_of
from estimator.likelihood.histogram import Fit, Histogram, fit_of, fits_of
from estimator.results.estimate import Figures
from estimator.statistics.arrays import Counts
from tests.support.estimates.inverses import PRECISION, matrix, requested, uneven
from tests.support.laws.sampling import accepts, decision

COUNTS = Count(Fraction(8), "distribution")
CHANNELS: dict[str, Channel] = {
    "laplace": Laplace.within(requested(4), 9),
    "square wave": SquareWave.within(requested(4), 9),
    "tree": Hierarchical.within(requested(4), 9),
}
TOGETHER = 0.94
DECIDED = decision(TOGETHER, TOGETHER - 0.2)
BY_NAME = pytest.mark.parametrize("name", CHANNELS)


def figures_of(histogram: Histogram, counts: Counts, fit: Fit | None, *, together: bool = False) -> dict[str, Figures]:
    """Return the figures of a distribution, by statistic."""
    groups = distribution_of(histogram, counts, fit, simultaneous=together)
    return {group.statistic: group.figures for group in groups}


@BY_NAME
def test_each_count_is_a_bin_and_the_law_of_a_bin_that_of_its_input(name: str) -> None:
    channel = CHANNELS[name]
    histogram, law, shares = Histogram.from_channel(channel, COUNTS), matrix(channel), uneven(9)
    assert histogram.is_of_points
    assert histogram.lows.tolist() == histogram.highs.tolist() == list(range(9))
    scores = np.arange(channel.symbols, dtype=np.float64) + 1
    rounding = 16 * channel.symbols * PRECISION
    assert np.allclose(histogram.symbol_law(shares), law @ shares, rtol=rounding, atol=0)
    assert np.allclose(histogram.expectations(scores), law.T @ scores, rtol=rounding, atol=0)


def test_figures_of_counts_are_those_of_whole_numbers() -> None:
    histogram = Histogram.from_channel(CHANNELS["laplace"], COUNTS)
    tenths = [1, 0, 2, 0, 0, 4, 0, 0, 3]
    shares = np.array(tenths) / 10
    mean = Fraction(sum(count * tenth for count, tenth in enumerate(tenths)), 10)
    variance = sum(tenth * (count - mean) ** 2 for count, tenth in enumerate(tenths)) / 10
    assert abs(float(histogram.mean(shares)) - mean) <= 64 * PRECISION
    assert abs(float(histogram.variance(shares)) - variance) <= 2**10 * PRECISION
    # the smallest count that this share does not exceed: sums are .1, .3, .7 and 1
    assert histogram.quantiles(shares, (0.05, 0.25, 0.5, 0.75, 0.95)).tolist() == [0, 2, 5, 8, 8]


@BY_NAME
def test_counts_that_are_all_alike_are_found(name: str) -> None:
    channel = CHANNELS[name]
    counts = np.rint(matrix(channel)[:, 3] * 10**9).astype(np.int64)
    histogram = Histogram.from_channel(channel, COUNTS)
    distribution = figures_of(histogram, counts, fit_of(histogram, counts))
    assert [share.value for share in distribution["bin"]] == [(count, count) for count in range(9)]
    likeliest = [share.maximum_likelihood or 0.0 for share in distribution["bin"]]
    assert likeliest[3] == max(likeliest)
    mean = mean_of(histogram, fit_of(histogram, counts))
    assert mean is not None
    assert abs(mean - 3) < 0.1
    assert [quantile.estimate for quantile in distribution["quantile"] if quantile.value == 0.5] == [3]


def test_other_numbers_have_bins_between_the_points_of_laplace_too() -> None:
    channel = CHANNELS["laplace"]
    histogram = Histogram.from_channel(channel, Number(Fraction(10), Fraction(18), "distribution"))
    assert not histogram.is_of_points
    assert (histogram.bins, histogram.lows[0], histogram.highs[-1]) == (8, 10, 18)
    halves = (matrix(channel)[:, :-1] + matrix(channel)[:, 1:]) / 2
    rounding = 16 * channel.symbols * PRECISION
    assert np.allclose(histogram.symbol_law(uneven(8)), halves @ uneven(8), rtol=rounding, atol=0)


@pytest.mark.long
def test_intervals_that_hold_together_hold_all_figures_as_often_as_one_is_to_hold() -> None:
    channel = CHANNELS["laplace"]
    histogram = Histogram.from_channel(channel, COUNTS)
    law = histogram.symbol_law(np.full(9, 1 / 9))
    tallies = np.random.default_rng(8).multinomial(10**4, law / law.sum(), size=DECIDED.draws)
    held = dict.fromkeys((False, True), 0)
    for together in held:
        for counts, fit in zip(tallies, fits_of(histogram, tallies), strict=True):
            distribution = figures_of(histogram, counts, fit, together=together)
            held[together] += all(share.low <= 1 / 9 <= share.high for share in distribution["bin"])
    assert held[True] > held[False]
    assert accepts(DECIDED, TOGETHER, held[True])
    assert [quantile.value for quantile in distribution["quantile"]] == list(QUANTILES)
