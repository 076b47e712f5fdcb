"""The properties of a mechanism with a delta, checked by the same code for the right one and the
mutants.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations

from tests.support.laws.law_checks import (
    Check,
    Subject,
    coins_are_as_many_on_every_path_to_a_symbol,
    declared_epsilon_covers_the_exact_epsilon,
    law,
    law_is_as_declared,
)


@dataclass(frozen=True)
class ApproximateSubject(Subject):
    """A mechanism under test whose epsilon applies up to a delta.

    Attributes:
        delta: the requested delta.

    """

    delta: Fraction


def hockey_stick(rows: Sequence[Sequence[int]], total: int, odds: Fraction) -> Fraction:
    """Return the smallest delta of a table: the maximum, over all ordered pairs of rows, of sum
    max(0, P - odds P').

    Args:
        rows: one row for each input: ``total`` times the probability of each symbol.
        total: the sum of every row.
        odds: e**epsilon.

    """
    numerator, denominator = odds.as_integer_ratio()
    scaled = [[denominator * weight for weight in row] for row in rows]
    amplified = [[numerator * weight for weight in row] for row in rows]
    most = 0
    for first, second in permutations(range(len(rows)), 2):
        pairs = zip(scaled[first], amplified[second], strict=True)
        most = max(most, sum(a - b for a, b in pairs if a > b))
    return Fraction(most, denominator * total)


def enumerated_delta(subject: Subject, odds: Fraction) -> Fraction:
    channel = subject.channel
    laws = [law(channel, value) for value in range(channel.inputs)]
    total = math.lcm(*(weight.denominator for symbol_law in laws for weight in symbol_law.values()))
    rows = [
        [int(symbol_law.get(symbol, Fraction(0)) * total) for symbol in range(channel.symbols)] for symbol_law in laws
    ]
    return hockey_stick(rows, total, odds)


def delta_equals_enumeration(subject: Subject) -> None:
    assert subject.channel.delta == enumerated_delta(subject, subject.channel.worst_ratio)


def loss_is_within_the_request(subject: Subject) -> None:
    assert isinstance(subject, ApproximateSubject)
    assert subject.channel.worst_ratio <= subject.odds
    assert enumerated_delta(subject, subject.odds) <= subject.delta


def noise_is_symmetric(subject: Subject) -> None:
    channel = subject.channel
    for value in range(channel.inputs):
        mirrored = {channel.symbols - 1 - symbol: weight for symbol, weight in law(channel, value).items()}
        assert mirrored == law(channel, channel.inputs - 1 - value)


DELTA_CHECKS: tuple[Check, ...] = (
    law_is_as_declared,
    declared_epsilon_covers_the_exact_epsilon,
    delta_equals_enumeration,
    loss_is_within_the_request,
    noise_is_symmetric,
    coins_are_as_many_on_every_path_to_a_symbol,
)
