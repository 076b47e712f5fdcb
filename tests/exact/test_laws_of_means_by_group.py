"""A number by group: the whole channel from every pair to the symbol, by enumerating all coins."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import pytest

from client_sdk.protocol import Metric, WindowKind
from client_sdk.protocol.kinds.boolean import Boolean
from client_sdk.protocol.kinds.category import Category
from client_sdk.protocol.kinds.cross import MAX_CELLS, Crossed, MeanByGroup
from client_sdk.protocol.kinds.number import Count, Number
from client_sdk.protocol.kinds.ordinal import Ordinal
from client_sdk.protocol.mechanisms import channel_for
from tests.support.laws.bands import request
from tests.support.laws.coins import exact_law
from tests.support.laws.group_mean_checks import (
    GROUP_MEAN_CHECKS,
    GROUP_MEAN_MUTANTS,
    GroupMeanCheck,
    GroupMeanSubject,
    right_report,
)
from tests.support.laws.law_checks import refuses
from tests.support.laws.metrics_of_means import RANGE, by_group

GROUPS: dict[str, tuple[Crossed, int]] = {
    "yes or no at two ends": (Boolean(), 2),
    "three values at two ends": (Category(("a", "b", "c")), 2),
    "a scale at three points": (Ordinal(("low", "mid", "high")), 3),
    "yes or no at five points": (Boolean(), 5),
}


@pytest.mark.parametrize("check", GROUP_MEAN_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize(
    ("name", "mechanism"),
    [*((name, "k-ary-randomized-response") for name in GROUPS), ("yes or no at two ends", "cyclic-design")],
)
def test_a_report_of_a_number_by_group_obeys_every_law(name: str, mechanism: str, check: GroupMeanCheck) -> None:
    check(GroupMeanSubject(by_group(*GROUPS[name], mechanism=mechanism), right_report))


@pytest.mark.parametrize("mutant", GROUP_MEAN_MUTANTS)
def test_every_wrong_report_of_a_number_by_group_is_refused(mutant: str) -> None:
    subject = GroupMeanSubject(by_group(*GROUPS["a scale at three points"]), GROUP_MEAN_MUTANTS[mutant])
    assert any(refuses(partial(check, subject)) for check in GROUP_MEAN_CHECKS)


def test_a_count_by_group_is_a_number_by_group() -> None:
    counted = MeanByGroup(Boolean(), Count(Fraction(9), "mean"), points=3)
    channel = channel_for(counted, request("1"), "k-ary-randomized-response")
    of_count = Metric("m", "Why?", counted, channel, WindowKind.DAY)
    of_number = by_group(Boolean(), 3)
    for answer in range(10):
        laws = [exact_law(partial(each.perturb, (True, answer))) for each in (of_count, of_number)]
        assert laws[0] == laws[1]


@pytest.mark.parametrize(
    ("groups", "epsilon", "points"),
    [
        *((2, "1", 2), (2, "2", 2), (2, "2.1", 3), (2, "4.2", 5), (2, "6.3", 9), (4, "2.7", 2), (4, "2.8", 3)),
        *((32, "4.8", 2), (32, "4.9", 3), (32, "7", 5), (128, "8", 2), (80, "8", 3), (100, "8", 2), (28, "9", 9)),
    ],
)
def test_the_points_follow_from_epsilon_and_the_number_of_groups(groups: int, epsilon: str, points: int) -> None:
    domain = MeanByGroup(Category(tuple(f"v{place}" for place in range(groups))), RANGE)
    rounded = domain.rounded_for(request(epsilon).odds)
    assert rounded.points == points
    assert rounded.size == groups * points <= MAX_CELLS


def test_the_points_of_a_label_span_the_range() -> None:
    domain = MeanByGroup(Boolean(), RANGE, points=3)
    points = [(group, text) for group in (False, True) for text in ("0", "4.5", "9")]
    assert list(domain.labels) == points
    assert isinstance(domain.second, Number)
