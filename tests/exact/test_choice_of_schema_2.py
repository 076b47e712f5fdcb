"""What ``auto`` chooses for shares in schema 2.

A golden table, and what may replace the least variance.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from client_sdk.protocol import Category, Count, Cross, Domain, Ordinal, Registry, Subset
from client_sdk.protocol.epsilon import RequestedEpsilon
from client_sdk.protocol.exact import exp_floor
from client_sdk.protocol.mechanisms import auto, auto_of_schema_2, channel_for
from tests.support.devices.definitions import CATEGORY, registry_text
from tests.support.vectors import vectors

GOLDEN: dict[str, Any] = vectors("auto_of_schema_2")


def requested(text: str) -> RequestedEpsilon:
    return RequestedEpsilon.parse(text if text.startswith("ln") else Decimal(text))


@pytest.mark.parametrize("inputs", sorted({row[0] for row in GOLDEN["category"]}))
def test_the_choice_never_changes(inputs: int) -> None:
    for _, epsilon, mechanism in (row for row in GOLDEN["category"] if row[0] == inputs):
        assert auto_of_schema_2.category_mechanism(inputs, requested(epsilon).odds) == mechanism, epsilon


VALUES = tuple(f"v{index}" for index in range(24))


@pytest.mark.parametrize(
    "domain",
    [
        Category(VALUES),
        Ordinal(VALUES),
        Subset(VALUES[:23], 3),
        Cross(Category(VALUES[:4]), Category(VALUES[:6])),
        Count.up_to(23, "distribution"),
    ],
    ids=lambda domain: str(domain.kind),
)
def test_everything_with_24_shares_gets_the_balanced_design_that_its_name_gives(domain: Domain) -> None:
    epsilon = requested("1")
    channel = channel_for(domain, epsilon, schema=2)
    assert channel.name == "balanced-design"
    assert channel == channel_for(domain, epsilon, "balanced-design")
    assert channel_for(domain, epsilon, schema=1).name == "cyclic-design"


def test_what_is_chosen_has_the_fewest_symbols_of_all_that_are_good_enough() -> None:
    for inputs in (12, 29, 64, 100):
        for epsilon in (Fraction(1, 10), Fraction(1), Fraction(3)):
            odds = exp_floor(epsilon)
            names = {candidate.name: candidate for candidate in auto.by_name(inputs, odds)}
            chosen = auto_of_schema_2.category_mechanism(inputs, odds)
            size = auto.best_subset_size(inputs, odds)
            worst = auto.subset_variance(inputs, size, odds) * auto_of_schema_2.GOOD_ENOUGH
            if chosen in names:
                assert names[chosen].variance <= worst * (1 + Fraction(1, 1000))
            smaller = [each for each in names.values() if each.variance <= worst]
            built = channel_for(Category(tuple(map(str, range(inputs)))), requested(str(float(epsilon))), chosen)
            assert all(built.symbols <= each.symbols for each in smaller)


def test_a_registry_of_schema_2_reports_by_a_balanced_design() -> None:
    text = registry_text(os=CATEGORY | {"values": list(VALUES), "epsilon": 1})
    first, second = (Registry.parse(text.replace("schema = 1", f"schema = {each}")).metrics["os"] for each in (1, 2))
    assert (first.channel.name, second.channel.name) == ("cyclic-design", "balanced-design")
    assert first.edition != second.edition
