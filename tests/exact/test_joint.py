"""Two questions asked together: ratios and differences by their equations, and how often their
intervals hold.
"""

from __future__ import annotations

import math
from itertools import combinations, repeat

import numpy as np
import pytest

from benchmarks.coverage.rankings import held_by
from client_sdk.protocol.kinds.boolean import Boolean
from client_sdk.protocol.kinds.category import Category
from client_sdk.protocol.kinds.cross import Cross
from client_sdk.protocol.kinds.ordinal import Ordinal
from client_sdk.protocol.mechanisms import channel_for
from estimator.analyses.pairs import Joint, intervals_of, joint_of
from estimator.analyses.ratios import Ratios, Sample
from estimator.decoders.decoder import Inverse
from estimator.decoders.inversions import inverse_of
from estimator.results.estimate import Estimate
from estimator.statistics.arrays import Counts, Floats
from estimator.statistics.confidence import Z
from tests.support.estimates.coverage import BATCH, PROMISED, check_held, drawn_tallies
from tests.support.estimates.inverses import PRECISION, requested, uneven
from tests.support.estimates.moments import check_limits
from tests.support.estimates.populations import UNIFORM, Population, at
from tests.support.mutants import estimators

TWO = Cross(Boolean(), Boolean())
THREE = Cross(Category(("a", "b", "c")), Boolean())
SCALE = Cross(Ordinal(("a", "b", "c")), Boolean())

TRUTHS: dict[str, tuple[Cross, Floats]] = {
    "even groups": (TWO, np.array([[0.3, 0.2], [0.1, 0.4]])),
    "a rare group": (TWO, np.array([[0.01, 0.01], [0.49, 0.49]])),
    "a pair that no one is": (TWO, np.array([[0.0, 0.3], [0.35, 0.35]])),
    "three groups": (THREE, np.array([[0.1, 0.3], [0.05, 0.15], [0.2, 0.2]])),
}
STRONG, WEAK = "0.5", "3"
"""Epsilons: one of strong noise and one of weak noise."""


def inverse_for(cross: Cross, epsilon: str) -> Inverse:
    return inverse_of(channel_for(cross, requested(epsilon), "auto"))


def joint_estimate(cross: Cross, inverse: Inverse, counts: Counts) -> Joint:
    reports = int(counts.sum())
    return joint_of(
        cross,
        inverse.shares(counts, reports),
        Sample.from_counts(inverse, counts).covariance(inverse),
        Sample.from_counts(inverse, counts),
    )


def held(cross: Cross, joint: Joint, truth: Floats) -> list[bool]:
    """Return whether each interval holds the truth: first of shares within groups, then of
    differences.
    """
    within = truth / truth.sum(axis=1, keepdims=True)
    groups = range(cross.first.size)
    between = [within[estimate] - within[other] for estimate, other in combinations(groups, 2)]
    expected = np.concatenate([within.ravel(), *between])
    estimates: list[Estimate] = [*joint.figures("share_within"), *joint.figures("difference")]
    return [
        estimate.low <= share <= estimate.high for estimate, share in zip(estimates, expected.tolist(), strict=True)
    ]


