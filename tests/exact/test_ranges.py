"""Ranges: what their scores expect of every answer, and how often intervals from them hold."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest

from client_sdk.protocol import Channel
from client_sdk.protocol.kinds.grid import Grid
from client_sdk.protocol.kinds.number import Count, Number
from client_sdk.protocol.mechanisms.hierarchical import Hierarchical
from client_sdk.protocol.mechanisms.laplace import Laplace
from client_sdk.protocol.mechanisms.square_wave import SquareWave
from estimator.analyses.grid import QUANTILES
from estimator.distribution_intervals.intervals import (
    Edges,
    band,
    band_places,
    mean_within,
    quantile_intervals,
    shares_of_ranges,
    variance_interval,
)
from estimator.distribution_intervals.ranges import (
    DRAWS,
    LUCK,
    MANY,
    REFERENCES,
    WIDTHS,
    Ranges,
    Side,
    TallyRanges,
    joint_tests,
    reference_laws,
)
from estimator.likelihood.histogram import Histogram, shares_of
from estimator.statistics.arrays import Floats
from estimator.statistics.confidence import CONFIDENCE, Z, z_of
from tests.support.core.tables import for_each
from tests.support.estimates.coverage import PROMISED, check_held, drawn_tallies
from tests.support.estimates.inverses import requested
from tests.support.estimates.populations import POPULATIONS, Population, at

POINTS = 33
BETWEEN = 8
"""Answers from one point of the grid to the next that are tried."""

ROUNDING = 1e-7
"""Of sums of some hundred floats, a few of them in the thousands."""

UNIT = Number(Fraction(0), Fraction(1), "distribution")
COUNTS = Count(Fraction(POINTS - 1), "distribution")
CHANNELS: dict[str, Channel] = {
    f"{mechanism.__name__} {epsilon}": mechanism.within(requested(epsilon), POINTS)
    for mechanism, epsilons in ((SquareWave, "148"), (Laplace, "14"), (Hierarchical, "18"))
    for epsilon in epsilons
}
BY_NAME = for_each("name", CHANNELS)
BY_REFERENCE = for_each("reference", range(len(REFERENCES)))


def histogram(name: str, *, counts: bool = False) -> Histogram:
    return Histogram.from_channel(CHANNELS[name], COUNTS if counts else UNIT)


@BY_REFERENCE
@BY_NAME
def test_the_integral_of_the_distribution_function_is_unbiased(name: str, reference: int) -> None:
    ranges = Ranges.from_histogram(histogram(name), reference)
    expected = ranges.histogram.law.expectations(ranges.scores.integrals.T)
    inputs, ends = np.arange(POINTS), np.arange(POINTS + 1)[:, np.newaxis]
    assert np.allclose(expected, np.maximum(0, ends - inputs), rtol=0, atol=ROUNDING)


@BY_REFERENCE
@BY_NAME
def test_no_range_expects_less_of_any_answer_than_the_limit_that_it_gives(name: str, reference: int) -> None:
    """A score for F at x may expect of no answer t less, or more, than whether t is at most x."""
    ranges = Ranges.from_histogram(histogram(name), reference)
    answers = np.linspace(0, POINTS - 1, BETWEEN * (POINTS - 1) + 1)
    places = np.arange(POINTS)
    is_at_most, is_below = (answers[:, np.newaxis] <= places), (answers[:, np.newaxis] < places)
    for after, before in zip(_expected(ranges, ranges.after), _expected(ranges, ranges.before), strict=True):
        assert (_between_points(after, answers) >= is_at_most - ROUNDING).all()
        assert (_between_points(before, answers) <= is_below + ROUNDING).all()


@BY_REFERENCE
@BY_NAME
def test_of_counts_the_limits_meet_at_the_function_itself(name: str, reference: int) -> None:
    ranges = Ranges.from_histogram(histogram(name, counts=True), reference)
    is_at_most = np.arange(POINTS)[:, np.newaxis] <= np.arange(POINTS)
    sides = zip(_expected(ranges, ranges.after), _expected(ranges, ranges.before), strict=True)
    for width, (after, before) in zip(WIDTHS, sides, strict=True):
        assert (after >= is_at_most - ROUNDING).all()
        assert (before <= is_at_most + ROUNDING).all()
        if width == 1:
            assert np.allclose(after, is_at_most, rtol=0, atol=ROUNDING)
            assert np.allclose(before, is_at_most, rtol=0, atol=ROUNDING)


def _expected(ranges: Ranges, side: Side) -> Iterator[Floats]:
    """Yield what the scores of each width expect of each input, shape (inputs, points)."""
    integrals = ranges.histogram.law.expectations(ranges.scores.integrals.T)
    for width, start, stop, beyond in zip(WIDTHS, side.starts, side.stops, side.beyond, strict=True):
        yield (integrals[stop] - integrals[start] + beyond[:, np.newaxis]).T / width


def _between_points(of_inputs: Floats, answers: Floats) -> Floats:
    """Return what is expected of answers that are rounded at random to a neighboring input."""
    below = np.minimum(answers.astype(np.int64), POINTS - 2)
    upwards = (answers - below)[:, np.newaxis]
    expected: Floats = of_inputs[below] * (1 - upwards) + of_inputs[below + 1] * upwards
    return expected


@pytest.mark.parametrize("kind", [UNIT, COUNTS])
@BY_NAME
def test_a_tally_has_the_scores_with_the_smallest_variance_for_answers_like_its_own(name: str, kind: Grid) -> None:
    grid = Histogram.from_channel(CHANNELS[name], kind)
    for reference, law in enumerate(reference_laws(grid)):
        tally = TallyRanges.from_counts(grid, np.rint(law * 10**9).astype(np.int64), np.full(grid.bins, 1 / grid.bins))
        assert tally.ranges is Ranges.from_histogram(grid, reference)
        tables = [Ranges.from_histogram(grid, other).scores.shares for other in range(len(REFERENCES))]
        variances = np.array([law @ scores**2 - (law @ scores) ** 2 for scores in tables])
        assert (variances[reference] <= variances * (1 + ROUNDING)).all()


@BY_NAME
def test_a_tally_of_few_reports_does_not_choose_its_scores(name: str) -> None:
    """Limits by Bernstein's inequality are proved for scores that do not depend on the tally."""
    grid = histogram(name)
    for law in reference_laws(grid):
        symbol = np.zeros(law.size, dtype=np.int64)
        symbol[(law / reference_laws(grid)[0]).argmax()] = MANY - 1
        tally = TallyRanges.from_counts(grid, symbol, np.full(grid.bins, 1 / grid.bins))
        assert tally.ranges is Ranges.from_histogram(grid, 0)


