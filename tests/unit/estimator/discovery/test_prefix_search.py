"""The search keeps what all levels together support.

No later group has a say in what is a candidate.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np
import pytest

from client_sdk.protocol.mechanisms.grouped_geometry import CONFIRMING
from client_sdk.protocol.text import Text
from estimator.discovery.power import least_sums
from estimator.discovery.prefix_search import CANDIDATES, RISK, SURVIVORS, GroupTables, candidates_of, risks_of
from estimator.discovery.texts import discover
from tests.support.estimates.texts import drawn_tables, text_metric

METRIC = text_metric(cells=2**14)
PEOPLE = {"the": 60_000, "": 40_000}
WORD = "zebras"


def domain() -> Text:
    assert isinstance(METRIC.kind, Text)
    return METRIC.kind


def with_support(tables: GroupTables, deviations: list[float]) -> GroupTables:
    """Return tables where a word stands out in the first groups by `deviations` standard errors."""
    cells, supported = domain().cells_of(domain().number_of(WORD), tables.law.points), tables.supported.copy()
    for place, deviation in enumerate(deviations):
        expected = tables.reports[place] * tables.law.by_chance
        supported[place, cells[place]] = round(expected + deviation * (expected * (1 - tables.law.by_chance)) ** 0.5)
    return replace(tables, supported=supported)


def needed() -> int:
    """Return the levels that the word needs."""
    whole = (len(WORD) + 1) * domain().letter_bits
    sizes = [group.bits for group in domain().groups(METRIC.channel.inputs)]
    return next(place for place, bits in enumerate(sizes) if bits >= whole) + 1


@pytest.mark.slow
@pytest.mark.parametrize("weak", range(1, 5))
def test_a_text_that_falls_behind_at_one_level_is_still_found(weak: int) -> None:
    deviations = [6.0] * needed()
    deviations[weak] = 1.5
    for seed in range(5):
        candidates = candidates_of(domain(), with_support(drawn_tables(METRIC, PEOPLE, seed), deviations))
        assert domain().number_of(WORD) in {each.number for each in candidates}


def test_a_text_that_no_level_supports_is_no_candidate() -> None:
    for seed in range(5):
        candidates = candidates_of(domain(), with_support(drawn_tables(METRIC, PEOPLE, seed), [0.0] * needed()))
        assert domain().number_of(WORD) not in {each.number for each in candidates}


@pytest.mark.slow
def test_later_groups_change_neither_candidates_nor_their_risks() -> None:
    tables = drawn_tables(METRIC, PEOPLE | {"zebra": 3000, "congratulations": 3000}, 1)
    levels = len(tables.reports) - CONFIRMING
    before = candidates_of(domain(), tables)
    for level in range(levels):
        supported = tables.supported.copy()
        supported[level:] = np.random.default_rng(level).permutation(supported[level:], axis=1)
        after = candidates_of(domain(), replace(tables, supported=supported))
        assert [each for each in after if each.found_by <= level] == [each for each in before if each.found_by <= level]


def test_the_risks_of_a_list_are_at_most_half_of_five_percent() -> None:
    assert pytest.approx(0.025) == RISK
    for tables in (drawn_tables(METRIC, PEOPLE, 1), drawn_tables(METRIC, {"": 10}, 1)):
        candidates = candidates_of(domain(), tables)
        assert 0 < sum(each.risk for each in candidates) <= RISK
        for level in range(1, len(tables.reports)):
            risks = [each.risk for each in candidates if each.found_by == level]
            assert risks == sorted(risks, reverse=True)
            assert len(risks) <= CANDIDATES


def test_the_last_level_has_half_of_the_risk() -> None:
    assert sum(risks_of(5, 1)) == pytest.approx(RISK / 2)
    assert sum(risks_of(5, 3)) == pytest.approx(RISK / 8)
    assert risks_of(0, 1) == []


def test_as_many_prefixes_reach_the_bar_of_a_level_by_chance_as_survive() -> None:
    drawn = np.random.default_rng(1).normal(size=(2, 2**20)).cumsum(axis=0)
    sums = least_sums([20, 20])
    assert least_sums([4]) == [-inf]
    for row, least in zip(drawn, sums, strict=True):
        assert abs((row > least).sum() - SURVIVORS) < 5 * SURVIVORS**0.5


def test_a_text_of_all_levels_is_not_lost_among_the_continuations_of_a_very_common_one() -> None:
    """With evidence that only adds up, all survivors would begin like the common text."""
    tables = with_support(
        drawn_tables(METRIC, {"the": 10_000_000}, 1), [7.0] * len(domain().groups(METRIC.channel.inputs))
    )
    assert set(discover(domain(), tables).shares.labels) == {"the", WORD}