@pytest.fixture
def only_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compute no p-values: they take most of the time, and no interval depends on them."""
    monkeypatch.setattr(Ratios, "p_values", lambda _, first, *__: np.ones(first.size))


def check_coverage(cross: Cross, truth: Floats, epsilon: str, reports: int) -> None:
    """Check how often all intervals hold the truth, over drawn tallies."""
    inverse = inverse_for(cross, epsilon)
    batches = drawn_tallies(inverse.symbol_law(truth.ravel()), reports, 2)
    holding = ([held(cross, joint_estimate(cross, inverse, counts), truth) for counts in batch] for batch in batches)
    check_held(map(np.array, holding), PROMISED)


@pytest.mark.long
@pytest.mark.usefixtures("only_intervals")
@pytest.mark.parametrize(
    ("name", "epsilon", "reports"),
    [
        ("even groups", WEAK, 50),
        ("even groups", STRONG, 10**5),
        ("a rare group", WEAK, 50),
        ("a rare group", WEAK, 10**4),
        ("a rare group", STRONG, 10**5),
        ("a pair that no one is", WEAK, 10**4),
        ("three groups", STRONG, 10**4),
    ],
)
def test_intervals_within_and_between_groups_hold_the_truth_as_often_as_promised(
    name: str, epsilon: str, reports: int
) -> None:
    check_coverage(*TRUTHS[name], epsilon, reports)


@pytest.mark.long
@pytest.mark.usefixtures("only_intervals")
@pytest.mark.parametrize(
    ("epsilon", "reports", "shares"),
    [("8", 50, (0.02, 0.98)), ("8", 300, (0.02, 0.98)), ("8", 50, (0.5, 0.5)), ("5", 300, (0.01, 0.99))],
)
def test_rare_outcomes_of_few_people_with_little_noise_are_held_as_often_as_promised(
    epsilon: str, reports: int, shares: tuple[float, float]
) -> None:
    """Fieller's interval by itself holds a share of 2% within half of 50 people in 50%.

    Most tallies hold none.
    """
    check_coverage(TWO, np.array([shares, shares[::-1]]) / 2, epsilon, reports)


def a_table() -> Ratios:
    """Return the ratios of a tally, of three groups and two outcomes."""
    inverse = inverse_for(THREE, WEAK)
    counts = np.array([400, 900, 300, 500, 700, 600], dtype=np.int64)
    reports = int(counts.sum())
    return Ratios.from_shares(
        inverse.shares(counts, reports), Sample.from_counts(inverse, counts).covariance(inverse), 3, 2
    )


def test_the_limits_of_a_ratio_solve_the_equation_of_fieller() -> None:
    for group in range(3):
        for outcome in range(2):
            check_limits(a_table(), group, outcome, Z, lambda table, *place: table.limits(*place))


@pytest.mark.parametrize("mutant", estimators.LIMITS)
def test_wrong_limits_of_a_ratio_are_refused(mutant: str) -> None:
    with pytest.raises(AssertionError):
        check_limits(a_table(), 1, 0, Z, estimators.LIMITS[mutant])


def test_standard_errors_of_ratios_and_differences_are_those_of_their_slopes() -> None:
    """To first order, the variance follows from the slopes of the ratio in each share."""
    inverse, counts = inverse_for(THREE, WEAK), np.array([400, 900, 300, 500, 700, 600], dtype=np.int64)
    reports = int(counts.sum())
    shares, covariance = inverse.shares(counts, reports), Sample.from_counts(inverse, counts).covariance(inverse)
    joint = joint_of(THREE, shares, covariance, Sample.from_counts(inverse, counts))
    pairs = shares.reshape(3, 2)
    totals = pairs.sum(axis=1)
    slopes = np.zeros((3, 2, 6))
    for group, outcome, other in np.ndindex(3, 2, 2):
        slope = (outcome == other) / totals[group] - pairs[group, outcome] / totals[group] ** 2
        slopes[group, outcome, 2 * group + other] = slope
    for estimate, slope in zip(joint.figures("share_within"), slopes.reshape(6, 6), strict=True):
        assert estimate.standard_error is not None
        assert abs(estimate.standard_error**2 / (slope @ covariance @ slope) - 1) <= 2**10 * PRECISION
    places = [(*pair, outcome) for pair in combinations(range(3), 2) for outcome in range(2)]
    for difference, (a, b, outcome) in zip(joint.figures("difference"), places, strict=True):
        slope = slopes[a, outcome] - slopes[b, outcome]
        error = difference.standard_error
        assert error is not None
        assert abs(error**2 / (slope @ covariance @ slope) - 1) <= 2**10 * PRECISION


def test_outcomes_of_a_group_have_the_sum_1_and_two_outcomes_mirrored_intervals() -> None:
    inverse, counts = inverse_for(THREE, WEAK), np.array([400, 900, 300, 500, 700, 600], dtype=np.int64)
    within = [*joint_estimate(THREE, inverse, counts).figures("share_within")]
    for no, yes in zip(within[::2], within[1::2], strict=True):
        assert no.estimate is not None
        assert yes.estimate is not None
        assert abs(no.estimate + yes.estimate - 1) <= 4 * PRECISION
        assert abs(no.low + yes.high - 1) <= 2**10 * PRECISION
        assert abs(no.high + yes.low - 1) <= 2**10 * PRECISION


def test_a_group_that_could_be_empty_has_no_estimate_and_everything_is_possible() -> None:
    inverse = inverse_for(TWO, STRONG)
    law = inverse.symbol_law(TRUTHS["a rare group"][1].ravel())
    joint = joint_estimate(TWO, inverse, np.rint(law * 1000).astype(np.int64))
    within = [*joint.figures("share_within")]
    for estimate in within[:2]:
        assert (estimate.estimate, estimate.standard_error, estimate.low, estimate.high) == (None, None, 0, 1)
    assert all(estimate.estimate is not None for estimate in within[2:])
    for each in joint.figures("difference"):
        assert (each.estimate, each.standard_error, each.low, each.high) == (None, None, -1, 1)
    assert joint.independence is not None


@pytest.mark.parametrize("reports", [1, 49, 50])
def test_fewer_than_fifty_reports_tell_of_no_group(reports: int) -> None:
    inverse = inverse_for(TWO, "8")
    counts = np.array([reports - reports // 2, 0, 0, reports // 2], dtype=np.int64)
    joint = joint_estimate(TWO, inverse, counts)
    silent = [figure.estimate is None for name in ("share_within", "difference") for figure in joint.figures(name)]
    assert all(silent) == (reports < 50)
    assert (joint.independence is None) == (reports < 50)


@pytest.mark.long
def test_the_curve_of_a_scale_has_the_shares_from_each_step_on_and_covers_them() -> None:
    generator, inverse, held_ones = np.random.default_rng(4), inverse_for(SCALE, WEAK), []
    truth = np.array([0.3, 0.05, 0.2, 0.1, 0.1, 0.25])
    for _ in range(200):
        joint = joint_estimate(SCALE, inverse, generator.multinomial(3000, inverse.symbol_law(truth)))
        expected = {(False, "b"): 0.3 / 0.6, (True, "b"): 0.35 / 0.4, (False, "c"): 0.1 / 0.6, (True, "c"): 0.25 / 0.4}
        curve = {point.value: point for point in joint.figures("share_from")}
        assert list(curve) == list(expected)
        for place, share in expected.items():
            held_ones.append(curve[place].low <= share <= curve[place].high)
            assert place[0] or curve[place].high - curve[place].low < 0.3
    assert np.mean(held_ones) >= 0.93 - 3 * math.sqrt(0.93 * 0.07 / len(held_ones))
    assert intervals_of(SCALE) == len(held(SCALE, joint, truth.reshape(3, 2))) + 1 + len(joint.figures("share_from"))


@pytest.mark.long
@pytest.mark.parametrize("points", [False, True])
@pytest.mark.parametrize(
    ("people", "steps", "epsilon", "reports"),
    [
        ("half say yes", at({0: 0.02, 1: 0.98}), "8", 50),
        ("half say yes", at({0: 0.99, 1: 0.01}), "8", 300),
        ("half say yes", at({0: 0.5, 1: 0.5}), "3", 300),
        ("5% say yes", UNIFORM, "1", 10_000),
        ("5% say yes, and all others are at the lowest step", at({0: 0.05, 1: 0.95}), "8", 300),
        ("5% say yes, and all others are at the lowest step", at({0: 0.05, 1: 0.95}), "8", 2000),
    ],
)
def test_a_scale_s_area_and_curve_hold_the_truth_as_often_as_promised(
    people: str,
    steps: Population,
    epsilon: str,
    reports: int,
    points: bool,  # noqa: FBT001 a parameter of the test
) -> None:
    """A normal interval of the area by itself holds it in 60% where 15 say yes, 5% of them at the
    lowest step.

    Half of the tallies hold none of these.
    """
    generator = np.random.default_rng(2)
    held_in = held_by(people, steps, epsilon, reports, points)
    check_held((held_in(BATCH, generator) for _ in repeat(None)), PROMISED)


def test_of_few_reports_and_of_other_metrics_there_is_no_curve() -> None:
    few = joint_estimate(SCALE, inverse_for(SCALE, "8"), np.array([9, 0, 0, 9, 0, 9], dtype=np.int64))
    assert [(share.estimate, share.low, share.high) for share in few.figures("share_from")] == [(None, 0, 1)] * 4
    assert joint_estimate(TWO, inverse_for(TWO, WEAK), np.full(4, 100, dtype=np.int64)).group("share_from") is None


def test_there_are_as_many_intervals_as_are_counted() -> None:
    for cross, truth in TRUTHS.values():
        inverse = inverse_for(cross, WEAK)
        counts = np.rint(inverse.symbol_law(uneven(truth.size)) * 10**4).astype(np.int64)
        assert intervals_of(cross) == len(held(cross, joint_estimate(cross, inverse, counts), truth))