HOSTILE: dict[str, Population] = {
    name: POPULATIONS[name](1000)
    for name in (
        "all equal, between two grid points",
        "smooth (beta 2, 5)",
        "uniform, with one frequent value",
        "two values",
        "seven equally frequent values",
        "half at each end",
        "heavy tail",
        "2% at the high end, the rest at the low end",
    )
} | {
    "steps at the quartiles": at(dict.fromkeys((0.1, 0.4, 0.6, 0.9), 0.25)),
    "steps near the low end": at(dict.fromkeys((0.04, 0.16, 0.24, 0.36), 0.25)),
}
CASES = [("SquareWave 1", 10_000), ("SquareWave 4", 400), ("SquareWave 8", 60), ("Laplace 4", 1000)]
CASES += [("Hierarchical 8", 60)]
LOST = 0.2
"""A loss of coverage that is seen. `benchmarks coverage` measures finer."""
FEW = 8
"""Tallies of a batch. Some 86 decide where every interval holds, and each takes a millisecond."""


def drawn(grid: Histogram, inputs: Floats, reports: int) -> Iterator[list[TallyRanges]]:
    """Yield the ranges of batch after batch of tallies, from a population's shares of inputs."""
    for tallies in drawn_tallies(grid.law.symbol_law(inputs), reports, 4, FEW):
        smoothed = shares_of(grid, tallies / reports, smooth=True)
        yield [TallyRanges.from_counts(grid, *each) for each in zip(tallies, smoothed, strict=True)]


