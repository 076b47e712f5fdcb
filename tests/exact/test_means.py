"""Means of numbers: the variance that theory promises, and how often an interval holds the mean."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.peers.means_of_theory import least
from client_sdk.protocol import Channel, Metric, Window, WindowKind
from client_sdk.protocol.kinds.number import Number
from client_sdk.protocol.mechanisms import channel_for
from client_sdk.protocol.mechanisms.k_ary_randomized_response import KAryRandomizedResponse
from client_sdk.protocol.mechanisms.optimal_mean import OptimalMean
from client_sdk.protocol.mechanisms.square_wave import SquareWave
from estimator.analyses.means import ENOUGH, Contrast, mean_of
from estimator.analyses.metric import estimate
from estimator.decoders import optimal_mean, square_wave
from estimator.decoders.decoder import Decoder
from estimator.decoders.inversions import decoder_of, inverse_of
from estimator.statistics.arrays import Floats
from estimator.tallies import Tally
from tests.support.core.tables import for_each
from tests.support.estimates.coverage import check_held, drawn_tallies, intervals_of_means, promised
from tests.support.laws.bands import REPLAYED, request

EPSILONS = [0.25, 0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 8.1, 9.0, 11.0, 14.0, 20.0]
LOST = 0.035
"""A loss of coverage that must be detected."""

ROUNDED = 2.0**-40
"""Of the range: scores are rounded to floats."""

SMALL: list[OptimalMean | SquareWave] = [
    OptimalMean.of_total((2, 3, 2), 2, request("2").odds),
    OptimalMean.of_total((1, 2, 3), 1, request("12").odds),
    SquareWave.within(request("0.5"), 9),
]

MEAN = Number(Fraction(0), Fraction(1), "mean")


def decoder(channel: Channel) -> Decoder:
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


@for_each("epsilon", EPSILONS)
def test_no_mechanism_of_theory_has_less_worst_variance_than_auto(epsilon: float) -> None:
    channel = channel_for(MEAN, request(str(epsilon)))
    assert worst_variance(decoder(channel).squares) <= 1.003 * least(epsilon)


@pytest.mark.parametrize("channel", SMALL, ids=lambda channel: channel.name)
def test_the_expected_squares_are_those_of_the_law(channel: Channel) -> None:
    answers = square_wave.scores(channel) if isinstance(channel, SquareWave) else optimal_mean.scores(channel)
    for value in range(channel.inputs):
        exact = sum(
            (channel.probability(symbol, value) * answer**2 for symbol, answer in enumerate(answers)), Fraction(0)
        )
        assert decoder(channel).squares[value] == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.long
@for_each("kind", [OptimalMean, SquareWave])
@for_each("epsilon", ["0.5", "2", "5", "8", "12"])
@for_each("reports", [10, 49, 50, 100, 1000])
@for_each("truth", [0.0, 0.3, 1.0])
def test_an_interval_holds_the_mean_as_often_as_promised(
    truth: float, reports: int, epsilon: str, kind: type[OptimalMean | SquareWave]
) -> None:
    """Drawn, because the joint law of mean and variance cannot be enumerated."""
    channel = kind.within(request(epsilon))
    value = round(truth * (channel.inputs - 1))
    law = np.array([channel.weight(symbol, value) / channel.total for symbol in range(channel.symbols)])
    exact = value / (channel.inputs - 1)
    ends = (intervals_of_means(decoder(channel), batch, reports) for batch in drawn_tallies(law, reports, 7))
    check_held(
        ((lows - ROUNDED <= exact) & (exact <= highs + ROUNDED) for lows, highs in ends), promised(reports), LOST
    )


@settings(derandomize=True, deadline=None)
@given(st.lists(st.integers(0, 10**12), min_size=7, max_size=7))
def test_an_interval_is_possible_and_never_empty(counts: list[int]) -> None:
    channel = OptimalMean.of_total((1, 2, 2, 2, 1), 3, request("3").odds)
    tally = np.array((counts + [1] * channel.symbols)[: channel.symbols], dtype=np.int64)
    mean = mean_of(decoder(channel), tally, int(tally.sum()))
    assert 0 <= mean.low <= mean.high <= 1
    assert mean.standard_error is not None
    assert mean.standard_error > 0


def test_one_report_has_a_standard_error_and_tells_next_to_nothing() -> None:
    channel = OptimalMean.within(request("1"))
    counts = np.zeros(channel.symbols, dtype=np.int64)
    counts[-1] = 1
    mean = mean_of(decoder(channel), counts, 1)
    assert mean.standard_error is not None
    assert mean.standard_error > 0.5
    assert (mean.low, mean.high) == (0, 1)


@pytest.mark.parametrize("value", range(5))
def test_reports_in_the_proportions_of_the_law_give_the_truth_in_the_units_of_the_metric(value: int) -> None:
    channel = OptimalMean.of_total((1, 2, 1), 2, request("1").odds, REPLAYED)
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
    spoken = Contrast.from_positions(inverse_of(channel), np.array([0.0, 1.0]))
    assert spoken.enough == pytest.approx(ENOUGH * (1 / (keep * (1 - keep)) - 3), rel=2.0**-40)
