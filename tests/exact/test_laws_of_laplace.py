"""Laplace noise on a grid: small channels draw by draw, the real ones range by range, and the
closed form.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import partial

import pytest

from client_sdk.protocol import COIN_SCALE, Channel
from client_sdk.protocol.kinds.number import Count, Number
from client_sdk.protocol.mechanisms import channel_for
from client_sdk.protocol.mechanisms.laplace import POINTS, Laplace
from tests.support.core.tables import for_each
from tests.support.laws.bands import REPLAYED, request
from tests.support.laws.coins import exact_law_of_one_draw
from tests.support.laws.law_checks import (
    CHANNEL_CHECKS,
    LEAST_USE_OF_EPSILON,
    Check,
    Subject,
    declared_epsilon_covers_the_exact_epsilon,
    law,
    refuses,
)
from tests.support.laws.noise import ends_of_noise, truncated_geometric
from tests.support.mutants.noise import of_laplace

EPSILONS = ["0.000001", "0.25", "1", "4", "8", "20"]
SMALL = {
    (points, text): Laplace.within(request(text), points, REPLAYED)
    for points, text in ((2, "0.5"), (2, "2"), (3, "1"), (4, "0.25"), (5, "2"), (7, "1"))
}
MUTATED = 2**12
"""A total small enough to replay dozens of channels."""

RIGHT = Laplace.within(request("2"), 4, MUTATED)
MUTANTS = of_laplace(RIGHT)


def rows_of(channel: Channel) -> list[list[Fraction]]:
    return [
        [channel.probability(symbol, value) for symbol in range(channel.symbols)] for value in range(channel.inputs)
    ]


@for_each("check", CHANNEL_CHECKS)
@for_each("name", SMALL)
def test_a_small_channel_obeys_every_law(name: tuple[int, str], check: Check) -> None:
    check(Subject(SMALL[name], request(name[1]).odds))


@for_each("name", SMALL)
def test_the_law_range_by_range_is_the_law_draw_by_draw(name: tuple[int, str]) -> None:
    channel = SMALL[name]
    assert channel.total <= REPLAYED
    for value in range(channel.inputs):
        perturb = partial(channel.perturb, value)
        assert exact_law_of_one_draw(perturb, ends_of_noise(channel)) == law(channel, value)


@for_each("points", [2, 3, 33, POINTS])
@for_each("epsilon", EPSILONS)
def test_a_real_channel_has_its_declared_law(epsilon: str, points: int) -> None:
    channel = Laplace.within(request(epsilon), points)
    assert channel.total <= COIN_SCALE
    for value in {0, 1, points // 2, points - 1}:
        observed = exact_law_of_one_draw(partial(channel.perturb, value), ends_of_noise(channel))
        assert sum(observed.values()) == 1
        assert observed == {symbol: channel.probability(symbol, value) for symbol in range(points)}


@for_each("points", [2, 3, 4, 11, 33])
@for_each("epsilon", EPSILONS)
def test_a_real_channel_uses_the_epsilon_that_was_asked_for(epsilon: str, points: int) -> None:
    channel, odds = Laplace.within(request(epsilon), points), request(epsilon).odds
    rows = [[channel.weight(symbol, value) for symbol in range(points)] for value in range(points)]
    assert {sum(row) for row in rows} == {channel.total}
    worst = max(Fraction(max(column), min(column)) for column in zip(*rows, strict=True))
    assert worst == channel.worst_ratio
    assert LEAST_USE_OF_EPSILON * odds <= worst <= odds
    declared_epsilon_covers_the_exact_epsilon(Subject(channel, odds))


@for_each("epsilon", EPSILONS)
def test_the_default_grid_has_its_worst_ratio_at_an_end_or_beside_it(epsilon: str) -> None:
    """Within the range, weights fall with the distance: the ends, and the inputs farthest from a
    place, are the worst.
    """
    channel, odds = Laplace.within(request(epsilon)), request(epsilon).odds
    assert list(channel.weights[:-1]) == sorted(channel.weights[:-1], reverse=True)
    last = channel.inputs - 1
    columns = [[channel.weight(symbol, value) for value in (0, symbol, last)] for symbol in range(channel.symbols)]
    worst = max(Fraction(max(column), min(column)) for column in columns)
    assert worst == channel.worst_ratio
    assert LEAST_USE_OF_EPSILON * odds <= worst <= odds


def rounding_bound(channel: Laplace, odds: Fraction) -> Fraction:
    """Return by how much a probability may differ from the closed form.

    Each of the k weights is c a**n less at most 2 (it is rounded down twice); the last one is the
    quotient of their sum and odds - 1, rounded up, so off by at most (2 k + 2 odds) / (odds - 1) +
    1. Let e be twice the sum of all that. A weight w is within e of c g, the total T within e of c
    G, so |w / T - g / G| <= e / T + (g / G) e / T <= 2 e / T.
    """
    k = channel.inputs
    errors = 2 * (2 * k + (2 * k + 2 * odds) / (odds - 1) + 1)
    return 2 * errors / channel.total


@for_each("points", [2, 5, 33, POINTS])
@for_each("epsilon", EPSILONS)
def test_the_law_is_the_truncated_geometric_one_but_for_rounding(epsilon: str, points: int) -> None:
    requested = request(epsilon)
    channel = Laplace.within(requested, points)
    bound = rounding_bound(channel, requested.odds)
    other = False
    for value in {0, 1, points // 2, points - 1}:
        exact = truncated_geometric(Decimal(epsilon).exp(), points, value)
        wrong = truncated_geometric((Decimal(epsilon) * Decimal("1.01")).exp(), points, value)
        observed = [channel.probability(symbol, value) for symbol in range(points)]
        assert max(abs(a - b) for a, b in zip(observed, exact, strict=True)) <= bound
        other |= max(abs(a - b) for a, b in zip(observed, wrong, strict=True)) > bound
    assert other, "the bound tells a hundredth of epsilon"


def test_the_noise_is_symmetric_and_both_ends_are_reached() -> None:
    for channel in SMALL.values():
        rows = rows_of(channel)
        assert [row[::-1] for row in rows[::-1]] == rows
        assert all(min(row) > 0 for row in rows)


def test_weights_that_a_total_cannot_resolve_are_refused() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        Laplace.within(request("20"), POINTS, REPLAYED)


def test_a_count_of_few_values_is_asked_on_a_grid_of_its_own_values() -> None:
    for most, points in ((1, 2), (9, 10), (256, 257), (257, 257), (10**15, 257)):
        assert channel_for(Count(Fraction(most), "distribution"), request("1"), "laplace").inputs == points
    assert channel_for(Count(Fraction(9), "mean"), request("1"), "laplace").inputs == POINTS
    assert channel_for(Number(Fraction(0), Fraction(9), "mean"), request("1"), "laplace").inputs == POINTS


def killers(channel: Channel, odds: Fraction) -> set[str]:
    return {check.__name__ for check in CHANNEL_CHECKS if refuses(partial(check, Subject(channel, odds)))}


@pytest.mark.long
@for_each("name", MUTANTS)
def test_a_wrong_laplace_is_refused_and_the_right_one_is_not(name: str) -> None:
    assert bool(killers(MUTANTS[name], request("2").odds)) == (name != "none")


def test_noise_for_another_epsilon_is_refused() -> None:
    odds = request("2").odds
    wasted = {"noise_is_within_the_request_and_not_wasted"}
    assert killers(Laplace.within(request("1.99"), 4, MUTATED), odds) == wasted
    beyond = killers(Laplace.within(request("2.01"), 4, MUTATED), odds)
    assert beyond == wasted | {"declared_epsilon_covers_the_exact_epsilon"}


def test_every_check_kills_a_wrong_laplace() -> None:
    odds = request("2").odds
    wrong = [*MUTANTS.values(), Laplace.within(request("3"), 4, MUTATED)]
    assert len(wrong) > 10
    assert set.union(*(killers(mutant, odds) for mutant in wrong)) == {check.__name__ for check in CHANNEL_CHECKS}
