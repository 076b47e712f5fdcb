"""Means of scales, counts and sets, and shares of sets: right on average for every answer, and
covered as promised.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from client_sdk.protocol import Channel, Metric, Window, WindowKind
from client_sdk.protocol.kinds.number import Count
from client_sdk.protocol.kinds.ordinal import Ordinal
from client_sdk.protocol.kinds.set import Subset
from client_sdk.protocol.mechanisms import channel_for
from client_sdk.protocol.mechanisms.k_ary_randomized_response import KAryRandomizedResponse
from estimator.analyses.means import Contrast, means_of
from estimator.analyses.metric import estimate
from estimator.decoders.inversions import inverse_of
from estimator.rehearsal.population import encode
from estimator.results.estimate import Figures
from estimator.results.metric import MetricEstimate
from estimator.results.report import Request
from estimator.statistics.confidence import Z
from estimator.tallies import Tally
from tests.support.core.tables import for_each
from tests.support.estimates.coverage import (
    chances,
    check_held,
    compositions,
    drawn_tallies,
    exact_coverage,
    intervals_of_means,
    promised,
)
from tests.support.estimates.inverses import matrix, requested, rounding, scale_of
from tests.support.mutants import estimators

VALUES = ("a", "b", "c", "d")


def metric(domain: Ordinal | Count | Subset, mechanism: str, epsilon: str = "1") -> Metric:
    return Metric("m", "Why?", domain, channel_for(domain, requested(epsilon), mechanism), WindowKind.DAY)


def estimated(metric: Metric, counts: list[int]) -> MetricEstimate:
    tally = Tally(
        "m", metric.edition, Window.parse("2026-11-20"), closed=True, reports=sum(counts), counts=tuple(counts)
    )
    return estimate(metric, tally, Request())


METRICS = {
    "scale, exponential": metric(Ordinal(VALUES), "exponential"),
    "scale, k-ary": metric(Ordinal(VALUES), "k-ary-randomized-response"),
    "scale, design": metric(Ordinal(tuple(map(str, range(9)))), "cyclic-design", "0.5"),
    "counts": metric(Count(Fraction(6), "distribution"), "k-ary-randomized-response"),
    "counts, design": metric(Count(Fraction(8), "distribution"), "cyclic-design"),
    "set of two": metric(Subset(VALUES, 2), "k-ary-randomized-response"),
    "set of all": metric(Subset(VALUES, 4), "cyclic-design", "0.5"),
    "set of one": metric(Subset(VALUES, 1), "projective-geometry", "0.5"),
}


def answers(metric: Metric) -> list[tuple[object, float]]:
    """Return every answer and its value in the mean."""
    domain = metric.kind
    if isinstance(domain, Subset):
        sets = [s for size in range(domain.max_items + 1) for s in combinations(domain.values, size)]
        return [(members, len(members)) for members in sets]
    return [(label, place + isinstance(domain, Ordinal)) for place, label in enumerate(domain.labels)]


def law(metric: Metric, answer: object) -> list[float]:
    """Return the law of the symbol that a device with this answer reports."""
    inputs = encode(metric, answer).law
    columns = matrix(metric.channel.last_step)
    return [float(sum(chance * columns[symbol, given] for given, chance in inputs)) for symbol in range(len(columns))]


def tolerance(metric: Metric) -> float:
    """Return a bound on the rounding of a mean of this scale, which is a sum of all shares."""
    return metric.channel.inputs**2 * rounding(metric.channel.last_step, inverse_of(metric.channel))


@pytest.mark.long
@for_each("name", METRICS)
def test_the_mean_of_one_report_is_on_average_that_of_the_answer(name: str) -> None:
    metric = METRICS[name]
    each = [estimated(metric, report) for report in np.eye(metric.channel.symbols, dtype=int).tolist()]
    means = np.array([estimate.mean.estimate for estimate in each if estimate.mean is not None], dtype=np.float64)
    for answer, worth in answers(metric):
        assert abs(float(means @ law(metric, answer)) - worth) <= tolerance(metric)


def check_sets(metric: Metric, of_members: estimators.OfMembers) -> None:
    """Each member of a set has a mean of 1 if the set holds it, else 0; intervals stay within their
    range.
    """
    domain = metric.kind
    assert isinstance(domain, Subset)
    each = [drawn(metric, report) for report in np.eye(metric.channel.symbols, dtype=int)]
    shares_of = [of_members(tally, domain.labels, domain.max_items) for tally in each]
    for answer, _ in answers(metric):
        expected = np.array(law(metric, answer)) @ np.array([shares.unbiased for shares in shares_of])
        has = np.isin(domain.values, np.array(answer, dtype=str))
        assert np.abs(expected - has).max() <= tolerance(metric)
    for shares in shares_of:
        assert list(shares.labels) == list(domain.values)
        for numbers in (shares.lows, shares.highs, shares.maximum_likelihood):
            assert ((numbers >= 0) & (numbers <= 1)).all()
        assert (shares.lows <= shares.highs).all()


def drawn(metric: Metric, report: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Figures:
    """Return the shares of what was drawn from the sets, from one report, with the dummies last."""
    inverse, nothing = inverse_of(metric.channel), np.zeros(0)
    low, high = inverse.intervals(report, 1)
    shares = inverse.shares(report, 1)
    labels = [*metric.labels, *["dummy"] * (metric.channel.inputs - len(metric.labels))]
    errors = inverse.standard_errors(report, 1)
    return Figures(labels, low, high, shares, errors, np.full(len(labels), 1 / len(labels)), nothing)


@pytest.mark.parametrize("name", [name for name in METRICS if name.startswith("set")])
def test_each_member_of_a_set_is_estimated_as_often_as_it_is_in_the_set(name: str) -> None:
    check_sets(METRICS[name], Figures.of_members)
    metric = METRICS[name]
    for report in np.eye(metric.channel.symbols, dtype=int):
        whole, part = estimated(metric, report.tolist()).estimates, drawn(metric, report)
        assert whole is not None
        assert isinstance(metric.kind, Subset)
        values = slice(len(metric.kind.values))
        assert whole.unbiased.tolist() == (metric.kind.max_items * part.unbiased[values]).tolist()
        assert whole.standard_errors.tolist() == (metric.kind.max_items * part.standard_errors[values]).tolist()


@pytest.mark.parametrize("mutant", estimators.SETS)
def test_wrong_shares_of_sets_are_refused(mutant: str) -> None:
    with pytest.raises(AssertionError):
        check_sets(METRICS["set of two"], estimators.SETS[mutant])


EXACT: dict[str, Channel] = {
    f"{name} at {epsilon}": channel
    for epsilon in ("1", "4")
    for name, channel in (
        ("k-ary", KAryRandomizedResponse.within(requested(epsilon), 3)),
        ("exponential", scale_of(3, epsilon)),
    )
}
POSITIONS = {"scale": (0.0, 0.5, 1.0), "set": (1.0, 1.0, 0.0)}
ROUNDED = 2.0**-40
"""As a part of the range: truths at its ends, and the ends of intervals, are sums of floats."""


@pytest.mark.long
@for_each("kind", POSITIONS)
@for_each("name", EXACT)
def test_an_interval_of_a_mean_of_three_values_holds_every_truth_as_often_as_promised(name: str, kind: str) -> None:
    """Summed over every tally, on a grid of the simplex in steps of .025, and near its corners."""
    channel, positions = EXACT[name], np.array(POSITIONS[kind])
    truths = compositions(40, 3) / 40
    near = [
        np.roll([1 - part, *rest], turn)
        for part in (0.002, 0.01)
        for rest in ((part, 0), (0, part))
        for turn in range(3)
    ]
    truths = np.concatenate([truths, near])
    spoken = Contrast.from_positions(inverse_of(channel), positions)
    for reports in (10, 49, 50, 100):
        tallies = compositions(reports, 3)
        lows, highs = intervals_of_means(spoken, tallies, reports)
        likely = chances(tallies, truths @ matrix(channel).T)
        coverage = exact_coverage(lows - ROUNDED, highs + ROUNDED, truths @ positions, likely)
        assert coverage.min() >= promised(reports)


def test_normal_intervals_of_too_few_reports_are_refused() -> None:
    """Why `ENOUGH` is needed: at epsilon 4 and 50 reports a normal interval holds the mean of a
    scale in 85%.
    """
    channel, positions = EXACT["k-ary at 4"], np.array(POSITIONS["scale"])
    spoken = Contrast.from_positions(inverse_of(channel), positions)
    assert spoken.enough > 50
    tallies = compositions(50, 3)
    intervals = means_of(spoken, tallies, np.full((len(tallies), 1), 50))
    means, errors = (np.array([interval[place] for interval in intervals], dtype=np.float64) for place in (0, 1))
    truths = np.array([[0, 0.025, 0.975]])
    likely = chances(tallies, truths @ matrix(channel).T)
    coverage = exact_coverage(means - Z * errors, means + Z * errors, truths @ positions, likely)
    assert 0.84 < float(coverage[0]) < 0.85


@for_each("name", ["scale, design", "counts, design", "set of all"])
@for_each("reports", [49, 1000])
def test_an_interval_of_a_mean_of_more_values_holds_it_as_often_as_promised(name: str, reports: int) -> None:
    """Drawn, for people who all answer alike and for people of whom half do."""
    metric, right = METRICS[name], promised(reports)
    all_answers = answers(metric)
    for first, last in ((0, 0), (1, -1)):
        two = [all_answers[first], all_answers[last]]
        mixed = np.array([law(metric, answer) for answer, _ in two]).mean(axis=0)
        truth = float(Fraction(two[0][1] + two[1][1]) / 2)
        positions = np.array([float(label) for label in range(metric.channel.inputs)])
        least, greatest = 0.0, 1.0
        if isinstance(metric.kind, Subset):
            positions = np.append(np.ones(len(VALUES)), 0.0)
            greatest = float(metric.kind.max_items)
        else:
            least, greatest = all_answers[0][1], all_answers[-1][1]
            positions /= positions[-1]
        spoken = Contrast.from_positions(inverse_of(metric.channel), positions)
        share = (truth - least) / (greatest - least)
        ends = (intervals_of_means(spoken, batch, reports) for batch in drawn_tallies(mixed, reports, 11))
        check_held(((lows - ROUNDED <= share) & (share <= highs + ROUNDED) for lows, highs in ends), right)
