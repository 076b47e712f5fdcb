"""A plan expects what the report then shows: standard errors, means, and the smallest visible
share.
"""

from __future__ import annotations

import math
from datetime import date
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest

from client_sdk.protocol import Metric, Registry
from client_sdk.protocol.channel import Channel
from client_sdk.protocol.mechanisms.permanent import Permanent
from estimator.analyses.metric import analysis_of
from estimator.decoders.decoder import Squares
from estimator.decoders.inversions import decoder_of, inverse_of
from estimator.plan.plan import PlanRequest, make_plan
from estimator.plan.target_error import least_count, reports_needed, smallest_share, unit_variance
from estimator.rehearsal.ground_truth import from_shares
from estimator.rehearsal.rehearsal import rehearse
from estimator.statistics.confidence import POWER
from tests.support.core.tables import for_each
from tests.support.devices.definitions import BOOLEAN, CATEGORY, NUMBER, Field, Toml, metric_of, registry_text
from tests.support.laws.sampling import RATE

pytestmark = pytest.mark.usefixtures("errors_alone")

TODAY = date(2026, 11, 21)

DEVICES = 10**15
"""Reports enough for a measured standard error to differ from the expected one by a part in a few
hundred at most.
"""

EFFECT = 0.03
"""The relative error of a standard error that the comparison must detect."""

TENTH = [str(value) for value in range(10)]
MANY = [str(value) for value in range(90)]

PERMANENT: dict[str, Field] = {"permanent_epsilon": 2}

SHARED: dict[str, dict[str, Field]] = {
    "boolean": BOOLEAN,
    "k_ary": CATEGORY,
    "pairs": CATEGORY | {"values": TENTH, "mechanism": "cyclic-design", "epsilon": 1.1},
    "design": CATEGORY | {"values": MANY, "mechanism": "cyclic-design"},
    "balanced": CATEGORY | {"values": MANY, "mechanism": "balanced-design"},
    "geometry": CATEGORY | {"values": MANY, "mechanism": "projective-geometry"},
    "scale": CATEGORY | {"kind": "ordinal", "values": TENTH},
    "exponential": CATEGORY | {"kind": "ordinal", "values": TENTH, "mechanism": "exponential"},
    "few_counts": {"purpose": "Why?", "kind": "count", "max": 5, "statistic": "distribution", "epsilon": 1},
    "set_of_one": CATEGORY | {"kind": "set", "max_items": 1},
    "permanent": BOOLEAN | PERMANENT,
    "permanent_design": CATEGORY | PERMANENT | {"values": MANY[:30], "mechanism": "cyclic-design"},
    "filled": BOOLEAN | {"fill_in": Toml("true")},
}

MEANS: dict[str, dict[str, Field]] = {
    "one_bit": NUMBER,
    "optimal": NUMBER | {"epsilon": 2, "mechanism": "optimal-mean"},
    "laplace": NUMBER | {"mechanism": "laplace"},
    "gaussian": NUMBER | {"mechanism": "gaussian", "delta": Toml("1e-6"), "epsilon": 2},
    "mean_of_scale": CATEGORY | {"kind": "ordinal", "values": TENTH, "mechanism": "cyclic-design"},
    "permanent_mean": NUMBER | PERMANENT,
    "permanent_scale": CATEGORY | PERMANENT | {"kind": "ordinal", "values": TENTH, "mechanism": "cyclic-design"},
    "mean_of_count": {"purpose": "Why?", "kind": "count", "max": 50, "statistic": "mean", "epsilon": 1},
}


TREE: dict[str, Field] = {"purpose": "Why?", "kind": "count", "max": 40, "statistic": "quantiles", "epsilon": 4}


def _tolerance(metric: Metric, variance: float) -> float:
    """Return by which part a measured standard error may differ; one in a thousand million differs
    by more.

    The mean of what reports add has a standard error of at most half their span / sqrt(n), their
    mean square one of half the squared span / sqrt(n). The variance is made of the two, and its
    root moves by half as large a part.
    """
    decoder = decoder_of(metric.channel)
    if decoder is not None:
        span = float(np.ptp(decoder.scores))
    else:
        inverse = inverse_of(metric.channel)
        rows = [inverse.contrast(row) for row in np.eye(metric.channel.inputs)]
        span = max(float(np.ptp(row)) for row in rows) * metric.channel.inputs
    deviations = NormalDist().inv_cdf(1 - RATE / 2)
    return deviations * 2 * span**2 / variance / math.sqrt(DEVICES)


