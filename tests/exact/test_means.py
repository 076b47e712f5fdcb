"""Means of numbers: the variance that theory promises, and how often an interval holds the mean."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client_sdk.protocol import Channel, Metric, Window, WindowKind
from client_sdk.protocol.epsilon import RequestedEpsilon
from client_sdk.protocol.kinds.number import Number
from client_sdk.protocol.mechanisms import channel_for
from client_sdk.protocol.mechanisms.hybrid import Hybrid
from client_sdk.protocol.mechanisms.k_ary_randomized_response import KAryRandomizedResponse
from client_sdk.protocol.mechanisms.piecewise import Piecewise
from estimator.decoders import band, hybrid, inverse_of
from estimator.decoders.catalogue import decoder_of
from estimator.decoders.decoder import Decoder
from estimator.estimates.means import ENOUGH, Contrast, mean_of
from estimator.estimates.metric import estimate
from estimator.statistics.arrays import Floats
from estimator.tallies.tally import Tally
from tests.support.estimates.coverage import check_held, drawn_tallies, intervals_of_means, promised
from tests.support.laws.bands import REPLAYED, GridChannel, request

EPSILONS = [0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0]
LOST = 0.035
"""A loss of coverage that must be detected."""

MEAN = Number(Fraction(0), Fraction(1), "mean")


def decoder(channel: GridChannel) -> Decoder:
    mean_decoder = decoder_of(channel)
    assert mean_decoder is not None
    return mean_decoder


def worst_variance(squares: Floats) -> float:
    """Return the worst variance over all answers from -1 to 1, between points of the grid, too.

    An answer between two points is rounded to either, so that the expected square is linear there
    and the variance a concave parabola.
    """
    points = np.linspace(0, 1, squares.size)
    fine = np.linspace(0, 1, 16 * (squares.size - 1) + 1)
    return 4 * float((np.interp(fine, points, squares) - fine**2).max())


def least_of_theory(epsilon: float) -> float:
    """Return the least worst variance of Duchi's, piecewise and hybrid means (Wang et al. 2019,
    section III).
    """
    e, root = math.exp(epsilon), math.exp(epsilon / 2)
    one_bit = ((e + 1) / (e - 1)) ** 2
    piecewise = 4 * root / (3 * (root - 1) ** 2)
    mixed = (root + 3) / (3 * root * (root - 1)) + (e + 1) ** 2 / (root * (e - 1) ** 2)
    return min(one_bit, piecewise, mixed)


def channel_of_theory(epsilon: float) -> Channel:
    """Return the better of one bit and hybrid: one bit up to epsilon 0.61 (section III.C)."""
    name = "one-bit" if epsilon <= 0.61 else "hybrid"
    return channel_for(MEAN, RequestedEpsilon.parse(Decimal(str(epsilon))), name)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_one_bit_and_hybrid_have_the_least_worst_variance_of_theory(epsilon: float) -> None:
    channel = channel_of_theory(epsilon)
    if isinstance(channel, Hybrid):
        variance = worst_variance(decoder(channel).squares)
    else:
        keep = float(channel.probability(1, given=1))
        variance = 1 / (2 * keep - 1) ** 2
    assert variance <= 1.01 * least_of_theory(epsilon)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_piecewise_by_name_has_the_variance_of_its_paper(epsilon: float) -> None:
    root = math.exp(epsilon / 2)
    variance = worst_variance(decoder(Piecewise.within(request(str(epsilon)))).squares)
    assert variance == pytest.approx(4 * root / (3 * (root - 1) ** 2), rel=0.01)


@pytest.mark.parametrize("epsilon", ["0.5", "2"])
def test_the_expected_squares_are_those_of_the_law(epsilon: str) -> None:
    piecewise, mixed = Piecewise.within(request(epsilon), 9), Hybrid.within(request(epsilon), 9)
    for channel, answers in ((piecewise, band.scores(piecewise)), (mixed, hybrid.scores(mixed))):
        for value in range(9):
            exact = sum(
                (channel.probability(symbol, value) * answer**2 for symbol, answer in enumerate(answers)), Fraction(0)
            )
            assert decoder(channel).squares[value] == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize("kind", [Piecewise, Hybrid], ids=lambda kind: kind.name)
@pytest.mark.parametrize("epsilon", ["0.5", "2", "5", "8"])
@pytest.mark.parametrize("reports", [10, 49, 50, 100, 1000])
@pytest.mark.parametrize("truth", [0.0, 0.3, 1.0])
def test_an_interval_holds_the_mean_as_often_as_promised(
    truth: float, reports: int, epsilon: str, kind: type[Piecewise | Hybrid]
) -> None:
    """Drawn, because the joint law of mean and variance cannot be enumerated."""
    channel = kind.within(request(epsilon))
    value = round(truth * (channel.inputs - 1))
    law = np.array([channel.weight(symbol, value) / channel.total for symbol in range(channel.symbols)])
    exact = value / (channel.inputs - 1)
    ends = (intervals_of_means(decoder(channel), batch, reports) for batch in drawn_tallies(law, reports, 7))
    check_held(((lows <= exact) & (exact <= highs) for lows, highs in ends), promised(reports), LOST)


@settings(derandomize=True, deadline=None)
@given(st.lists(st.integers(0, 10**12), min_size=9, max_size=9))
def test_an_interval_is_possible_and_never_empty(counts: list[int]) -> None:
    channel = Piecewise.within(request("3"), 9)
    tally = np.array((counts + [1] * channel.symbols)[: channel.symbols], dtype=np.int64)
    mean = mean_of(decoder(channel), tally, int(tally.sum()))
    assert 0 <= mean.low <= mean.high <= 1
    assert mean.standard_error is not None
    assert mean.standard_error > 0


def test_one_report_has_a_standard_error_and_tells_next_to_nothing() -> None:
    channel = Piecewise.within(request("1"))
    counts = np.zeros(channel.symbols, dtype=np.int64)
    counts[-1] = 1
    mean = mean_of(decoder(channel), counts, 1)
    assert mean.standard_error is not None
    assert mean.standard_error > 0.5
    assert (mean.low, mean.high) == (0, 1)


@pytest.mark.parametrize("kind", [Piecewise, Hybrid], ids=lambda kind: kind.name)
@pytest.mark.parametrize("value", range(5))
def test_reports_in_the_proportions_of_the_law_give_the_truth_in_the_units_of_the_metric(
    value: int, kind: type[Piecewise | Hybrid]
) -> None:
    channel = kind.within(request("1"), 5, REPLAYED)
    metric = Metric("m", "Why?", Number(Fraction(100), Fraction(5100), "mean"), channel, WindowKind.DAY)
    counts = tuple(channel.weight(symbol, value) for symbol in range(channel.symbols))
    tally = Tally("m", metric.edition, Window.parse("2026-11-20"), closed=True, reports=channel.total, counts=counts)
    mean = estimate(metric, tally).mean
    assert mean is not None
    assert mean.estimate is not None
    assert mean.estimate == pytest.approx(100 + 5000 * value / 4, rel=1e-12)
    assert mean.low <= mean.estimate <= mean.high or value in (
        0,
        4,
    )  # at the ends rounding may leave the range by a bit
    assert mean.maximum_likelihood is None


def test_as_many_reports_are_enough_as_the_kurtosis_asks() -> None:
    """The kurtosis of two coins is that of Bernoulli's law: 1 / (p q) - 3."""
    channel = KAryRandomizedResponse.within(request("1"), 2)
    keep = float(channel.probability(0, 0))
    spoken = Contrast.of(inverse_of(channel), np.array([0.0, 1.0]))
    assert spoken.enough == pytest.approx(ENOUGH * (1 / (keep * (1 - keep)) - 3), rel=2.0**-40)
