"""The estimators against the laws they invert, summed over every symbol."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from client_sdk.protocol import Channel
from client_sdk.protocol.kinds.boolean import Boolean
from client_sdk.protocol.kinds.category import Category
from client_sdk.protocol.kinds.kind import Kind
from client_sdk.protocol.kinds.number import Number
from client_sdk.protocol.mechanisms import channel_for
from client_sdk.protocol.requested_epsilon import RequestedEpsilon
from estimator.decoders.inversions import inverse_of
from estimator.decoders.support import Support
from estimator.likelihood.shares import maximum_likelihood
from tests.support.core.tables import for_each
from tests.support.estimates.checks import (
    check_likelihood,
    check_standard_error,
    check_unbiased,
    expectations,
    symbol_law,
)
from tests.support.mutants import estimators


def _channel(domain: Kind, epsilon: object, mechanism: str) -> Channel:
    return channel_for(domain, RequestedEpsilon.parse(epsilon), mechanism)


def _category(size: int) -> Category:
    return Category(tuple(f"value {index}" for index in range(size)))


TWO_COINS = _channel(Boolean(), "ln 3", "randomized-response")
CHANNELS = [
    TWO_COINS,
    *(_channel(Boolean(), epsilon, "randomized-response") for epsilon in (0.01, 1, 4)),
    *(_channel(Number(Fraction(0), Fraction(5), "mean"), epsilon, "one-bit") for epsilon in (0.5, 2)),
    *(_channel(_category(k), epsilon, "k-ary-randomized-response") for k in (2, 3, 5, 16) for epsilon in (0.5, 1, 4)),
]


def support_of(channel: Channel) -> Support:
    inverse = inverse_of(channel)
    assert isinstance(inverse, Support)
    return inverse


FEW_FOR_THE_LAST = [90, 60, 40, 7, 3]
FIVE_VALUES = _channel(_category(5), 1, "k-ary-randomized-response")


def test_two_coins_are_twice_the_frequency_less_a_half() -> None:
    support = support_of(TWO_COINS)
    assert (support.slope, support.intercept) == (Fraction(2), Fraction(-1, 2))
    assert support.shares(np.array([400, 600]), 1000).tolist() == [2 * 0.4 - 0.5, 2 * 0.6 - 0.5]


@for_each("channel", CHANNELS)
def test_every_estimate_is_unbiased(channel: Channel) -> None:
    check_unbiased(channel, support_of(channel))


@for_each("channel", CHANNELS)
def test_the_standard_error_equals_enumeration(channel: Channel) -> None:
    check_standard_error(channel, support_of(channel))


@for_each("channel", CHANNELS)
def test_the_law_of_symbols_and_its_adjoint_are_those_of_the_channel(channel: Channel) -> None:
    support = support_of(channel)
    k = channel.inputs
    matrix = np.array([[float(channel.probability(y, given=x)) for x in range(k)] for y in range(k)])
    shares = np.arange(1, k + 1) / (k * (k + 1) / 2)
    tolerance = 4 * k * np.finfo(float).eps
    assert np.allclose(symbol_law(support, shares), matrix @ shares, rtol=tolerance, atol=0)
    assert np.allclose(expectations(support, shares), matrix.T @ shares, rtol=tolerance, atol=0)


@for_each("channel", CHANNELS)
def test_no_shares_are_likelier_than_the_likeliest(channel: Channel) -> None:
    counts = np.arange(channel.inputs, dtype=np.int64) ** 3
    check_likelihood(support_of(channel), counts, maximum_likelihood)


@pytest.mark.parametrize("name", estimators.SUPPORTS)
def test_a_wrong_inverse_is_refused(name: str) -> None:
    mutant = estimators.SUPPORTS[name](support_of(FIVE_VALUES), FIVE_VALUES.inputs)
    with pytest.raises(AssertionError):
        check_unbiased(FIVE_VALUES, mutant)


def test_a_standard_error_without_the_division_is_refused() -> None:
    mutant = estimators.SUPPORTS["forgotten division by p - q"](support_of(FIVE_VALUES), FIVE_VALUES.inputs)
    with pytest.raises(AssertionError):
        check_standard_error(FIVE_VALUES, mutant)


@pytest.mark.parametrize("name", estimators.LIKELIHOODS)
def test_a_wrong_maximum_is_refused(name: str) -> None:
    with pytest.raises(AssertionError):
        check_likelihood(
            support_of(FIVE_VALUES),
            np.array(FEW_FOR_THE_LAST, dtype=np.int64),
            estimators.LIKELIHOODS[name],
        )


def test_there_are_mutants_for_every_check() -> None:
    assert estimators.SUPPORTS
    assert estimators.LIKELIHOODS
    assert estimators.INTERVALS
