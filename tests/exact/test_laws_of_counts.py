"""Counts, scales and pairs: the input that encodes an answer, and the law of its report."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from itertools import product

import pytest

from client_sdk.protocol import COIN_SCALE, Coins, Metric, WindowKind
from client_sdk.protocol.kinds.boolean import Boolean
from client_sdk.protocol.kinds.category import Category
from client_sdk.protocol.kinds.cross import Cross
from client_sdk.protocol.kinds.nearest import GRID, Nearest
from client_sdk.protocol.kinds.number import PERIODS, Activity, Count
from client_sdk.protocol.kinds.ordinal import Ordinal
from client_sdk.protocol.mechanisms import channel_for
from client_sdk.protocol.mechanisms.catalogue import FEW_COUNTS
from tests.support.core.tables import for_each
from tests.support.laws.bands import request
from tests.support.laws.coins import ScriptedCoins, exact_law, walk
from tests.support.laws.law_checks import ROUNDING_CHECKS, RoundingCheck, law


def encoded(count: Count | Activity, answer: int, inputs: int) -> dict[int, Fraction]:
    return exact_law(partial(count.encode, answer, inputs))


@for_each("most", [1, 2, 9, 31, 32, 255, 256])
def test_every_count_is_an_input_of_its_own_where_the_grid_has_one_for_each(most: int) -> None:
    count = Count(Fraction(most), "distribution")
    assert count.size == most + 1
    assert tuple(count.labels) == tuple(range(most + 1))
    mechanisms = ["square-wave", "laplace"] if most >= FEW_COUNTS else ["k-ary-randomized-response", "auto"]
    for mechanism in mechanisms:
        inputs = channel_for(count, request("1"), mechanism).inputs
        assert inputs == most + 1
        assert [encoded(count, answer, inputs) for answer in range(most + 1)] == [{a: 1} for a in range(most + 1)]


@for_each("check", ROUNDING_CHECKS)
@for_each("points", [2, 3, 7, 22])
def test_a_large_count_is_rounded_by_the_law_of_numbers(points: int, check: RoundingCheck) -> None:
    """A number of counts for which every position that the checks look at is a count."""
    fine = Count(Fraction(2 * 3 * 7 * COIN_SCALE * (points - 1)), "mean")

    def rounding(position: Fraction, points: int, coins: Coins) -> int:
        answer = position * fine.high / (points - 1)
        assert answer.denominator == 1
        return int(fine.encode(int(answer), points, coins))

    check(rounding, points)


@pytest.mark.parametrize(("most", "points"), [(9, 2), (9, 33), (1000, 257), (10**15, 257), (10**15, 1025)])
def test_the_expected_point_of_a_count_is_its_place_to_one_part_in_2_to_the_64(most: int, points: int) -> None:
    count = Count(Fraction(most), "mean")
    for answer in {0, 1, most // 3, most // 2, most - 1, most}:
        chances = encoded(count, answer, points)
        expected = sum((point * weight for point, weight in chances.items()), Fraction(0))
        assert 0 <= Fraction(answer, most) * (points - 1) - expected < Fraction(1, COIN_SCALE)
        assert walk(partial(count.encode, answer, points)).lengths == {1}


@for_each("epsilon", ["0.1", "0.5", "1", "ln 3", "2", "4", "8"])
@for_each("most", [1, 2, 3, 15, 30, 31])
def test_auto_asks_few_counts_like_as_many_values(most: int, epsilon: str) -> None:
    values = tuple(f"v{index}" for index in range(most + 1))
    requested = request("1") if epsilon.startswith("ln") else request(epsilon)
    channel = channel_for(Count(Fraction(most), "distribution"), requested)
    assert channel == channel_for(Category(values), requested) == channel_for(Ordinal(values), requested)
    assert channel_for(Count(Fraction(FEW_COUNTS), "distribution"), requested).name == "square-wave"


def metric(domain: Count | Cross | Ordinal | Nearest, mechanism: str = "auto") -> Metric:
    return Metric("m", "Why?", domain, channel_for(domain, request("1"), mechanism), WindowKind.DAY)


def test_a_report_of_a_count_has_the_law_of_its_input_with_as_many_coins_for_every_count() -> None:
    metric_of = metric(Count(Fraction(5), "distribution"), "k-ary-randomized-response")
    laws = [walk(partial(metric_of.perturb, answer)) for answer in range(6)]
    assert [each.chances for each in laws] == [law(metric_of.channel, answer) for answer in range(6)]
    assert len(set().union(*(each.lengths for each in laws))) == 1


PAIRS = [
    Cross(Boolean(), Boolean()),
    Cross(Boolean(), Category(("a", "b", "c"))),
    Cross(Ordinal(("low", "mid", "high")), Boolean()),
    Cross(Category(("x", "y")), Ordinal(("1", "2", "3", "4"))),
]


@pytest.mark.parametrize("domain", PAIRS, ids=lambda domain: f"{domain.first.name} by {domain.second.name}")
def test_the_inputs_of_a_cross_are_its_pairs_the_second_the_faster(domain: Cross) -> None:
    pairs = list(product(domain.first.labels, domain.second.labels))
    assert domain.labels == tuple(pairs)
    assert domain.size == len(pairs) == domain.first.size * domain.second.size
    for form in (tuple, list):
        assert [domain.encode(form(pair), domain.size, ScriptedCoins([])) for pair in pairs] == list(range(len(pairs)))


@pytest.mark.parametrize("domain", PAIRS, ids=lambda domain: f"{domain.first.name} by {domain.second.name}")
def test_a_report_of_a_pair_has_the_law_of_its_input_and_so_the_epsilon_of_one_report(domain: Cross) -> None:
    metric_of = metric(domain, "k-ary-randomized-response")
    laws = [exact_law(partial(metric_of.perturb, pair)) for pair in domain.labels]
    assert laws == [law(metric_of.channel, value) for value in range(domain.size)]
    columns = [[symbol_law[symbol] for symbol_law in laws] for symbol in range(metric_of.channel.symbols)]
    assert max(max(column) / min(column) for column in columns) == metric_of.channel.worst_ratio <= request("1").odds


def test_a_step_of_a_scale_is_the_input_of_its_place() -> None:
    metric_of = metric(Ordinal(("never", "weekly", "daily")), "exponential")
    for mechanism in ("exponential", "k-ary-randomized-response"):
        metric_of = metric(Ordinal(("never", "weekly", "daily")), mechanism)
        places = [metric_of.kind.encode(step, 3, ScriptedCoins([])) for step in ("never", "weekly", "daily")]
        assert places == [0, 1, 2]


@for_each("statistic", ["mean", "distribution", "quantiles"])
@for_each("days", PERIODS)
def test_days_of_use_are_asked_and_reported_like_counts(days: int, statistic: str) -> None:
    used, counted = Activity(Fraction(days), statistic), Count(Fraction(days), statistic)
    assert channel_for(used, request("1")) == channel_for(counted, request("1"))
    inputs = channel_for(used, request("1")).inputs
    assert [encoded(used, day, inputs) for day in range(days + 1)] == [
        encoded(counted, day, inputs) for day in range(days + 1)
    ]


@pytest.mark.parametrize("mechanism", ["k-ary-randomized-response", "cyclic-design"])
def test_a_report_of_a_vector_has_the_law_of_the_nearest_label_with_as_many_coins_for_every_vector(
    mechanism: str,
) -> None:
    domain = Nearest(("a", "b", "c"), ((0, 0), (3, 1), (-2, 5)))
    of_vectors = metric(domain, mechanism)
    vectors = [[numerator / GRID for numerator in point] for point in ((0, 0), (1, 1), (2, 1), (-2, 4), (10**9, 0))]
    laws = [walk(partial(of_vectors.perturb, vector)) for vector in vectors]
    assert [each.chances for each in laws] == [law(of_vectors.channel, nearest) for nearest in (0, 0, 1, 2, 1)]
    assert len(set().union(*(each.lengths for each in laws))) == 1
