"""Clusters: compared with all ways to split, on histograms with and without groups, and under
resampled tallies.
"""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest

from client_sdk.protocol import Registry, Window
from estimator.analyses.clusters import STARTS, STRONG, Split, _apart, _silhouette, _splits, split
from estimator.analyses.metric import estimate
from estimator.results.metric import Clusters
from estimator.results.report import Request
from estimator.statistics.arrays import Floats
from estimator.tallies import Tally
from tests.support.core.tables import for_each
from tests.support.devices.definitions import CATEGORY, COUNT, CROSS, NUMBER, ORDINAL, registry_text
from tests.support.estimates.inverses import PRECISION

LINE = np.linspace(0.0, 1.0, 60)[:, np.newaxis]


def bells(*parts: tuple[float, float, float]) -> Floats:
    """Return shares on the line: groups of people, each around a mean with a standard deviation."""
    shares = np.zeros(len(LINE))
    for share, mean, deviation in parts:
        bell = np.exp(-0.5 * ((LINE[:, 0] - mean) / deviation) ** 2)
        shares += share * bell / bell.sum()
    return shares


def clusters(shares: Floats, reports: int = 5000) -> Split:
    again = np.random.default_rng(3).multinomial(reports, shares / shares.sum(), size=20) / reports
    return split(LINE, shares, again)


def squares_of(points: Floats, weights: Floats, edges: tuple[int, ...]) -> float:
    """Return the weighted squared distances from the means of runs of points."""
    total = 0.0
    for first, last in pairwise((0, *edges, len(points))):
        inside, own = points[first:last], weights[first:last]
        total += float(own @ (inside - own @ inside / own.sum()) ** 2)
    return total


