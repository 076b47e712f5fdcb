"""The properties of the report of a text, and named wrong ways to make one, all checked by the same
code. Texts of a toy alphabet are all enumerated. The cells are those of a second implementation,
from the documentation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from hashlib import sha256, shake_256
from itertools import product

from client_sdk.protocol import Coins, Metric, WindowKind
from client_sdk.protocol.mechanisms.grouped_geometry import GroupedGeometry
from client_sdk.protocol.mechanisms.projective_geometry import ProjectiveGeometry
from client_sdk.protocol.text import Text
from tests.support.laws.bands import request
from tests.support.laws.coins import Law, walk

Report = Callable[[Metric, object, Coins], int]
"""How an answer becomes a symbol."""

PRIME, DIMENSION, CELLS = 3, 3, 13
LETTERS, LENGTH = "ab", 3
TEXTS = ["".join(letters) for size in range(LENGTH + 1) for letters in product(LETTERS, repeat=size)]


@cache
def toy(*, discover: bool = True, max_items: int = 1) -> Metric:
    """Return a question about texts of two letters, whose two levels receive 3 and 6 bits."""
    domain = Text(LETTERS, LENGTH, discover=discover, max_items=max_items)
    weights = tuple(group.weight for group in domain.groups(CELLS))
    channel = GroupedGeometry.within(request("1"), PRIME, DIMENSION, weights, max_items)
    return Metric("m", "Why?", domain, channel, WindowKind.DAY)


def reference_cell(text: str, bits: int, group: int) -> int:
    """Return the cell of a toy text in a group, from its first bits as text."""
    written = "".join(format(LETTERS.index(letter) + 1, "02b") for letter in text).ljust(2 * LENGTH, "0")
    seed = b"hearsay text 1" + sha256(LETTERS.encode()).digest() + bytes([0, LENGTH, group])
    words = shake_256(seed).digest(8)
    summand, multiplier = (int.from_bytes(word, "big") % 2**31 for word in (words[:4], words[4:]))
    return (summand + int(written[:bits], 2) * multiplier) % (2**31 - 1) % CELLS


@dataclass(frozen=True)
class TextSubject:
    """A way to report a text under test.

    Attributes:
        metric: asks for it.
        report: the way.

    """

    metric: Metric
    report: Report

    @property
    def channel(self) -> GroupedGeometry:
        assert isinstance(self.metric.channel, GroupedGeometry)
        return self.metric.channel

    def law(self, text: str) -> dict[int, Fraction]:
        law = _walked(self, text).chances
        return {symbol: law.get(symbol, Fraction(0)) for symbol in range(self.channel.symbols)} | law


def geometry_of(channel: GroupedGeometry) -> ProjectiveGeometry:
    """Return the geometry of a channel for single texts."""
    assert isinstance(channel.geometry, ProjectiveGeometry)
    return channel.geometry


TextCheck = Callable[[TextSubject], None]


@cache
def _walked(subject: TextSubject, text: str) -> Law[int]:
    return walk(partial(subject.report, subject.metric, text))


def law_is_that_of_a_geometry_in_each_group(subject: TextSubject) -> None:
    """Groups come with their weights; within a group the cell goes through the geometry."""
    channel, domain = subject.channel, subject.metric.kind
    assert isinstance(domain, Text)
    sizes = [(3, 8), (6, 8), (6, 6), (6, 6)] if domain.discover else [(6, 1), (6, 1)]
    total = sum(weight for _, weight in sizes)
    for text in TEXTS:
        cells = [reference_cell(text, bits, group) for group, (bits, _) in enumerate(sizes)]
        assert subject.law(text) == {
            group * CELLS + point: Fraction(weight, total) * geometry_of(channel).probability(point, cells[group])
            for group, (_, weight) in enumerate(sizes)
            for point in range(CELLS)
        }


def epsilon_is_that_of_the_channel(subject: TextSubject) -> None:
    """No two texts of any length differ by more than the channel's epsilon; some differ by that."""
    ratio = subject.channel.worst_ratio
    laws = [subject.law(text) for text in TEXTS]
    columns = [[law[symbol] for law in laws] for symbol in range(subject.channel.symbols)]
    assert all(max(column) <= ratio * min(column) for column in columns)
    assert any(max(column) == ratio * min(column) for column in columns)


def every_text_takes_the_same_coins(subject: TextSubject) -> None:
    assert len(set().union(*(_walked(subject, text).lengths for text in TEXTS))) == 1


