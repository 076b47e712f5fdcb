"""Definitions that name delta, utility or a mechanism: every mistake is named by metric and key."""

from __future__ import annotations

import pytest

from client_sdk.protocol.mechanisms.exponential import Exponential
from client_sdk.protocol.mechanisms.gaussian import Gaussian
from tests.support.core.tables import for_each
from tests.support.devices.definitions import (
    BOOLEAN,
    CATEGORY,
    COUNT,
    CROSS,
    GAUSSIAN,
    NUMBER,
    ORDINAL,
    SET,
    USEFUL,
    UTILITY,
    Field,
    Toml,
    mistakes,
    parsed,
    without,
)


def test_delta_and_utility_reach_the_channel() -> None:
    gaussian, useful = parsed(m=GAUSSIAN)["m"], parsed(m=USEFUL)["m"]
    assert isinstance(gaussian.channel, Gaussian)
    assert 0 < gaussian.delta == gaussian.channel.delta <= 1e-6
    assert isinstance(useful.channel, Exponential)
    assert useful.delta == 0
    assert useful.channel != parsed(m=ORDINAL)["m"].channel
    assert parsed(m=ORDINAL | {"utility": UTILITY})["m"].channel == useful.channel


@for_each("delta", ["0", "-1e-6", "0.9999e-10", "0.0101", "1", "nan", "inf", '"1e-6"', "true", "1e-999999999"])
def test_delta_is_from_1e_10_to_a_hundredth(delta: str) -> None:
    """The error may also say that the mechanism then lacks its delta."""
    reported = mistakes(m=GAUSSIAN | {"delta": Toml(delta)})
    assert set(reported) - {"metric.m.mechanism"} == {"metric.m.delta"}
    assert reported["metric.m.delta"].startswith("must be ")


def test_the_ends_of_delta_are_sound() -> None:
    for delta in ("1e-10", "0.01"):
        assert parsed(m=GAUSSIAN | {"delta": Toml(delta), "epsilon": 8})["m"].delta <= float(delta)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (without(GAUSSIAN, "delta"), "'gaussian' needs delta"),
        (GAUSSIAN | {"statistic": "distribution"}, "can only estimate the mean"),
        (GAUSSIAN | {"epsilon": 0.001}, "too large for a tally; raise epsilon or delta"),
        (NUMBER | {"delta": Toml("1e-6")}, "'optimal-mean' has no delta; remove it"),
        (NUMBER | {"delta": Toml("1e-6"), "mechanism": "laplace"}, "'laplace' has no delta"),
        (BOOLEAN | {"delta": Toml("1e-6")}, "'randomized-response' has no delta"),
        (CATEGORY | {"delta": Toml("1e-6")}, "'k-ary-randomized-response' has no delta"),
        (CATEGORY | {"utility": UTILITY}, "has no utility; remove it, or use 'exponential'"),
        (CATEGORY | {"mechanism": "exponential"}, "needs utility = [[…], …] for a category, which has no order"),
        (USEFUL | {"utility": Toml("[[1, 1, 1], [1, 1, 1], [1, 1, 1]]")}, "the same for all values; make them differ"),
        (USEFUL | {"utility": Toml("[[1, 2, 3], [2, 3, 4], [3, 2, 1]]")}, "a mixture of others; make them differ"),
        (ORDINAL | {"values": [f"v{index}" for index in range(65)]}, "supports at most 64 values, not 65"),
        (SET | {"mechanism": "exponential"}, "'exponential' does not support a set; use one that does: k-ary"),
        (COUNT | {"mechanism": "one-bit"}, "can only estimate the mean"),
        (
            NUMBER | {"mechanism": "laplace", "permanent_epsilon": 5},
            "it is for: randomized-response, k-ary-randomized-response, cyclic-design, projective-geometry, one-bit, ",
        ),
        (COUNT | {"statistic": "mean", "mechanism": "cyclic-design"}, 'use statistic = "distribution"'),
        (COUNT | {"max": 10**6, "mechanism": "cyclic-design"}, "has 1000001 shares; at most"),
    ],
    ids=str,
)
def test_what_a_mechanism_lacks_or_cannot_do_is_said_of_the_mechanism(fields: dict[str, Field], said: str) -> None:
    reported = mistakes(m=fields)
    assert list(reported) == ["metric.m.mechanism"]
    assert said in reported["metric.m.mechanism"]


WRONG_UTILITIES = [
    *("3", '"useful"', "[]", "[1, 2, 3]", "[[], [], []]", "[[0, 1, 2], [1, 0, 2]]"),
    *("[[0, 1, 2], [1, 0, 2], [2, 1, 0], [2, 2, 2]]", "[[0, 1, 2], [1, 0], [2, 1, 0]]"),
    *("[[0, 1, 2], [1, 0, 2, 3], [2, 1, 0]]", '[[0, 1, 2], [1, 0, "2"], [2, 1, 0]]'),
    *("[[0, 1, 2], [1, 0, true], [2, 1, 0]]", "[[0, 1, 2], [1, 0, nan], [2, 1, 0]]"),
    *("[[0, 1, 2], [1, 0, -inf], [2, 1, 0]]", "[[0, 1, 2], [1, 0, 1e-999999], [2, 1, 0]]"),
    *("[[0, 1, 2], [1, 0, 1e999999999], [2, 1, 0]]", f"[[0, 1, 2], [1, 0, 0x1{'0' * 400}], [2, 1, 0]]"),
]


@for_each("utility", WRONG_UTILITIES)
@for_each("base", [USEFUL, ORDINAL, CATEGORY])
def test_a_utility_of_another_shape_or_of_immoderate_numbers_is_named(base: dict[str, Field], utility: str) -> None:
    """The error may also say that the mechanism then lacks its utility."""
    reported = mistakes(m=base | {"utility": Toml(utility)})
    assert set(reported) - {"metric.m.mechanism"} == {"metric.m.utility"}
    expected = "must have 3 rows, one per true value, with 3 numbers each, one per reported value"
    assert reported["metric.m.utility"] == expected


def test_a_utility_is_for_values_only_and_not_read_where_the_values_are_mistaken() -> None:
    for fields in (BOOLEAN, NUMBER, COUNT, SET):
        reported = mistakes(m=fields | {"utility": UTILITY})
        assert reported == {"metric.m.utility": "is only for the values of a category or an ordinal; remove it"}
    assert list(mistakes(m=CROSS | {"utility": UTILITY}, dark_mode=BOOLEAN, os=CATEGORY)) == ["metric.m.utility"]
    assert list(mistakes(m=USEFUL | {"values": ["a", "a"]})) == ["metric.m.values"]