def squares_of(channel: Channel) -> Squares:
    return inverse_of(channel).squares(channel.inputs)


@pytest.mark.long
@for_each("name", SHARED)
def test_the_error_of_alike_shares_is_what_a_rehearsal_measures(name: str) -> None:
    registry = Registry.parse(registry_text(**{name: SHARED[name]}))
    (planned,) = make_plan(registry, PlanRequest(DEVICES, TODAY)).metrics
    (rehearsed,) = rehearse(from_shares(registry, DEVICES), seed=7).metrics
    assert planned.share is not None
    assert rehearsed.estimates is not None
    measured = rehearsed.estimates.standard_errors
    squares = squares_of(registry.metric(name).channel)
    assert squares is not None
    tolerance = _tolerance(registry.metric(name), squares.uniform)
    assert float(measured.max()) == pytest.approx(planned.share.standard_error_uniform, rel=tolerance)
    assert tolerance < EFFECT
    assert planned.share.standard_error_uniform <= planned.share.standard_error_worst


@pytest.mark.slow
@pytest.mark.parametrize("name", MEANS)
def test_the_worst_error_of_a_mean_is_what_a_rehearsal_of_the_two_ends_measures(name: str, tmp_path: Path) -> None:
    registry = Registry.parse(registry_text(**{name: MEANS[name]}))
    metric = registry.metrics[name]
    ends = ('"0"', '"9"') if metric.kind.name != "count" else ('"0"', '"50"')
    shares = tmp_path / "shares.toml"
    shares.write_text(f"[{name}]\n{ends[0]} = 0.5\n{ends[1]} = 0.5\n")
    (rehearsed,) = rehearse(from_shares(registry, DEVICES, shares), seed=7).metrics
    (planned,) = make_plan(registry, PlanRequest(DEVICES, TODAY)).metrics
    variance = analysis_of(metric).mean_variance
    assert variance is not None
    assert planned.mean is not None
    assert rehearsed.mean is not None
    tolerance = _tolerance(metric, variance)
    assert rehearsed.mean.standard_error == pytest.approx(planned.mean.standard_error_worst, rel=tolerance)
    assert tolerance < EFFECT


def test_the_mean_of_a_tree_is_planned_for_a_population_that_is_hardly_worse_than_its_two_ends(tmp_path: Path) -> None:
    """Not all of its nodes have the same noise, so the worst answers need not be the ends."""
    registry = Registry.parse(registry_text(tree=TREE))
    shares = tmp_path / "shares.toml"
    shares.write_text('[tree]\n"0" = 0.5\n"40" = 0.5\n')
    (rehearsed,) = rehearse(from_shares(registry, DEVICES, shares), seed=7).metrics
    (planned,) = make_plan(registry, PlanRequest(DEVICES, TODAY)).metrics
    assert planned.mean is not None
    assert rehearsed.mean is not None
    assert rehearsed.mean.standard_error is not None
    worst = planned.mean.standard_error_worst
    assert 0.99 * worst < rehearsed.mean.standard_error < worst


def test_the_variance_of_a_rare_member_grows_with_the_places_not_with_their_square() -> None:
    """(m E + k - 1) / (E - 1)**2 for sets of at most m of k values, E = e**epsilon."""
    for items in (1, 2):
        metric = metric_of(CATEGORY | {"kind": "set", "max_items": items})
        analysis, odds = analysis_of(metric), float(metric.channel.worst_ratio)
        assert analysis.squares is not None
        variance = analysis.squares.variance(0.0) * analysis.factor**2
        assert math.isclose(variance, (items * odds + len(metric.labels) - 1) / (odds - 1) ** 2)