TEXT_CHECKS: list[TextCheck] = [
    law_is_that_of_a_geometry_in_each_group,
    epsilon_is_that_of_the_channel,
    every_text_takes_the_same_coins,
]


def right_report(metric: Metric, answer: object, coins: Coins) -> int:
    return metric.perturb(answer, coins)


def _cells(metric: Metric, answer: object, coins: Coins) -> tuple[GroupedGeometry, tuple[int, ...]]:
    assert isinstance(metric.channel, GroupedGeometry)
    return metric.channel, metric.encode(answer, coins)


def _group_by_length(metric: Metric, answer: object, coins: Coins) -> int:
    """Draw a group, but take the level that a short text needs."""
    channel, cells = _cells(metric, answer, coins)
    group = coins.below(len(cells)) if len(str(answer)) > 1 else 0
    return group * channel.inputs + geometry_of(channel).perturb(cells[group], coins)


def _only_levels_that_receive_more(metric: Metric, answer: object, coins: Coins) -> int:
    """Never report about letters after the end."""
    channel, cells = _cells(metric, answer, coins)
    weights = channel.weights if len(str(answer)) > 1 else (channel.weights[0] + channel.weights[1], 0, 6, 6)
    return replace(channel, weights=weights).perturb(cells, coins)


def _equal_groups(metric: Metric, answer: object, coins: Coins) -> int:
    channel, cells = _cells(metric, answer, coins)
    return replace(channel, weights=(1,) * len(cells)).perturb(cells, coins)


def _one_hash_for_all(metric: Metric, answer: object, coins: Coins) -> int:
    """Use a confirming group's cell at the last level: whatever shares it is always confirmed."""
    channel, cells = _cells(metric, answer, coins)
    return channel.perturb((*cells[:-3], cells[-1], *cells[-2:]), coins)


def _one_cell_for_all_groups(metric: Metric, answer: object, coins: Coins) -> int:
    channel, cells = _cells(metric, answer, coins)
    return channel.perturb((cells[-1],) * len(cells), coins)


class _LyingAnywhere(ProjectiveGeometry):
    """A geometry whose lie may be any point, also one that supports the truth."""

    def perturb(self, value: int, coins: Coins) -> int:
        keep = coins.bernoulli(self.keep_numerator)
        kept, lie = coins.below(self.orthogonal), coins.below(self.symbols)
        return [*_supporters(self, value), *range(self.symbols)][kept] if keep else lie


@cache
def _supporters(geometry: ProjectiveGeometry, value: int) -> list[int]:
    """Return the points that support a value; thousands of paths need those of a few values."""
    points = range(geometry.symbols)
    return [point for point in points if geometry.probability(point, value) * geometry.orthogonal * 2 > 1]


class _NoLie(ProjectiveGeometry):
    """A geometry whose lie reaches no point beyond the first ones."""

    def perturb(self, value: int, coins: Coins) -> int:
        symbol = ProjectiveGeometry.perturb(self, value, coins)
        return min(symbol, self.symbols - 2)


def _with(kind: type[ProjectiveGeometry], metric: Metric, answer: object, coins: Coins) -> int:
    channel, cells = _cells(metric, answer, coins)
    right = geometry_of(channel)
    wrong = kind(right.inputs, right.prime, right.dimension, right.keep_numerator)
    return replace(channel, geometry=wrong).perturb(cells, coins)


def _no_coins_for_the_empty_text(metric: Metric, answer: object, coins: Coins) -> int:
    return metric.perturb(answer, coins) if answer else 0


def _end_is_no_code(metric: Metric, answer: object, coins: Coins) -> int:
    """Pad with the first letter, so that a text and its continuation look alike."""
    return metric.perturb(str(answer).ljust(LENGTH, LETTERS[0]), coins)


TEXT_MUTANTS: dict[str, Report] = {
    "the group by the length": _group_by_length,
    "only levels that hear more": _only_levels_that_receive_more,
    "equal groups": _equal_groups,
    "one hash for a level and a confirmation": _one_hash_for_all,
    "one cell for all groups": _one_cell_for_all_groups,
    "a lie that may be true": partial(_with, _LyingAnywhere),
    "a lie that misses a point": partial(_with, _NoLie),
    "no coins for the empty text": _no_coins_for_the_empty_text,
    "no end": _end_is_no_code,
}
"""Wrong ways to report a text."""
