"""What ``protects = "pattern"`` keeps within the ceilings, and what it does not: all pairs of short
histories, exactly.

Two histories have one pattern if their answers are equal in the same windows. Such histories are
kept within what is charged. Other histories are not: changing at the same times is not enough,
except for answers of two values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache, partial
from itertools import combinations_with_replacement, product
from typing import TypeVar

import pytest

from client_sdk.protocol import Metric
from client_sdk.protocol.epsilon import NANOS
from client_sdk.protocol.mechanisms.permanent import Permanent
from tests.support.devices.clients import ask
from tests.support.devices.definitions import BOOLEAN, CATEGORY, COUNT, CROSS, NUMBER, Field, parsed
from tests.support.laws.coins import ScriptedCoins, exact_law
from tests.support.laws.histories import (
    History,
    changes,
    law_of_history,
    law_of_numbers,
    likelihood,
    places,
    rounded,
    spoken,
)
from tests.support.laws.permanents import (
    FORGET,
    OFFSETS,
    GridOffsets,
    Law,
    asking,
    channel_of,
    law_of_reports,
    law_through_the_ledger,
    reports_of,
    worst_ratio,
)
from tests.support.laws.series import ln_bounds

Key = TypeVar("Key")
Pattern = TypeVar("Pattern", bound=tuple[object, ...])

A, B, C = range(3)

PATTERN = 'protects = "pattern"\nmax_values = {}'

CASES = [
    (values, windows, max_values) for values, windows in [(2, 5), (3, 4), (4, 3)] for max_values in range(1, values + 1)
]
"""Values, windows, and how many different answers are paid for."""

REPEATED = 6
"""How often two short histories are repeated: then what is not protected exceeds every ceiling of
these tests.
"""


def pattern_metric(values: int, max_values: int, epsilon: str = "0.9", permanent: str = "1") -> Metric:
    more = PATTERN.format(max_values)
    return asking(values, epsilon=epsilon, permanent=permanent, more=more).metric("m")


@cache
def laws(values: int, windows: int, max_values: int) -> dict[tuple[int, ...], Law]:
    channel = channel_of(pattern_metric(values, max_values))
    histories = product(range(values), repeat=windows)
    return {history: law_of_history(channel, history, max_values) for history in histories}


def of_one_pattern(law_of: Mapping[Key, Law], pattern_of: Callable[[Key], Pattern]) -> dict[Pattern, list[Law]]:
    """Return the laws of the histories of each pattern."""
    alike: dict[Pattern, list[Law]] = {}
    for history, law in law_of.items():
        alike.setdefault(pattern_of(history), []).append(law)
    return alike


def most_of(channel: Permanent, max_values: int) -> Fraction:
    """Return the ratio that what is charged allows: e to max_values times the permanent epsilon."""
    return channel.permanent.worst_ratio**max_values


def steady_ratio(channel: Permanent, pair: tuple[History, History], max_values: int) -> Fraction:
    """Return the largest ratio, in either direction, of reports that are the same wherever both
    places are.
    """
    windows = list(zip(*(places(history, max_values) for history in pair), strict=True))
    groups = list(dict.fromkeys(windows))
    groups_of_windows = [groups.index(window) for window in windows]
    first, second = (spoken(history, max_values) for history in pair)
    ratios = []
    for symbols in product(range(channel.symbols), repeat=len(groups)):
        reports = [symbols[group] for group in groups_of_windows]
        ratios.append(likelihood(channel, first, reports) / likelihood(channel, second, reports))
    return max(*ratios, 1 / min(ratios))


def log_of(ratio: Fraction) -> float:
    """Return ln(ratio); both of its series bounds are the same float."""
    low, high = map(float, ln_bounds(ratio))
    assert low == high
    return low


@pytest.mark.parametrize(("values", "windows"), [(2, 3), (3, 2)])
def test_the_closed_form_is_the_law_of_the_permanent_answers_of_the_sdk(values: int, windows: int) -> None:
    metric = pattern_metric(values, values)
    for history, law in laws(values, windows, values).items():
        assert law == law_of_reports(metric, history)


def test_the_closed_form_is_the_law_of_what_the_ledger_lets_through() -> None:
    """Three different answers where two are paid for, so that the second one stands for the
    third.
    """
    registry = asking(3, epsilon="0.9", permanent="1", more=PATTERN.format(2))
    law = law_through_the_ledger(registry, (A, B, C))
    assert law == laws(3, 3, 2)[A, B, C] != laws(3, 3, 3)[A, B, C]


@pytest.mark.parametrize(("values", "windows", "max_values"), CASES)
def test_all_pairs_of_histories_of_one_pattern_are_kept_within_what_is_charged(
    values: int, windows: int, max_values: int
) -> None:
    channel = channel_of(pattern_metric(values, max_values))
    law_of = laws(values, windows, max_values)
    alike = of_one_pattern(law_of, lambda history: places(history, values))
    assert len(alike) < len(law_of)
    for pattern, laws_of_pattern in alike.items():
        paid = min(len(set(pattern)), max_values)
        assert worst_ratio(*laws_of_pattern) <= most_of(channel, paid)


@pytest.mark.parametrize(("values", "windows", "max_values"), CASES)
def test_no_pair_of_other_histories_is_kept_within_any_ceiling(values: int, windows: int, max_values: int) -> None:
    """The converse: histories that use the paid answers in other windows are told apart in the long
    run.

    Beyond ``max_values`` different answers, patterns that differ only in which other answers are
    equal are kept, too.
    """
    channel = channel_of(pattern_metric(values, max_values))
    distinguished = {
        (pattern, other_pattern): (history * REPEATED, another * REPEATED)
        for history, another in combinations_with_replacement(laws(values, windows, max_values), 2)
        if (pattern := places(history, max_values)) != (other_pattern := places(another, max_values))
    }  # which values they are does not affect when they are equal: one pair for each pair of places
    assert bool(distinguished) == (max_values > 1)
    for pair in distinguished.values():
        assert steady_ratio(channel, pair, max_values) > most_of(channel, max_values)


@pytest.mark.parametrize("values", [2, 3])
def test_where_one_answer_is_paid_for_any_two_histories_are_kept(values: int) -> None:
    """The first answer stands for all."""
    channel = channel_of(pattern_metric(values, 1))
    law_of = laws(values, 4, 1)
    assert worst_ratio(*law_of.values()) <= most_of(channel, 1)


def test_of_two_values_histories_that_change_at_the_same_times_have_one_pattern() -> None:
    for pair in product(product(range(2), repeat=6), repeat=2):
        first, second = pair
        assert (changes(first) == changes(second)) == (places(first, 2) == places(second, 2))


def worst_of_cycles(days: int) -> tuple[Fraction, Fraction]:
    """Return the largest ratio of a, b, c, b, … to a, b, a, b, …, and what three permanent answers
    are charged.
    """
    metric = pattern_metric(3, 3)
    assert metric.reserve_nanos == 3 * NANOS
    histories = [[cycle[day % 4] for day in range(days)] for cycle in ((A, B, C, B), (A, B, A, B))]
    assert changes(histories[0]) == changes(histories[1])
    channel = channel_of(metric)
    first, second = (spoken(history, 3) for history in histories)
    ratios = [
        likelihood(channel, first, reports) / likelihood(channel, second, reports)
        for reports in sorted_reports(channel, *histories)
    ]
    return max(ratios), most_of(channel, 3)


def sorted_reports(channel: Permanent, *histories: Sequence[int]) -> list[list[int]]:
    """Return reports for every count of each symbol where a and c, or a alone, were answered.

    Their order, and what is reported of b, do not affect the ratio. Up to 40 days these are all
    possible counts. Beyond that there are too many, and one symbol stands for each of the two
    answers.
    """
    together = [day for day, values in enumerate(zip(*histories, strict=True)) if values == (A, A)]
    apart = [day for day, values in enumerate(zip(*histories, strict=True)) if values == (C, A)]
    few = len(histories[0]) <= 40
    ways = [
        list(combinations_with_replacement(range(channel.symbols), len(days)))
        if few
        else [(symbol,) * len(days) for symbol in range(channel.symbols)]
        for days in (together, apart)
    ]
    reported = []
    for of_a, of_c in product(*ways):
        symbols = dict(zip(together, of_a, strict=True)) | dict(zip(apart, of_c, strict=True))
        reported.append([symbols.get(day, B) for day in range(len(histories[0]))])
    return reported


@pytest.mark.parametrize(("days", "log_ratio"), [(40, "8.1"), (366, "81.2")])
def test_histories_that_change_at_the_same_times_differ_far_beyond_the_ceiling(days: int, log_ratio: str) -> None:
    """a, b, c, b, … and a, b, a, b, …: a ratio of 21 to 1 was promised for them; the ceiling is
    3.0.
    """
    worst, promised = worst_of_cycles(days)
    assert log_of(promised) <= 3.0
    assert f"{log_of(worst):.1f}" == log_ratio
    channel = channel_of(pattern_metric(3, 3))
    # the bound for any two histories: report by report
    assert worst <= channel.worst_ratio ** len(range(2, days, 4))


def test_the_places_of_reports_make_no_difference_where_they_are_left_out() -> None:
    """Why `sorted_reports` is enough: all reports of six days give no larger ratio."""
    channel = channel_of(pattern_metric(3, 3))
    first, second = (A, B, C, B, A, B), (A, B, A, B, A, B)
    every = product(range(3), repeat=6)
    chosen = sorted_reports(channel, first, second)
    worst_of_all, worst = (
        max(
            likelihood(channel, spoken(first, 3), reports) / likelihood(channel, spoken(second, 3), reports)
            for reports in selection
        )
        for selection in (every, chosen)
    )
    assert worst_of_all == worst


def test_opting_out_and_in_again_pays_for_as_many_answers_once_more() -> None:
    max_values = 2
    registry = asking(2, epsilon="0.9", permanent="1", more=PATTERN.format(max_values))
    channel = channel_of(registry.metric("m"))
    parts = [(0, 0), (0, 1), (1, 0)]
    law_of = {
        (before, after): law_through_the_ledger(registry, [*before, FORGET, *after])
        for before, after in product(parts, repeat=2)
    }
    alike = of_one_pattern(law_of, lambda history: tuple(places(part, max_values) for part in history))
    assert len(alike) < len(law_of)
    for laws_of_pattern in alike.values():
        assert worst_ratio(*laws_of_pattern) <= most_of(channel, 2 * max_values)


def test_more_values_that_are_declared_later_are_charged_and_keep_what_has_one_pattern() -> None:
    few, more = (asking(2, epsilon="0.9", permanent="1", more=PATTERN.format(values)) for values in (1, 2))
    channel = channel_of(few.metric("m"))
    law_of = {history: law_through_the_ledger(few, history, later={2: more}) for history in product(range(2), repeat=4)}
    for laws_of_pattern in of_one_pattern(law_of, lambda history: places(history, 2)).values():
        assert worst_ratio(*laws_of_pattern) <= most_of(channel, 2)


PERMANENT: dict[str, Field] = {"permanent_epsilon": 1, "protects": "pattern", "max_values": 2}

METRICS = parsed(
    dark_mode=BOOLEAN | PERMANENT,
    os=CATEGORY | PERMANENT,
    mood=CATEGORY | PERMANENT | {"kind": "ordinal"},
    both=CROSS | PERMANENT,
    crashes=COUNT | PERMANENT,
    taps=COUNT | PERMANENT | {"statistic": "mean"},
    size=NUMBER | PERMANENT,
    alone=CATEGORY | {"permanent_epsilon": 1, "protects": "history"},
)


def test_of_every_kind_but_numbers_and_means_each_answer_has_an_input_of_its_own() -> None:
    """Then histories of answers have one pattern exactly if their inputs do; otherwise a coin
    matters, too.
    """
    assert [name for name, metric in METRICS.items() if not metric.keeps_patterns] == ["taps", "size", "alone"]
    for metric in METRICS.values():
        if metric.keeps_patterns:
            inputs = [metric.encode(label, CertainCoins([])) for label in metric.domain.labels]
            assert inputs == list(range(channel_of(metric).inputs))


class CertainCoins(ScriptedCoins):
    """Coins that fail if more than one outcome is possible."""

    def bernoulli(self, numerator: int) -> bool:
        assert numerator in (0, 2**64)
        return numerator > 0


def speed(max_values: int = 2) -> Metric:
    table = '[metric.m]\nkind = "number"\nlow = 0\nhigh = 1\nstatistic = "mean"\nepsilon = 0.9\npermanent_epsilon = 1\n'
    return ask(table + PATTERN.format(max_values)).metric("m")


GRID = [Fraction(place, OFFSETS) for place in (0, 8, 9, OFFSETS)]
"""Both ends, and two numbers that are nearly equal."""


def test_the_closed_form_of_numbers_is_the_law_of_the_sdk() -> None:
    metric = speed()
    for history in product(GRID, repeat=2):
        law = exact_law(partial(reports_of, metric, history, function=GridOffsets))
        assert law == law_of_numbers(metric, channel_of(metric), history)


def test_a_number_that_never_changes_is_kept_within_one_permanent_epsilon() -> None:
    metric = speed()
    channel = channel_of(metric)
    law_of = [law_of_numbers(metric, channel, [number] * 4) for number in GRID]
    assert worst_ratio(*law_of) <= most_of(channel, 1)


def test_numbers_of_one_pattern_differ_far_beyond_the_ceiling() -> None:
    """0.5, 0.5000001, … and 0, 1, …: the first are nearly always rounded to one end, the others
    never.
    """
    metric, days = speed(), 40
    channel = channel_of(metric)
    near = (Fraction(1, 2), Fraction(1, 2) + Fraction(1, 10**7))
    reports = [day % 2 for day in range(days)]
    chances = [
        sum(
            (
                weight * likelihood(channel, spoken(ends * (days // 2), 2), reports)
                for weight, ends in rounded(metric, pair)
            ),
            Fraction(0),
        )
        for pair in ((Fraction(0), Fraction(1)), near)
    ]
    assert log_of(chances[0] / chances[1]) > 2 * log_of(most_of(channel, 2))