@for_each("seed", range(5))
@for_each("number", [2, 3, 4])
def test_a_split_has_the_least_squares_of_all_ways_to_cut_a_line(number: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    points = np.sort(generator.random(14))
    weights = generator.dirichlet(np.ones(14))
    members = _splits(points[:, np.newaxis], weights, number)[-1]
    edges = tuple((np.flatnonzero(np.diff(members)) + 1).tolist())
    best = min(squares_of(points, weights, cut) for cut in combinations(range(1, 14), number - 1))
    assert squares_of(points, weights, edges) <= best * (1 + 64 * PRECISION), f"{STARTS} starts were too few"


def test_people_with_the_same_answer_are_a_third_of_the_least_distance_apart() -> None:
    apart = _apart(np.array([[0.0], [3.0], [9.0]]))
    assert apart.tolist() == [[1.0, 3.0, 9.0], [3.0, 1.0, 6.0], [9.0, 6.0, 1.0]]


def test_a_silhouette_is_the_mean_of_its_definition() -> None:
    points, weights = np.array([0.0, 1.0, 5.0, 6.0]), np.array([0.1, 0.2, 0.3, 0.4])
    members = np.array([0, 0, 1, 1])
    apart = np.abs(points[:, np.newaxis] - points)
    expected = 0.0
    for point in range(4):
        near, far = (
            float(weights[held] @ apart[point, held] / weights[held].sum())
            for held in (members == members[point], members != members[point])
        )
        expected += weights[point] * (far - near) / max(far, near)
    assert _silhouette(apart, weights, members) == pytest.approx(expected, rel=64 * PRECISION)


@pytest.mark.parametrize(
    ("parts", "number"),
    [
        (((1.0, 0.5, 0.1),), 1),
        (((1.0, 0.0, 0.2),), 1),
        (((0.5, 0.25, 0.05), (0.5, 0.75, 0.05)), 2),
        (((0.85, 0.3, 0.06), (0.15, 0.8, 0.05)), 2),
        (((0.3, 0.15, 0.04), (0.4, 0.5, 0.04), (0.3, 0.85, 0.04)), 3),
    ],
)
def test_each_bell_is_a_cluster(parts: tuple[tuple[float, float, float], ...], number: int) -> None:
    clustering = clusters(bells(*parts))
    assert len(clustering.clusters) == number
    assert clustering.numbers[number - 1] == 1.0
    assert sum(clustering.numbers) == pytest.approx(1.0)
    shares = bells(*parts)
    for members, (share, mean, deviation) in zip(clustering.clusters, parts, strict=True):
        assert shares[members].sum() == pytest.approx(share, abs=0.01)
        of_cluster = float(shares[members] @ LINE[members, 0] / shares[members].sum())
        assert number == 1 or of_cluster == pytest.approx(mean, abs=deviation)
    assert min(clustering.stabilities) > 0.95


def test_evenly_spread_answers_are_one_cluster() -> None:
    clustering = clusters(np.full(len(LINE), 1 / len(LINE)))
    assert len(clustering.clusters) == 1
    assert _silhouette(_apart(LINE), np.full(60, 1 / 60), (np.arange(60) >= 30).astype(np.int64)) < STRONG


def test_fewer_points_than_three_a_cluster_are_not_split() -> None:
    points = np.arange(5.0)[:, np.newaxis]
    shares = np.array([0.5, 0.0, 0.0, 0.0, 0.5])
    assert len(split(points, shares, shares[np.newaxis]).clusters) == 1


REGISTRY = Registry.parse(
    registry_text(
        dark_mode=ORDINAL | {"values": list("abc"), "epsilon": 3},
        os=CATEGORY | {"values": list("wxyz")},
        spent=NUMBER | {"statistic": "distribution", "epsilon": 2},
        clicks=COUNT | {"max": 8, "epsilon": 4},
        both=CROSS | {"epsilon": 4},
    )
)


def clusters_in(name: str, truth: Floats, reports: int = 200_000) -> Clusters | None:
    """Return the clusters of a tally with exactly the law of the truth."""
    metric = REGISTRY.metric(name)
    channel = metric.channel
    law = [
        sum(float(channel.probability(symbol, given)) * truth[given] for given in np.flatnonzero(truth).tolist())
        for symbol in range(channel.symbols)
    ]
    counts = tuple(np.rint(reports * np.array(law)).astype(np.int64).tolist())
    tally = Tally(name, metric.edition, Window.parse("2026-11-20"), closed=True, reports=sum(counts), counts=counts)
    return estimate(metric, tally, Request(clusters=True)).clusters


def test_two_groups_of_a_number_are_found_through_the_noise() -> None:
    inputs = REGISTRY.metric("spent").channel.inputs
    truth = np.zeros(inputs)
    truth[inputs // 5], truth[4 * inputs // 5] = 0.4, 0.6
    clustering = clusters_in("spent", truth)
    assert clustering is not None
    low, high = clustering.clusters
    assert low.end is not None
    assert high.start is not None
    assert low.start == 0
    assert low.end <= high.start
    assert high.end == 9
    assert low.share.low <= 0.4 <= low.share.high


def test_counts_and_pairs_have_clusters_of_values_and_plain_categories_none() -> None:
    counted = clusters_in("clicks", np.array([0.3, 0.2, 0, 0, 0, 0, 0, 0.25, 0.25]))
    assert counted is not None
    assert [cluster.values for cluster in counted.clusters] == [(0, 1, 2, 3), (4, 5, 6, 7, 8)]
    pairs = np.zeros(12)
    pairs[[0, 11]] = 0.5
    both = clusters_in("both", pairs)
    assert both is not None
    assert [("a", "w") in cluster.values for cluster in both.clusters] == [True, False]
    assert all(cluster.mean is None for cluster in both.clusters)
    assert clusters_in("os", np.array([0.5, 0, 0, 0.5])) is None


@pytest.mark.parametrize("name", ["clicks", "spent"])
def test_few_reports_leave_wide_intervals_and_many_leave_narrow_ones(name: str) -> None:
    inputs = REGISTRY.metric(name).channel.inputs
    truth = np.zeros(inputs)
    truth[inputs // 5], truth[4 * inputs // 5] = 0.4, 0.6
    widths = []
    for reports in (2000, 2_000_000):
        clustering = clusters_in(name, truth, reports)
        assert clustering is not None
        low, high = clustering.clusters
        assert low.mean is not None
        assert high.mean is not None
        assert low.share.low <= 0.4 <= low.share.high
        assert high.share.low <= 0.6 <= high.share.high
        widths.append([end.high - end.low for end in (low.share, high.share, low.mean, high.mean)])
    assert (np.array(widths[1]) < np.array(widths[0])).all()
