"""Lists of texts: the channel from every list of cells to the symbol, by enumeration.

Cells are all points of a geometry, so that some of them are on a line with two others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from itertools import combinations
from math import comb

import numpy as np
import pytest

from client_sdk.protocol import Coins, Metric
from client_sdk.protocol.mechanisms.grouped_geometry import CellPairs, GroupedGeometry, geometry_for
from client_sdk.protocol.mechanisms.pair_geometry import PairBlocks
from client_sdk.protocol.text import Text
from estimator.analyses.texts import sampled_texts
from estimator.audit.compare import RequestedLoss
from estimator.audit.toy_sizes import text_answers, text_proof
from estimator.decoders.grouped_geometry import CellSupport, cell_support
from tests.support.core.tables import for_each
from tests.support.laws.bands import request
from tests.support.laws.coins import Law, walk
from tests.support.laws.law_checks import refuses
from tests.support.laws.text_checks import CELLS, TEXTS, toy

ODDS = request("1").odds
SIZES = {(3, 3, 2): 1, (3, 3, 3): 1, (3, 3, 4): 3, (5, 3, 2): 3, (3, 4, 3): 101}
"""The prime, the dimension and the size of a list; and which part of all lists is examined."""

Cells = tuple[int, ...]
Report = Callable[[CellPairs, Cells, Coins], int]
"""How the cells of a list become a symbol."""


@cache
def grouped(prime: int, dimension: int, drawn: int) -> GroupedGeometry:
    """Return the channel of one group."""
    return GroupedGeometry.within(request("1"), prime, dimension, (1,), drawn)


@cache
def pairs(prime: int, dimension: int, drawn: int) -> CellPairs:
    geometry = grouped(prime, dimension, drawn).geometry
    assert isinstance(geometry, CellPairs)
    return geometry


@cache
def blocks_of(prime: int, dimension: int) -> tuple[frozenset[int], ...]:
    """Return the cells of each symbol."""
    channel = pairs(prime, dimension, 2)
    every = range(channel.symbols)
    return tuple(frozenset(cell for cell in every if channel.contains(symbol, cell)) for symbol in every)


@cache
def line_of(prime: int, dimension: int, first: int, second: int) -> frozenset[int]:
    """Return the cells that are in every block with two cells, which are on their line."""
    both = (block for block in blocks_of(prime, dimension) if {first, second} <= block)
    line = next(both)
    for block in both:
        line &= block
    return line


def lists(size: tuple[int, int, int]) -> list[Cells]:
    prime, dimension, drawn = size
    return list(combinations(range(pairs(prime, dimension, drawn).symbols), drawn))[:: SIZES[size]]


@for_each("size", SIZES)
def test_a_law_sums_to_one_and_no_two_lists_differ_by_more_than_epsilon(size: tuple[int, int, int]) -> None:
    """Some differ by exactly the channel's ratio, the largest that 64 bits allow."""
    channel, blocks = pairs(*size), blocks_of(*size[:2])
    kinds = {(frozenset(given) & block): None for given in lists(size) for block in blocks}
    assert {len(inside) for inside in kinds} == set(range(size[-1] + 1))  # every case occurs
    laws = [[channel.probability(symbol, given) for symbol in range(channel.symbols)] for given in lists(size)[::7]]
    assert {sum(law) for law in laws} == {1}
    columns = list(zip(*laws, strict=True))
    assert max(max(column) / min(column) for column in columns) == channel.worst_ratio <= ODDS
    assert replace(channel, keep_numerator=channel.keep_numerator + 1).worst_ratio > ODDS


@dataclass(frozen=True)
class Subject:
    """A way to report lists of cells under test."""

    size: tuple[int, int, int]
    report: Report

    def given(self) -> list[Cells]:
        """Return a few lists: of cells on one line, of cells that are not, and of dummies."""
        prime, dimension, drawn = self.size
        last = pairs(*self.size).symbols
        collinear = sorted(line_of(prime, dimension, 0, last - 1))[:drawn]
        return [tuple(collinear), *lists(self.size)[::37], tuple(range(last - drawn, last))]


@cache
def walked(subject: Subject) -> dict[Cells, Law[int]]:
    channel = pairs(*subject.size)
    return {given: walk(partial(subject.report, channel, given)) for given in subject.given()}


def the_law_is_the_declared_one(subject: Subject) -> None:
    channel = pairs(*subject.size)
    for given, law in walked(subject).items():
        assert law.chances == {symbol: channel.probability(symbol, given) for symbol in range(channel.symbols)}


def the_coins_are_as_many_on_every_path(subject: Subject) -> None:
    assert set().union(*(law.lengths for law in walked(subject).values())) == {5}


CHECKS = (the_law_is_the_declared_one, the_coins_are_as_many_on_every_path)


def right_report(channel: CellPairs, given: Cells, coins: Coins) -> int:
    return channel.perturb(given, coins)


