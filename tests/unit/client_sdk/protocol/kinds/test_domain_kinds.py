"""Counts, scales, sets and pairs: what is allowed, refused, and part of the edition."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest

from client_sdk.protocol import Metric
from client_sdk.protocol.errors import DomainError
from client_sdk.protocol.kinds.boolean import Boolean
from client_sdk.protocol.kinds.category import Category
from client_sdk.protocol.kinds.cross import Cross
from client_sdk.protocol.kinds.kind import Kind
from client_sdk.protocol.kinds.number import MAX_COUNT, Count, Number
from client_sdk.protocol.kinds.ordinal import Ordinal
from client_sdk.protocol.kinds.set import Subset
from tests.support.core.tables import for_each
from tests.support.devices.definitions import BOOLEAN, CATEGORY, CROSS, Field, parsed
from tests.support.laws.coins import ScriptedCoins

VISITS = Count(Fraction(10), "mean")
PAIR = Cross(Boolean(), Category(("a", "b", "c")))


def crossed(first: dict[str, Field], second: dict[str, Field], **changes: Field) -> Metric:
    return parsed(first=first, second=second, m=CROSS | {"cross": ["first", "second"]} | changes)["m"]


@pytest.mark.parametrize(("answer", "point"), [(0, 0), (10, 10), (3, 3), (7, 7)])
def test_a_count_takes_whole_numbers_from_0_to_its_greatest(answer: int, point: int) -> None:
    assert VISITS.encode(answer, 11, ScriptedCoins([answer == 10])) == point


@for_each(
    "answer",
    [
        *(True, False, 1.0, 0.0, Decimal(1), Fraction(1), "1", b"1", None, [1], 1 + 0j, object()),
        *(-0.5, 10.5, 1e300, Decimal(11), float("nan"), Decimal("nan")),
    ],
)
def test_what_is_no_whole_number_is_refused_of_a_count_at_once(answer: object) -> None:
    for count in (VISITS, Count(Fraction(10), "distribution"), Count(Fraction(10), "mean", clip=False)):
        with pytest.raises(DomainError) as caught:
            count.encode(answer, 11, ScriptedCoins([]))
        assert caught.value.args == ()


@pytest.mark.parametrize(("low", "high"), [(-1, 11), (-(10**400), 10**400), (float("-inf"), float("inf"))], ids=str)
def test_a_count_beyond_an_end_is_that_end_unless_it_is_not_to_be_clipped(low: float, high: float) -> None:
    for answer, end in ((low, 0), (high, 10)):
        with ScriptedCoins([end == 10]) as coins:
            assert VISITS.encode(answer, 11, coins) == end
        with pytest.raises(DomainError):
            Count(Fraction(10), "mean", clip=False).encode(answer, 11, ScriptedCoins([]))


def test_the_greatest_count_is_distinguished_from_the_one_before_it() -> None:
    count = Count(Fraction(MAX_COUNT), "mean")
    with ScriptedCoins([True]) as coins:
        assert count.encode(MAX_COUNT, 2, coins) == 1
    with ScriptedCoins([False]) as coins:
        assert count.encode(MAX_COUNT - 1, 2, coins) == 0
    with ScriptedCoins([True]) as coins:
        assert count.encode(MAX_COUNT + 1, 2, coins) == 1


def test_a_scale_takes_its_steps_and_nothing_else() -> None:
    scale = Ordinal(("low", "mid", "high"))
    assert [scale.encode(step, 3, ScriptedCoins([])) for step in scale.labels] == [0, 1, 2]
    for answer in ("Low", "", 0, 1, None, True, ["low"]):
        with pytest.raises(DomainError):
            scale.encode(answer, 3, ScriptedCoins([]))


@for_each(
    "answer",
    [
        *((), (True,), (True, "a", "b"), ("a", True), (True, "d"), (1, "a"), (True, 0), (None, None), [True, ["a"]]),
        *("ab", b"ab", {True, "a"}, {True: "a", False: "b"}, iter((True, "a")), None, True, 3, object()),
    ],
)
def test_what_is_no_pair_of_the_two_domains_is_refused(answer: object) -> None:
    with pytest.raises(DomainError):
        PAIR.encode(answer, 6, ScriptedCoins([]))


def test_what_is_expected_is_said_in_words() -> None:
    assert Boolean().expected == "True or False"
    assert Category(("a", "b")).expected == "one of 'a', 'b'"
    assert Category(tuple("abcdef")).expected == "one of 'a', 'b', 'c', 'd', 'e', 'f'"
    assert "(9 values)" in Category(tuple("abcdefghi")).expected
    assert Number(Fraction(0), Fraction(10), "mean").expected == "a finite number from 0 to 10"
    assert VISITS.expected == "a whole number from 0 to 10"
    assert Count(Fraction(MAX_COUNT), "mean").expected == "a whole number from 0 to 1000000000000000"
    assert Ordinal(("low", "high")).expected == "one of 'low', 'high'"
    assert Subset(("a", "b"), 1).expected == "a set, list or tuple with at most 1 of 'a', 'b', each only once"
    assert PAIR.expected == "a pair: first True or False, then one of 'a', 'b', 'c'"


@pytest.mark.parametrize(
    ("domain", "kind", "definition"),
    [
        (VISITS, "count", {"max": 10, "statistic": "mean"}),
        (Ordinal(("a", "b")), "ordinal", {"values": ["a", "b"]}),
        (Subset(("a", "b"), 2), "set", {"values": ["a", "b"], "max_items": 2}),
        (PAIR, "cross", {"cross": [{"kind": "boolean"}, {"kind": "category", "values": ["a", "b", "c"]}]}),
    ],
    ids=str,
)
def test_the_definition_is_what_the_edition_has_of_a_domain(domain: Kind, kind: str, definition: object) -> None:
    assert domain.name == kind
    assert domain.definition == definition


def test_the_edition_of_a_cross_depends_on_its_domains_and_not_on_the_names_or_laws_of_what_it_crosses() -> None:
    right = crossed(BOOLEAN, CATEGORY)
    assert right.edition == crossed(BOOLEAN | {"epsilon": 2, "window": "week"}, CATEGORY | {"purpose": "x"}).edition
    renamed = parsed(x=BOOLEAN, y=CATEGORY, m=CROSS | {"cross": ["x", "y"]})["m"]
    assert right.edition == renamed.edition
    others = [
        crossed(CATEGORY, BOOLEAN),
        crossed(BOOLEAN, CATEGORY | {"values": ["a", "c", "b"]}),
        crossed(BOOLEAN, CATEGORY | {"kind": "ordinal"}),
        crossed(BOOLEAN, CATEGORY, window="week"),
        parsed(m=CATEGORY | {"values": [f"{a} {b}" for a in (False, True) for b in "abc"]})["m"],
    ]
    assert len({right.edition, *(other.edition for other in others)}) == 1 + len(others)


def test_other_stands_for_every_text_that_is_not_listed_and_for_nothing_else() -> None:
    systems = Category(("linux", "macos", "other"), other="other")
    assert [systems.encode(answer, 3, ScriptedCoins([])) for answer in ("macos", "other", "beos", "")] == [1, 2, 2, 2]
    for answer in (None, 2, b"linux", ["linux"]):
        with pytest.raises(DomainError):
            systems.encode(answer, 3, ScriptedCoins([]))


def test_other_is_part_of_the_edition_and_works_in_pairs_and_where_nothing_was_recorded() -> None:
    plain, other = CATEGORY, CATEGORY | {"other": "c"}
    assert len({parsed(m=fields)["m"].edition for fields in (plain, other, CATEGORY | {"other": "b"})}) == 3
    pair = crossed(BOOLEAN, other)
    assert pair.encode((True, "new"), ScriptedCoins([])) == pair.encode((True, "c"), ScriptedCoins([]))
    filled = parsed(m=other | {"fill_in": True})["m"]
    assert filled.encode("new", ScriptedCoins([])) == 2
    assert filled.encode(None, ScriptedCoins([])) == 3


def test_a_cell_of_a_count_that_is_no_whole_number_is_refused() -> None:
    assert VISITS.parse("2.0") == 2
    with pytest.raises(DomainError):
        VISITS.parse("2.5")