@pytest.mark.long
@pytest.mark.parametrize("population", HOSTILE)
@pytest.mark.parametrize(("name", "reports"), CASES)
def test_every_interval_holds_the_truth_as_often_as_promised(name: str, reports: int, population: str) -> None:
    grid, people = histogram(name), HOSTILE[population]
    places = band_places(POINTS)
    firsts, lasts = np.array([0, 8, 16, 5]), np.array([8, 9, 32, 30])
    at_most = np.array([people.at_most(answer) for answer in grid.points.tolist()])
    below = at_most - np.array([people.shares[people.answers == answer].sum() for answer in grid.points])
    within = at_most[lasts] - below[firsts]
    quantiles = [people.quantile(probability) for probability in QUANTILES]
    inner = (people.answers >= grid.points[5]) & (people.answers <= grid.points[30])
    of_inner = people.shares[inner]

    def holds(tally: TallyRanges) -> list[bool]:
        low, high = band(tally, places)
        least, most = shares_of_ranges(tally, firsts, lasts)
        variance, mean = variance_interval(tally), mean_within(tally, 5, 30)
        intervals = quantile_intervals(tally, QUANTILES)
        return [
            *(_holds(interval, truth) for interval, truth in zip(intervals, quantiles, strict=True)),
            bool(((low <= at_most[places] + ROUNDING) & (high >= at_most[places] - ROUNDING)).all()),
            *((least <= within + ROUNDING) & (most >= within - ROUNDING)).tolist(),
            _holds(variance, people.variance),
            of_inner.sum() == 0 or _holds(mean, float(people.answers[inner] @ of_inner / of_inner.sum())),
        ]

    tallies = drawn(grid, people.on_grid(POINTS), reports)
    check_held((np.array([holds(tally) for tally in batch]) for batch in tallies), PROMISED, LOST)


def _holds(interval: tuple[float, float], truth: float) -> bool:
    return interval[0] - ROUNDING <= truth <= interval[1] + ROUNDING


def test_unrelated_ranges_reject_together_as_rarely_as_an_end_may_err() -> None:
    ranges = WIDTHS[WIDTHS <= POINTS]
    scores = np.zeros((2 * ranges.size, POINTS + 1))
    scores[::2, ranges], scores[1::2, ranges] = np.eye(ranges.size), -np.eye(ranges.size)
    law = np.full(len(scores), 1 / len(scores))
    tests = joint_tests(scores, law)
    error = 1 - CONFIDENCE
    assert tests[ranges.size - 1] == 1
    for first in range(ranges.size - 1):
        rejected = 1 - NormalDist().cdf(z_of(tests[first])) ** (ranges.size - first)
        assert abs(rejected - error) < Z * math.sqrt(error * (1 - error) / DRAWS)


def test_ranges_that_agree_are_worth_one_test() -> None:
    alike = np.tile(np.arange(2.0)[:, np.newaxis], POINTS + 1)
    assert joint_tests(alike, np.array([0.5, 0.5])).tolist() == [1] * WIDTHS.size


@BY_REFERENCE
@BY_NAME
def test_a_range_has_the_deviation_of_its_score_for_the_reference_answers(name: str, reference: int) -> None:
    ranges = Ranges.from_histogram(histogram(name), reference)
    counts = np.rint(reference_laws(ranges.histogram)[reference] * 10**12).astype(np.int64)
    tally = TallyRanges.from_counts(ranges.histogram, counts, np.full(ranges.histogram.bins, 1 / (POINTS - 1)))
    is_on_grid = WIDTHS <= POINTS
    deviations = np.sqrt(tally.after.variances[is_on_grid, 0])
    assert np.allclose(ranges.deviations[is_on_grid], deviations, rtol=ROUNDING, atol=ROUNDING)