def _first_pair_always(channel: CellPairs, given: Cells, coins: Coins) -> int:
    coins.below(channel.drawn)
    coins.below(channel.drawn - 1)
    keep = coins.bernoulli(channel.keep_numerator)
    kept = coins.below(channel.blocks.favored)
    lie = channel.blocks.favored + coins.below(channel.symbols - channel.blocks.favored)
    return channel.block(given[0], given[1], kept if keep else lie)


def _dummies_never_noised(channel: CellPairs, given: Cells, coins: Coins) -> int:
    symbol = channel.perturb(given, coins)
    return 0 if given[0] == channel.symbols - channel.drawn else symbol


def _fewer_coins(channel: CellPairs, given: Cells, coins: Coins) -> int:
    if given[0] == 0:
        return channel.perturb(given, coins)
    keep = coins.bernoulli(channel.keep_numerator)
    place = coins.below(channel.blocks.favored) if keep else channel.symbols - 1
    return channel.block(given[0], given[1], place)


def _odds_of_pairs(channel: CellPairs, given: Cells, coins: Coins) -> int:
    return replace(channel, keep_numerator=channel.keep_numerator // 2).perturb(given, coins)


MUTANTS: dict[str, Report] = {
    "the same pair always": _first_pair_always,
    "dummies never noised": _dummies_never_noised,
    "fewer coins": _fewer_coins,
    "another epsilon": _odds_of_pairs,
}


@pytest.mark.parametrize("size", [(3, 3, 2), (3, 3, 3), (3, 3, 4), (5, 3, 2)])
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_report_of_a_list_obeys_every_law(check: Callable[[Subject], None], size: tuple[int, int, int]) -> None:
    check(Subject(size, right_report))


@for_each("name", MUTANTS)
def test_a_wrong_report_of_a_list_is_refused(name: str) -> None:
    assert any(refuses(partial(check, Subject((3, 3, 3), MUTANTS[name]))) for check in CHECKS)


def test_every_check_of_a_list_refuses_a_mutant() -> None:
    for check in CHECKS:
        assert any(refuses(partial(check, Subject((3, 3, 3), report))) for report in MUTANTS.values())


def estimates(size: tuple[int, int, int], given: Cells) -> list[Fraction]:
    """Return the expected estimate of each cell's share, if all devices have this list."""
    channel, law = pairs(*size), cell_support(grouped(*size))
    chances = [channel.probability(symbol, given) for symbol in range(channel.symbols)]
    blocks = blocks_of(*size[:2])
    return [
        law.support.slope * sum((chances[symbol] for symbol in block), Fraction(0)) + law.support.intercept
        for block in blocks  # a cell is in the symbols whose cells have its number, because products are symmetric
    ]


def line_error(size: tuple[int, int, int]) -> Fraction:
    """Return by how much a pair of cells lowers the estimates of other cells on their line."""
    prime, _, drawn = size
    return Fraction(1, prime - 1) if drawn == 2 else Fraction(2, (drawn - 1) * (prime - 2))


@for_each("size", SIZES)
def test_estimates_are_unbiased_except_on_a_line_with_two_cells_of_the_list(size: tuple[int, int, int]) -> None:
    """The error on a line is the documented one, and the sum of all shares is known."""
    law = cell_support(grouped(*size))
    cases = set()
    for given in lists(size)[::17]:
        lines = [line_of(*size[:2], *pair) - set(pair) for pair in combinations(given, 2)]
        expected = [(cell in given) - line_error(size) * sum(cell in line for line in lines) for cell in cells_of(size)]
        assert estimates(size, given) == expected
        assert sum(expected) == law.support.slope * law.supported + law.support.intercept * law.points
        cases |= {sum(cell in line for line in lines) for cell in cells_of(size)}
    assert {0, 1} <= cases


def cells_of(size: tuple[int, int, int]) -> range:
    return range(pairs(*size).symbols)


def test_the_error_on_a_line_is_at_most_two_parts_in_the_prime() -> None:
    channels = [
        geometry_for(request(epsilon).odds, 2**17, drawn) for epsilon in ("0.2", "1", "4") for drawn in (2, 3, 9)
    ]
    for geometry, drawn in zip(channels, 3 * (2, 3, 9), strict=True):
        assert line_error((geometry.prime, geometry.dimension, drawn)) <= Fraction(2, geometry.prime)


@pytest.mark.parametrize("most", [2, 3])
def test_a_list_has_the_cells_of_its_texts_and_as_many_dummies_as_needed(most: int) -> None:
    kind = toy(max_items=most).kind
    assert isinstance(kind, Text)
    alike = 0
    for texts in (some for size in range(most + 1) for some in combinations(TEXTS, size)):
        own = [kind.cells_of(kind.number_of(text), CELLS) for text in texts]
        for place, cells in enumerate(kind.encoded(kind.numbers(texts), CELLS)):
            without_dummies = {of_text[place] for of_text in own}
            alike += len(without_dummies) < len(texts)
            assert len(set(cells)) == len(cells) == most
            assert without_dummies == {cell for cell in cells if cell < CELLS - most}
            assert set(cells) - without_dummies == set(range(CELLS - most, CELLS - len(without_dummies)))
    assert alike


def test_a_report_of_a_list_has_the_law_of_its_cells_in_each_group_and_the_same_coins() -> None:
    metric = toy(max_items=2)
    channel = metric.channel
    for texts in ([], ["a"], ["a", "ba"]):
        (given,) = metric.law(texts)
        law = walk(partial(metric.perturb, texts))
        assert law.chances == {symbol: channel.probability(symbol, given) for symbol in range(channel.symbols)}
        assert law.lengths == {6}


@pytest.mark.parametrize("most", [2, 3])
def test_a_rehearsal_draws_tallies_from_the_law_of_the_lists(most: int) -> None:
    """Pearson's statistic of a seeded tally is within five standard deviations of its mean."""
    metric, people = toy(max_items=most), {(): 100_000, ("a", "ba"): 200_000, ("", "ab", "b")[:most]: 100_000}
    kind, channel = metric.kind, metric.channel
    assert isinstance(kind, Text)
    assert isinstance(channel, GroupedGeometry)
    devices = {tuple(kind.numbers(texts)): count for texts, count in people.items()}
    tally = sampled_texts(kind, channel, devices, np.random.default_rng(1))
    expected = np.zeros(channel.symbols)
    for texts, count in people.items():
        given = kind.encoded(kind.numbers(texts), channel.inputs)
        expected += [count * float(channel.probability(symbol, given)) for symbol in range(channel.symbols)]
    assert tally.sum() == sum(people.values())
    free = channel.symbols - 1
    assert abs(float(((tally - expected) ** 2 / expected).sum()) - free) < 5 * np.sqrt(2 * free)


class OneTextOnly(GroupedGeometry):
    """A channel that ignores all texts of a list but one."""

    __slots__ = ()

    def perturb(self, value: Sequence[Cells], coins: Coins) -> int:
        dummies = range(self.inputs - self.dummies, self.inputs)
        return super().perturb([(cells[0], *dummies[-self.dummies + 1 :]) for cells in value], coins)


class DummiesAsTheyAre(GroupedGeometry):
    """A channel that never perturbs an empty list."""

    __slots__ = ()

    def perturb(self, value: Sequence[Cells], coins: Coins) -> int:
        symbol = super().perturb(value, coins)
        return symbol if value[0][0] < self.inputs - self.dummies else 0


def metric_of_lists(channel: type[GroupedGeometry], most: int) -> Metric:
    """Return a question whose reports have a certain channel, at full size."""
    kind = Text("abcdefgh", 4, max_items=most, cells=2**12)
    prime, dimension, points = geometry_for(ODDS, kind.cells, most)
    weights = tuple(group.weight for group in kind.groups(points))
    return replace(toy(), kind=kind, channel=channel.within(request("1"), prime, dimension, weights, most))


@pytest.mark.parametrize(("most", "mutants"), [(2, (OneTextOnly, DummiesAsTheyAre)), (5, ())])
def test_an_exact_audit_accepts_reports_of_lists_and_refuses_wrong_ones(
    most: int, mutants: Sequence[type[GroupedGeometry]]
) -> None:
    right = text_proof(metric_of_lists(GroupedGeometry, most), RequestedLoss(ODDS), lambda _: None)
    assert not right.is_refused
    assert right.inputs == len(text_answers(metric_of_lists(GroupedGeometry, most))) > len(TEXTS) / 2
    for wrong in mutants:
        assert text_proof(metric_of_lists(wrong, most), RequestedLoss(ODDS), lambda _: None).is_refused


@pytest.mark.parametrize(
    ("epsilon", "drawn", "most"),
    [("1", 2, "1.01"), ("2", 2, "1.01"), ("4", 2, "1.10"), ("1", 3, "1.03"), ("2", 3, "1.04"), ("4", 3, "1.05")],
)
def test_the_variance_is_near_that_of_the_best_blocks(epsilon: str, drawn: int, most: str) -> None:
    odds = request(epsilon).odds
    geometry = geometry_for(odds, 2**17, drawn)
    variance = PairBlocks(geometry.prime, geometry.dimension, drawn).rare_variance(odds)
    assert 1 <= float(variance) / least_variance(drawn, float(odds)) <= float(most)


def least_variance(drawn: int, odds: float) -> float:
    """Return the least n times variance of a rare text over random blocks, as in PrivSet.

    There are so many cells that they are in a block independently of each other.
    """

    def variance(share: float) -> float:
        hit = 1 - (1 - share) ** drawn
        own, other = odds * share / (1 + (odds - 1) * hit), share
        return other * (1 - other) / (own - other) ** 2

    return min(variance(10 ** (-step / 100)) for step in range(20, 500))


def test_the_support_of_lists_leaves_out_the_dummies() -> None:
    law: CellSupport = cell_support(grouped(3, 3, 3))
    assert (law.points, law.cells, law.dummies, law.supported) == (13, 10, 3, comb(4, 1))