@pytest.mark.parametrize(
    "fields",
    [BOOLEAN, CATEGORY, CATEGORY | {"values": TENTH[:5], "mechanism": "cyclic-design", "epsilon": 0.4}],
    ids=["randomized response", "k-ary", "cyclic design"],
)
def test_the_error_of_permanent_answers_is_that_of_the_unbiased_estimate_from_the_whole_law(
    fields: dict[str, Field],
) -> None:
    channel = metric_of(fields | PERMANENT).channel
    assert isinstance(channel, Permanent)
    keep, lie = (channel.permanent.probability(0, given) for given in (0, 1))
    ones = np.eye(channel.inputs)
    contributions = [inverse_of(channel.instantaneous).contrast(row) for row in ones]
    law = np.array([[float(channel.probability(y, x)) for y in range(channel.symbols)] for x in range(channel.inputs)])
    squares = squares_of(channel)
    assert squares is not None
    for value, row in enumerate(contributions):
        adds = (row - float(lie)) / float(keep - lie)
        assert law @ adds == pytest.approx(ones[value])
        uniform = law.mean(axis=0) @ adds**2 - 1 / channel.inputs**2
        assert uniform == pytest.approx(squares.uniform)
        worst = max(
            s * (law[value] @ adds**2) + (1 - s) * (law[other] @ adds**2) - s * s
            for s in np.linspace(0, 1, 1001).tolist()
            for other in range(channel.inputs)
            if other != value
        )
        assert worst <= squares.worst * (1 + 2**-30)
        assert squares.worst - worst <= 1 / 1000**2


def test_the_smallest_mean_square_of_a_permanent_scale_counts_in_its_mean() -> None:
    fields = CATEGORY | {"kind": "ordinal"}
    plain, permanent = (analysis_of(metric_of(definition)).mean_variance for definition in (fields, fields | PERMANENT))
    assert plain is not None
    assert permanent is not None
    assert permanent > plain


def _chance(count: int, reports: int, probability: Fraction) -> float:
    """Return the probability that a binomial count is at least this large, by its exact sum."""
    p = float(probability)
    terms = (
        math.lgamma(reports + 1)
        - math.lgamma(n + 1)
        - math.lgamma(reports - n + 1)
        + n * math.log(p)
        + (reports - n) * math.log1p(-p)
        for n in range(count, reports + 1)
    )
    return math.fsum(map(math.exp, terms))


@for_each("reports", [40, 60, 300, 3000, 20_000])
@for_each("fields", [BOOLEAN, CATEGORY, BOOLEAN | PERMANENT])
def test_the_smallest_share_is_seen_with_the_stated_power_and_a_smaller_one_is_not(
    fields: dict[str, Field], reports: int
) -> None:
    squares = squares_of(metric_of(fields | {"epsilon": 2}).channel)
    assert squares is not None
    assert squares.support is not None
    own, other = (Fraction(square) for square in squares.support)
    share, count = smallest_share(squares, reports), least_count(float(other), reports)
    assert share is not None
    assert count is not None
    above, below = (other + (own - other) * Fraction(share * factor) for factor in (1.01, 0.99))
    assert _chance(count, reports, min(above, own)) >= POWER > _chance(count, reports, below)


def test_where_intervals_are_of_scores_the_smallest_share_falls_with_more_reports() -> None:
    squares = squares_of(metric_of(SHARED["design"]).channel)
    assert squares is not None
    assert squares.support is None
    assert smallest_share(squares, 49) is None
    shares = [smallest_share(squares, reports) for reports in (10**5, 10**7, 10**9)]
    assert None not in shares
    assert shares == sorted(shares, key=lambda share: share or 0.0, reverse=True)
    error = math.sqrt(squares.variance(0) / 10**9)
    assert shares[-1] == pytest.approx((NormalDist().inv_cdf(0.975) + NormalDist().inv_cdf(POWER)) * error, rel=0.01)


def test_no_share_is_visible_without_devices_or_with_too_few() -> None:
    squares = squares_of(metric_of(BOOLEAN | {"epsilon": 0.1}).channel)
    assert squares is not None
    assert smallest_share(squares, 0) is None
    assert smallest_share(squares, 10) is None


def test_the_needed_reports_reach_the_wanted_error_and_one_fewer_do_not() -> None:
    variance = unit_variance(metric_of(BOOLEAN))
    needed = reports_needed(variance, 0.013)
    assert math.sqrt(variance / needed) <= 0.013 < math.sqrt(variance / (needed - 1))


def test_the_smallest_share_falls_with_the_root_of_any_number_of_reports() -> None:
    squares = squares_of(metric_of(BOOLEAN | {"epsilon": 2}).channel)
    assert squares is not None
    assert squares.support is not None
    shares = [smallest_share(squares, 10**9 * 4**power) for power in range(10)]
    for more, fewer in pairwise(shares):
        assert fewer is not None
        assert more == pytest.approx(2 * fewer, rel=0.001)
