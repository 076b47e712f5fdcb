"""Every check of the laws accepts the right mechanisms and refuses wrong ones."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import partial

import pytest

from client_sdk.protocol import Channel, Coins
from client_sdk.protocol.kinds.number import Number
from client_sdk.protocol.mechanisms.balanced_design import BalancedDesign
from client_sdk.protocol.mechanisms.cyclic_design import CyclicDesign
from client_sdk.protocol.mechanisms.k_ary_randomized_response import KAryRandomizedResponse
from client_sdk.protocol.mechanisms.projective_geometry import ProjectiveGeometry
from client_sdk.protocol.mechanisms.randomized_response import RandomizedResponse
from client_sdk.protocol.requested_epsilon import RequestedEpsilon
from tests.support.core.tables import for_each
from tests.support.laws.law_checks import CHANNEL_CHECKS, ROUNDING_CHECKS, Check, RoundingCheck, Subject, refuses
from tests.support.mutants import block_designs
from tests.support.mutants.mechanisms import BINARY_MUTANTS, CHANNEL_MUTANTS, Mutant, right_perturbation
from tests.support.mutants.rounding import ROUNDING_MUTANTS

EPSILON = RequestedEpsilon.parse(Decimal(1))
K_ARY = KAryRandomizedResponse.within(EPSILON, 5)
BINARY = RandomizedResponse.within(EPSILON)
POINTS = 4
DESIGN_MUTANTS = {
    f"{right}: {name}": mutant
    for right, mutants in (
        ("pairs", block_designs.cyclic(CyclicDesign.within(EPSILON, 6, 2, 5))),
        ("balanced", block_designs.balanced(BalancedDesign.within(EPSILON, 7, 7, 3, 1))),
        ("weighted", block_designs.balanced(BalancedDesign.within(EPSILON, 6, 6, 3, 1))),
        ("blocks", block_designs.cyclic(CyclicDesign.within(EPSILON, 7, 3, 2))),
        ("geometry", block_designs.projective(ProjectiveGeometry.within(EPSILON, 13, 3, 3))),
    )
    for name, mutant in mutants.items()
}


def channel_killers(channel: Channel) -> set[str]:
    subject = Subject(channel, EPSILON.odds)
    return {check.__name__ for check in CHANNEL_CHECKS if refuses(partial(check, subject))}


def right_rounding(position: Fraction, points: int, coins: Coins) -> int:
    return Number(Fraction(0), Fraction(points - 1), "mean").encode(position, points, coins)


def test_the_harness_of_the_mutants_accepts_the_right_perturbation() -> None:
    for right in (K_ARY, BINARY):
        assert not channel_killers(right)
    assert not channel_killers(Mutant(K_ARY, right_perturbation))


@for_each("name", CHANNEL_MUTANTS)
def test_a_wrong_k_ary_mechanism_is_refused(name: str) -> None:
    assert channel_killers(CHANNEL_MUTANTS[name](K_ARY))


@for_each("name", BINARY_MUTANTS)
def test_a_wrong_binary_mechanism_is_refused(name: str) -> None:
    assert channel_killers(BINARY_MUTANTS[name](BINARY))


def test_a_channel_that_wastes_noise_is_refused_only_for_that() -> None:
    wasteful = KAryRandomizedResponse(5, K_ARY.keep_numerator * 98 // 100)
    assert channel_killers(wasteful) == {"noise_is_within_the_request_and_not_wasted"}


def test_a_channel_that_lies_too_rarely_for_the_request_is_refused() -> None:
    risky = KAryRandomizedResponse(5, K_ARY.keep_numerator * 101 // 100)
    assert channel_killers(risky) == {
        "declared_epsilon_covers_the_exact_epsilon",
        "noise_is_within_the_request_and_not_wasted",
    }


@pytest.mark.parametrize("name", ["a coin for lies only", "a second coin for lies", "an extra coin for one input"])
def test_a_right_law_with_telling_coins_is_refused_only_for_its_coins(name: str) -> None:
    assert channel_killers(CHANNEL_MUTANTS[name](K_ARY)) == {"coins_are_as_many_on_every_path_to_a_symbol"}


@pytest.mark.parametrize("check", CHANNEL_CHECKS, ids=lambda check: check.__name__)
def test_every_check_of_a_channel_kills_a_mutant(check: Check) -> None:
    mutants = [make(K_ARY) for make in CHANNEL_MUTANTS.values()]
    assert any(refuses(partial(check, Subject(mutant, EPSILON.odds))) for mutant in mutants)


@for_each("name", ROUNDING_MUTANTS)
def test_a_wrong_rounding_is_refused(name: str) -> None:
    mutant = ROUNDING_MUTANTS[name]
    assert any(refuses(partial(check, mutant, POINTS)) for check in ROUNDING_CHECKS)


@pytest.mark.parametrize("check", ROUNDING_CHECKS, ids=lambda check: check.__name__)
def test_every_check_of_a_rounding_accepts_the_right_one_and_kills_a_mutant(check: RoundingCheck) -> None:
    check(right_rounding, POINTS)
    assert any(refuses(partial(check, mutant, POINTS)) for mutant in ROUNDING_MUTANTS.values())


@for_each("name", DESIGN_MUTANTS)
def test_a_wrong_design_is_refused(name: str) -> None:
    killers = channel_killers(DESIGN_MUTANTS[name])
    assert bool(killers) == (not name.endswith("none"))


def test_a_complement_that_is_not_excluded_makes_lies_of_the_truth_and_is_refused_for_its_epsilon() -> None:
    for name, mutant in DESIGN_MUTANTS.items():
        if name.endswith("complement not excluded"):
            killers = channel_killers(mutant)
            assert killers >= {"law_is_as_declared", "worst_ratio_equals_enumeration"}


def test_no_list_of_mutants_or_checks_is_empty() -> None:
    assert sum(not name.endswith("none") for name in DESIGN_MUTANTS) > 10
    for collection in (BINARY_MUTANTS, CHANNEL_MUTANTS, ROUNDING_MUTANTS, CHANNEL_CHECKS, ROUNDING_CHECKS):
        assert collection