@pytest.mark.parametrize("reports", [1000, 10_000, 10**6])
@pytest.mark.parametrize("reach", QUANTILES)
@BY_NAME
def test_a_quantile_omits_only_ranges_that_seldom_reject_its_level(name: str, reach: float, reports: int) -> None:
    """Even if the distribution function is as far from the level as it can be."""
    ranges = Ranges.from_histogram(histogram(name), 0)
    first = ranges.useful(reach, reports, 1)
    rejected = [
        NormalDist().cdf(reach / (deviation / math.sqrt(reports)) - z_of(tests))
        for tests, deviation in zip(ranges.tests.tolist(), ranges.deviations.tolist(), strict=True)
    ]
    seldom = NormalDist().cdf(-LUCK)
    assert all(chance < seldom for chance in rejected[:first])
    assert rejected[first] >= seldom or (first == 0 and max(rejected) < seldom)


def test_a_quantile_near_an_end_is_narrower_without_the_tests_of_noisy_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    grid = histogram("SquareWave 1")
    law = grid.law.symbol_law(np.eye(POINTS)[0])
    tally = TallyRanges.from_counts(grid, np.rint(law * 10_000).astype(np.int64), np.eye(grid.bins)[0])
    [(_, without)] = quantile_intervals(tally, [0.95])
    monkeypatch.setattr(Ranges, "useful", lambda *_: 0)
    [(_, high)] = quantile_intervals(tally, [0.95])
    assert without < high


@pytest.mark.parametrize("reports", [1, 7, 49])
def test_few_reports_leave_an_interval_that_is_wide(reports: int) -> None:
    grid = histogram("SquareWave 1")
    symbols = CHANNELS["SquareWave 1"].symbols
    counts = np.bincount(np.linspace(0, symbols - 1, reports).astype(np.int64), minlength=symbols)
    tally = TallyRanges.from_counts(grid, counts, np.full(grid.bins, 1 / grid.bins))
    [(low, high)] = quantile_intervals(tally, [0.5])
    assert high - low > 0.5
    variance = variance_interval(tally)
    assert 0 <= variance[0] < variance[1] <= 0.25


def test_many_reports_leave_a_spike_no_room() -> None:
    grid, spike = histogram("SquareWave 4"), np.eye(POINTS)[12]
    law = grid.law.symbol_law(spike)
    counts = np.rint(law * 10**12).astype(np.int64)
    tally = TallyRanges.from_counts(grid, counts, np.eye(grid.bins)[12])
    [(low, high)] = quantile_intervals(tally, [0.5])
    assert low <= 12 / (POINTS - 1) <= high
    assert high - low <= 2 / (POINTS - 1)
    least, most = variance_interval(tally)
    assert most <= 1e-4
    assert least == 0.0


def test_a_lower_limit_within_a_single_cell_is_0_because_rounding_hides_it() -> None:
    grid = histogram("SquareWave 8")
    law = grid.law.symbol_law((np.eye(POINTS)[12] + np.eye(POINTS)[13]) / 2)
    tally = TallyRanges.from_counts(grid, np.rint(law * 10**12).astype(np.int64), np.eye(grid.bins)[12])
    low, high = shares_of_ranges(tally, np.array([12, 11]), np.array([13, 14]))
    assert low[0] == 0
    assert low[1] > 0.99
    assert (high > 0.99).all()


def test_nobody_is_beyond_the_ends_of_the_range() -> None:
    grid = histogram("SquareWave 1")
    law = grid.law.symbol_law(np.full(POINTS, 1 / POINTS))
    tally = TallyRanges.from_counts(grid, np.rint(law * 1000).astype(np.int64), np.full(grid.bins, 1 / grid.bins))
    edges = Edges.at(tally, np.array([-1, POINTS - 1]), 1)
    assert not edges.below[:, 0].any()
    assert not edges.above[:, 0].any()
    assert (edges.below[:, 1] == 1).all()
    assert (edges.above[:, 1] == 1).all()
    low, high = shares_of_ranges(tally, np.array([0]), np.array([POINTS - 1]))
    assert low[0] > 0.9
    assert high[0] == 1
    of_band = band(tally, band_places(POINTS))
    assert [end[-1] for end in of_band] == [1, 1]


@for_each("points", [2, 3, 32, 33, 34, 63, 64, 257])
def test_a_band_has_few_points_and_both_ends(points: int) -> None:
    places = band_places(points)
    assert (places[0], places[-1]) == (0, points - 1)
    assert len(places) == min(points, len(places)) <= 33
    assert (np.diff(places) > 0).all()
