"""The exact law of every mechanism: every path of its decisions is replayed with exact weights."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import partial

import pytest

from client_sdk.protocol import COIN_SCALE, Channel, Coins, Metric, WindowKind
from client_sdk.protocol.channel import epsilon_nanos
from client_sdk.protocol.kinds.boolean import Boolean
from client_sdk.protocol.kinds.number import Number
from client_sdk.protocol.mechanisms.balanced_design import BalancedDesign
from client_sdk.protocol.mechanisms.cyclic_design import CyclicDesign
from client_sdk.protocol.mechanisms.k_ary_randomized_response import KAryRandomizedResponse
from client_sdk.protocol.mechanisms.projective_geometry import ProjectiveGeometry
from client_sdk.protocol.mechanisms.randomized_response import OneBit, RandomizedResponse
from client_sdk.protocol.requested_epsilon import RequestedEpsilon
from tests.support.core.tables import for_each
from tests.support.laws.coins import exact_law
from tests.support.laws.law_checks import (
    CHANNEL_CHECKS,
    Check,
    Subject,
    declared_epsilon_covers_the_exact_epsilon,
    law,
    noise_is_within_the_request_and_not_wasted,
    positions,
)

EPSILONS = ["0.01", "0.1", "0.25", "0.5", "1", "ln 3", "2", "4", "8"]
WALKED = ["0.01", "1", "ln 3", "8"]
"""Epsilons at which every path is walked. Others change the numerator of a coin, and no path."""

SIZES = [*range(2, 10), 16, 31]


def request(text: str) -> RequestedEpsilon:
    return RequestedEpsilon.parse(text if text.startswith("ln") else Decimal(text))


def channels(text: str) -> list[Channel]:
    epsilon = request(text)
    k_ary = [KAryRandomizedResponse.within(epsilon, size) for size in SIZES]
    return [RandomizedResponse.within(epsilon), OneBit.within(epsilon), *k_ary, *designs(epsilon)]


def designs(epsilon: RequestedEpsilon) -> list[Channel]:
    cyclic = [(3, 2, 1), (4, 2, 3), (5, 2, 2), (16, 2, 15), (7, 3, 2), (9, 4, 3), (16, 6, 2)]
    geometries = [(7, 2, 3), (5, 2, 3), (13, 3, 3), (14, 2, 4), (20, 5, 3)]
    balanced = [(7, 7, 3, 1), (5, 7, 3, 3), (6, 6, 3, 1), (9, 9, 3, 1), (11, 13, 4, 3), (13, 13, 5, 4)]
    return [
        *(BalancedDesign.within(epsilon, *design) for design in balanced),
        *(CyclicDesign.within(epsilon, *design) for design in cyclic),
        *(ProjectiveGeometry.within(epsilon, *design) for design in geometries),
    ]


@for_each("check", CHANNEL_CHECKS)
@for_each("epsilon", WALKED)
def test_every_mechanism_obeys_every_law(epsilon: str, check: Check) -> None:
    for channel in channels(epsilon):
        check(Subject(channel, request(epsilon).odds))


@for_each("epsilon", EPSILONS)
def test_every_mechanism_declares_and_uses_the_epsilon_that_was_asked_for(epsilon: str) -> None:
    for channel in channels(epsilon):
        declared_epsilon_covers_the_exact_epsilon(Subject(channel, request(epsilon).odds))
        noise_is_within_the_request_and_not_wasted(Subject(channel, request(epsilon).odds))


@for_each("epsilon", WALKED)
def test_no_symbol_is_likelier_than_e_to_the_declared_epsilon_times_that_of_another_input(epsilon: str) -> None:
    for channel in channels(epsilon):
        laws = [law(channel, value) for value in range(channel.inputs)]
        for symbol in range(channel.symbols):
            chances = [chances_of[symbol] for chances_of in laws]
            assert max(chances) <= channel.worst_ratio * min(chances)


def test_ln_3_on_a_boolean_keeps_with_probability_exactly_three_quarters() -> None:
    channel = RandomizedResponse.within(request("ln 3"))
    assert law(channel, 1) == {1: Fraction(3, 4), 0: Fraction(1, 4)}
    assert channel.worst_ratio == 3
    assert epsilon_nanos(channel) == 1_098_612_289


def test_two_categories_are_randomized_like_a_boolean() -> None:
    for epsilon in EPSILONS:
        pair, boolean = KAryRandomizedResponse.within(request(epsilon), 2), RandomizedResponse.within(request(epsilon))
        assert [law(pair, value) for value in (0, 1)] == [law(boolean, value) for value in (0, 1)]


def metric(channel: Channel, domain: Boolean | Number) -> Metric:
    return Metric("visits", "How many visits?", domain, channel, WindowKind.DAY)


@for_each("epsilon", EPSILONS)
def test_the_expected_symbol_of_a_number_is_linear_in_the_answer(epsilon: str) -> None:
    domain = Number(Fraction(-3), Fraction(11, 2), "mean")
    channel = OneBit.within(request(epsilon))
    visits = metric(channel, domain)
    keep = Fraction(channel.keep_numerator, COIN_SCALE)
    for share in positions(2):
        answer = domain.low + share * (domain.high - domain.low)
        chances = exact_law(partial(visits.perturb, answer))
        rounded = Fraction(int(share * COIN_SCALE), COIN_SCALE)
        assert sum(chances.values()) == 1
        assert chances[1] == (1 - keep) + (2 * keep - 1) * rounded


def test_the_joint_law_of_two_reports_is_the_product_of_their_laws() -> None:
    visits = metric(RandomizedResponse.within(request("1")), Boolean())

    def both(coins: Coins) -> tuple[int, int]:
        return visits.perturb(answer=True, coins=coins), visits.perturb(answer=False, coins=coins)

    first, second = law(visits.channel, 1), law(visits.channel, 0)
    assert exact_law(both) == {(a, b): first[a] * second[b] for a in (0, 1) for b in (0, 1)}


SMALL_DESIGNS: list[Channel] = [
    CyclicDesign.within(request("1"), 5, 2, 2),
    CyclicDesign.within(request("1"), 7, 3, 2),
    ProjectiveGeometry.within(request("1"), 6, 2, 3),
]


@pytest.mark.parametrize("channel", SMALL_DESIGNS, ids=lambda channel: f"{channel.name} of {channel.inputs}")
def test_the_joint_law_of_two_reports_of_a_design_is_the_product_of_their_laws(channel: Channel) -> None:
    """Shared blocks must not tie reports together: what one report derives and caches must not
    change the next one.
    """
    answers = (channel.inputs - 1, 0)

    def both(coins: Coins) -> tuple[int, int]:
        return channel.perturb(answers[0], coins), channel.perturb(answers[1], coins)

    first, second = law(channel, answers[0]), law(channel, answers[1])
    assert exact_law(both) == {(a, b): first[a] * second[b] for a in first for b in second}
