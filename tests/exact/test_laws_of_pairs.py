"""Blocks around two members of a set: the channel from every set to the block, by enumeration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from itertools import combinations, permutations
from math import comb

import pytest

from client_sdk.protocol import Coins, Metric, Registry, WindowKind
from client_sdk.protocol.channel import COIN_SCALE
from client_sdk.protocol.kinds.set import Subset
from client_sdk.protocol.mechanisms import designs
from client_sdk.protocol.mechanisms.catalogue import set_mechanism
from client_sdk.protocol.mechanisms.pair_geometry import MOST_SYMBOLS, PairBlocks, PairGeometry, best_blocks
from estimator.audit.compare import RequestedLoss, RequestedLosses
from estimator.audit.proof import Proof
from estimator.audit.prove import prove
from estimator.decoders.pair_geometry import inverse
from tests.support.devices.definitions import BOOLEAN, registry_text
from tests.support.laws.bands import request
from tests.support.laws.coins import Law, walk
from tests.support.laws.law_checks import refuses

Report = Callable[[PairGeometry, tuple[int, ...], Coins], int]
"""How a padded set becomes a block."""

CHANNELS = {
    "sets of two, with space to spare": PairGeometry.within(request("1"), 5, PairBlocks(3, 4, 2)),
    "sets of two, on a plane": PairGeometry.within(request("0.5"), 5, PairBlocks(5, 3, 2)),
    "sets of three": PairGeometry.within(request("1"), 5, PairBlocks(3, 4, 3)),
    "sets of three, on a plane": PairGeometry.within(request("1"), 5, PairBlocks(5, 3, 3)),
    "sets of four, on a plane": PairGeometry.within(request("2"), 6, PairBlocks(7, 3, 4)),
}
LARGER = {
    "nine of nine points": PairGeometry.within(request("1"), 9, PairBlocks(3, 4, 2)),
    "three digits": PairGeometry.within(request("1"), 12, PairBlocks(3, 6, 3)),
    "four digits": PairGeometry.within(request("0.5"), 10, PairBlocks(3, 7, 2)),
}


@dataclass(frozen=True)
class Subject:
    """A way to report padded sets under test."""

    channel: PairGeometry
    epsilon: Fraction
    report: Report

    def sets(self) -> list[tuple[int, ...]]:
        """Return all padded sets of two elements, every third one of three and seventh of four."""
        every = {2: 1, 3: 3, 4: 7}[self.channel.drawn]
        return list(combinations(range(self.channel.inputs), self.channel.drawn))[::every]


@cache
def walked(subject: Subject) -> dict[tuple[int, ...], Law[int]]:
    """Return the law of every padded set."""
    return {given: walk(partial(subject.report, subject.channel, given)) for given in subject.sets()}


@cache
def laws(subject: Subject) -> dict[tuple[int, ...], list[Fraction]]:
    """Return the probabilities of all blocks for every padded set: three checks need them."""
    symbols = range(subject.channel.symbols)
    assert all(law.coins.keys() <= set(symbols) for law in walked(subject).values())
    return {given: [law.chances.get(each, Fraction(0)) for each in symbols] for given, law in walked(subject).items()}


def the_law_is_the_declared_one(subject: Subject) -> None:
    for given, law in laws(subject).items():
        assert law == [subject.channel.probability(symbol, given) for symbol in range(subject.channel.symbols)]


def no_two_sets_differ_more_than_epsilon(subject: Subject) -> None:
    """Some differ by exactly the channel's ratio, which is as close to the request as 64 bits
    allow.
    """
    columns = list(zip(*laws(subject).values(), strict=True))
    assert all(map(all, columns))
    worst = max(max(column) / min(column) for column in columns)
    assert worst == subject.channel.worst_ratio <= subject.epsilon
    larger = replace(subject.channel, keep_numerator=subject.channel.keep_numerator + 1)
    assert larger.worst_ratio > subject.epsilon


def the_estimate_is_unbiased_whatever_occurs_together(subject: Subject) -> None:
    support, drawn = inverse(subject.channel).balanced.support, subject.channel.drawn
    for given, law in laws(subject).items():
        for element in range(subject.channel.inputs):
            blocks = (symbol for symbol in range(subject.channel.symbols) if subject.channel.contains(symbol, element))
            chance = sum((law[symbol] for symbol in blocks), Fraction(0))
            assert drawn * (support.slope * chance + support.intercept) == (element in given)


def the_coins_are_as_many_on_every_path(subject: Subject) -> None:
    assert set().union(*(law.lengths for law in walked(subject).values())) == {5}


CHECKS = (
    the_law_is_the_declared_one,
    no_two_sets_differ_more_than_epsilon,
    the_estimate_is_unbiased_whatever_occurs_together,
    the_coins_are_as_many_on_every_path,
)


def right_report(channel: PairGeometry, given: tuple[int, ...], coins: Coins) -> int:
    return channel.perturb(given, coins)


def _first_pair_always(channel: PairGeometry, given: tuple[int, ...], coins: Coins) -> int:
    coins.below(channel.drawn)
    coins.below(channel.drawn - 1)
    return _block(channel, given[0], given[-1], coins)


def _block(channel: PairGeometry, first: int, second: int, coins: Coins) -> int:
    keep = coins.bernoulli(channel.keep_numerator)
    kept = coins.below(channel.blocks.favored)
    lie = channel.blocks.favored + coins.below(channel.symbols - channel.blocks.favored)
    return channel.block(first, second, kept if keep else lie)


def _never_lies_with_both(channel: PairGeometry, given: tuple[int, ...], coins: Coins) -> int:
    first = coins.below(channel.drawn)
    steps = 1 + coins.below(channel.drawn - 1)
    keep = coins.bernoulli(channel.keep_numerator)
    kept = coins.below(2 * channel.blocks.each)
    lie = channel.symbols - channel.blocks.each + coins.below(channel.blocks.each)
    return channel.block(given[first], given[(first + steps) % channel.drawn], kept if keep else lie)


def _a_coin_less_for_lies(channel: PairGeometry, given: tuple[int, ...], coins: Coins) -> int:
    first = coins.below(channel.drawn)
    steps = 1 + coins.below(channel.drawn - 1)
    if coins.bernoulli(channel.keep_numerator):
        place = coins.below(channel.blocks.favored)
        coins.below(channel.symbols - channel.blocks.favored)
    else:
        place = channel.blocks.favored + coins.below(channel.symbols - channel.blocks.favored)
    return channel.block(given[first], given[(first + steps) % channel.drawn], place)


def _odds_of_pairs(channel: PairGeometry, given: tuple[int, ...], coins: Coins) -> int:
    return replace(channel, keep_numerator=(channel.keep_numerator + COIN_SCALE) // 2).perturb(given, coins)


def _dummies_never_noised(channel: PairGeometry, given: tuple[int, ...], coins: Coins) -> int:
    symbol = channel.perturb(given, coins)
    return 0 if given[-1] == channel.inputs - 1 else symbol


MUTANTS: dict[str, Report] = {
    "the same pair always": _first_pair_always,
    "a lie without blocks of both": _never_lies_with_both,
    "a coin less": _a_coin_less_for_lies,
    "a larger epsilon": _odds_of_pairs,
    "one set never noised": _dummies_never_noised,
}


def subject_of(name: str, report: Report = right_report) -> Subject:
    epsilon = {"sets of two, on a plane": "0.5", "sets of four, on a plane": "2"}.get(name, "1")
    return Subject(CHANNELS[name], request(epsilon).odds, report)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", CHANNELS)
def test_a_report_about_a_pair_obeys_every_law(name: str, check: Callable[[Subject], None]) -> None:
    check(subject_of(name))


def killers(report: Report, name: str = "sets of three, on a plane") -> set[str]:
    return {check.__name__ for check in CHECKS if refuses(partial(check, subject_of(name, report)))}


def test_a_wrong_report_about_a_pair_is_refused_and_every_check_kills_one() -> None:
    assert not killers(right_report)
    killed = {name: killers(mutant) for name, mutant in MUTANTS.items()}
    assert all(killed.values()), killed
    assert killed["a coin less"] == {"the_coins_are_as_many_on_every_path"}
    assert set().union(*killed.values()) == {check.__name__ for check in CHECKS}


def audited(report: Report) -> Proof:
    """Return the proof of an audit of sets of two that are reported this way."""
    kind = Subset(("a", "b", "c"), 2)
    right = PairGeometry.within(request("1"), 5, PairBlocks(3, 4, 2))
    wrong: type[PairGeometry] = type(
        "Wrong", (PairGeometry,), {"perturb": lambda _, value, coins: report(right, value, coins)}
    )
    channel = wrong(right.inputs, right.prime, right.dimension, right.drawn, right.keep_numerator)
    registry = Registry.parse(registry_text(m=BOOLEAN))
    metric = Metric("m", "Why?", kind, channel, WindowKind.DAY)
    requests = {"m": RequestedLosses(RequestedLoss(request("1").odds))}
    (proof,) = prove(replace(registry, metrics={"m": metric}), requests).proofs
    return proof


def test_an_exact_audit_accepts_the_right_report_and_refuses_every_wrong_one() -> None:
    assert not audited(right_report).is_refused
    assert audited(right_report).mismatches == ()
    for name, report in MUTANTS.items():
        if name != "the same pair always":  # sets of two have only one pair
            assert audited(report).is_refused, name


@pytest.mark.parametrize("name", LARGER)
def test_every_place_of_a_pair_is_a_different_block_with_the_promised_elements(name: str) -> None:
    channel = LARGER[name]
    each, favored = channel.blocks.each, channel.blocks.favored
    for first, second in list(permutations(range(channel.inputs), 2))[::17]:
        blocks = [channel.block(first, second, place) for place in range(channel.symbols)]
        assert sorted(blocks) == list(range(channel.symbols))
        inside = [(channel.contains(block, first), channel.contains(block, second)) for block in blocks]
        assert set(inside[:each]) == {(True, False)}
        assert set(inside[each : 2 * each]) == {(False, True)}
        assert inside.count((False, False)) == (channel.prime - 1) * each
        assert all(any(pair) for pair in inside[:favored])


@pytest.mark.parametrize(("prime", "dimension", "digits"), [(3, 4, 2), (5, 4, 2), (7, 3, 1), (3, 6, 3), (3, 7, 4)])
def test_three_elements_are_in_one_block_as_often_whichever_they_are(prime: int, dimension: int, digits: int) -> None:
    channel = PairGeometry.within(request("1"), min(12, prime**digits), PairBlocks(prime, dimension, 2))
    blocks = [
        {each for each in range(channel.inputs) if channel.contains(symbol, each)} for symbol in range(channel.symbols)
    ]
    for size in (1, 2, 3):
        counts = {sum(block.issuperset(some) for block in blocks) for some in combinations(range(channel.inputs), size)}
        assert counts == {(prime ** (dimension - size) - 1) // (prime - 1)}


def least_variance_of_blocks(values: int, drawn: int, odds: Fraction) -> Fraction:
    """Return the least n times variance of a rare value over blocks of every size, as in PrivSet.

    The blocks are all subsets of a size, so this cannot be a tally for many values.
    """
    inputs, best = values + drawn, None
    for size in range(1, inputs // 2):
        miss = Fraction(comb(inputs - drawn, size), comb(inputs, size))
        total, has = odds * (1 - miss) + miss, Fraction(size, inputs)
        without = has * Fraction(comb(inputs - drawn - 1, size - 1), comb(inputs - 1, size - 1))
        own, other = odds * has / total, (odds * (has - without) + without) / total
        variance = other * (1 - other) / (own - other) ** 2
        best = variance if best is None else min(best, variance)
    assert best is not None
    return best


@pytest.mark.parametrize(
    ("drawn", "epsilon", "values", "most"),
    [
        *((2, "0.5", 100, "1.05"), (2, "1", 100, "1.06"), (2, "2", 100, "1.11"), (2, "1", 200, "1.03")),
        *((3, "0.5", 100, "1.13"), (3, "1", 100, "1.10"), (3, "2", 100, "1.18"), (3, "1", 200, "1.06")),
    ],
)
def test_auto_is_near_the_best_blocks_of_any_size(drawn: int, epsilon: str, values: int, most: str) -> None:
    odds = request(epsilon).odds
    blocks = best_blocks(values, drawn, odds)
    assert set_mechanism(values, drawn, odds) == "pair-geometry"
    assert blocks is not None
    assert blocks.number <= MOST_SYMBOLS
    assert 1 <= blocks.rare_variance(odds) / least_variance_of_blocks(values, drawn, odds) <= Fraction(most)


def test_auto_keeps_the_members_favored_alike_where_blocks_are_worse() -> None:
    assert set_mechanism(7, 2, request("1").odds) == designs.K_ARY
    assert set_mechanism(100, 3, request("4").odds) == designs.K_ARY
    assert best_blocks(100, 1, request("1").odds) is None
