"""Permanent answers inverted: exact where symbols name values, and to the last bits of a float
elsewhere.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from client_sdk.protocol.kinds.category import Category
from client_sdk.protocol.kinds.number import Number
from client_sdk.protocol.mechanisms import channel_for
from client_sdk.protocol.mechanisms.permanent import Permanent
from client_sdk.protocol.requested_epsilon import RequestedEpsilon
from estimator.decoders.inversions import inverse_of
from estimator.decoders.support import Support

ROUNDINGS = 2**10
"""The relative error of a float sum of some dozens of terms, each at most some hundreds."""


def requested(epsilon: str) -> RequestedEpsilon:
    return RequestedEpsilon.parse(Decimal(epsilon))


def two_steps(values: int, mechanism: str) -> Permanent:
    domain = Category(tuple(map(str, range(values))))
    channel = channel_for(domain, requested("1"), mechanism, permanent=requested("2"))
    assert isinstance(channel, Permanent)
    return channel


DESIGNS = {
    "pairs": two_steps(5, "cyclic-design"),
    "blocks": two_steps(12, "cyclic-design"),
    "geometry": two_steps(7, "projective-geometry"),
}


@pytest.mark.parametrize("values", [2, 3, 8])
def test_an_unbiased_share_is_the_truth_exactly_where_symbols_name_values(values: int) -> None:
    channel = two_steps(values, "k-ary-randomized-response")
    inverse = inverse_of(channel)
    assert isinstance(inverse, Support)
    for given in range(values):
        for value in range(values):
            expected = sum(
                channel.probability(symbol, given) * (inverse.slope * (symbol == value) + inverse.intercept)
                for symbol in range(channel.symbols)
            )
            assert expected == (value == given)


def test_a_mean_of_permanent_ends_is_unbiased_exactly() -> None:
    channel = channel_for(Number(Fraction(0), Fraction(9), "mean"), requested("0.5"), "auto", permanent=requested("1"))
    inverse = inverse_of(channel)
    assert isinstance(inverse, Support)
    assert channel.probability(1, 1) == inverse.own
    assert channel.probability(1, 0) == inverse.other


@pytest.mark.long
@pytest.mark.parametrize("name", DESIGNS)
def test_the_law_and_its_adjoint_are_those_of_both_steps(name: str) -> None:
    channel = DESIGNS[name]
    law = np.array(
        [
            [float(channel.probability(symbol, given)) for symbol in range(channel.symbols)]
            for given in range(channel.inputs)
        ]
    )
    inverse = inverse_of(channel)
    bound = ROUNDINGS * np.finfo(float).eps
    for given, unit in enumerate(np.eye(channel.inputs)):
        assert np.abs(inverse.symbol_law(unit) - law[given]).max() <= bound
    scores = np.linspace(-1, 1, channel.symbols)
    assert np.abs(inverse.expectations(scores) - law @ scores).max() <= bound


@pytest.mark.parametrize("name", DESIGNS)
def test_what_a_report_adds_to_a_share_is_right_on_average(name: str) -> None:
    channel = DESIGNS[name]
    inverse = inverse_of(channel)
    for value, unit in enumerate(np.eye(channel.inputs)):
        expected = inverse.expectations(inverse.contrast(unit))
        truth = np.arange(channel.inputs) == value
        assert np.abs(expected - truth).max() <= ROUNDINGS * np.finfo(float).eps


@pytest.mark.parametrize("name", DESIGNS)
def test_shares_are_the_mean_of_what_reports_add(name: str) -> None:
    channel = DESIGNS[name]
    inverse, counts = inverse_of(channel), np.arange(1, channel.symbols + 1, dtype=np.int64)
    reports = int(counts.sum())
    added = np.array([inverse.contrast(unit) @ counts / reports for unit in np.eye(channel.inputs)])
    assert np.abs(inverse.shares(counts, reports) - added).max() <= ROUNDINGS * np.finfo(float).eps
