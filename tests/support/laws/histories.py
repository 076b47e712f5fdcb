"""Histories of permanent answers: which two have one pattern, and the closed form of the law of
their reports.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import pairwise, product

from client_sdk.protocol import Metric
from client_sdk.protocol.mechanisms.permanent import Permanent
from tests.support.laws.permanents import Law

History = Sequence[int]
"""Input symbols, one for each window."""

Reports = Sequence[int]
"""Symbols, one for each window."""


def places(history: History, max_values: int) -> tuple[int, ...]:
    """Return which permanent answer is used in each window: that of the first, the second, …
    different answer.

    Beyond ``max_values`` answers the last one stands for all others. Two histories have one pattern
    if their places are equal.
    """
    order = list(dict.fromkeys(history))
    return tuple(min(order.index(value), max_values - 1) for value in history)


def changes(history: History) -> tuple[bool, ...]:
    """Return for each window but the first whether its answer differs from the one before: the
    times of change.
    """
    return tuple(before != after for before, after in pairwise(history))


def spoken(history: History, max_values: int) -> History:
    """Return the answer whose permanent answer is reported in each window."""
    values = list(dict.fromkeys(history))
    return [values[place] for place in places(history, max_values)]


def likelihood(channel: Permanent, values: History, reports: Reports) -> Fraction:
    """Return the probability of given reports: the product over permanent answers, which are
    independent.

    Args:
        channel: with permanent answers.
        values: whose permanent answer is reported in each window, as `spoken` says.
        reports: the symbols.

    """
    symbols: dict[int, list[int]] = {}
    for value, symbol in zip(values, reports, strict=True):
        symbols.setdefault(value, []).append(symbol)
    chances = (_chance(channel, value, tuple(sorted(of_value))) for value, of_value in symbols.items())
    return math.prod(chances, start=Fraction(1))


def law_of_history(channel: Permanent, history: History, max_values: int) -> Law:
    """Return the joint law of the reports of a history, one report for each window."""
    values = spoken(history, max_values)
    every = product(range(channel.symbols), repeat=len(history))
    return {reports: likelihood(channel, values, reports) for reports in every}


def law_of_numbers(metric: Metric, channel: Permanent, history: Sequence[Fraction]) -> Law:
    """Return the joint law of the reports of numbers; one offset rounds all of them to an end."""
    law: Counter[tuple[int, ...]] = Counter()
    for weight, ends in rounded(metric, history):
        for reports, chance in law_of_history(channel, ends, channel.inputs).items():
            law[reports] += weight * chance  # type: ignore[assignment] # a counter of fractions
    return dict(law)  # type: ignore[arg-type]


def rounded(metric: Metric, history: Sequence[Fraction]) -> Iterator[tuple[Fraction, tuple[int, ...]]]:
    """Yield every way in which an offset can round numbers to the ends, and its chance.

    A number goes to the high end if the offset, uniform over the range, is below it.
    """
    low, high = metric.domain.low, metric.domain.high  # type: ignore[union-attr] # a number's
    shares = [(number - low) / (high - low) for number in history]
    cuts = sorted({Fraction(0), *shares, Fraction(1)})
    for offset, beyond in pairwise(cuts):
        yield beyond - offset, tuple(int(offset < share) for share in shares)


@cache
def _chance(channel: Permanent, value: int, symbols: tuple[int, ...]) -> Fraction:
    """Return the probability of what one permanent answer reported, averaged over its possible
    values.

    Args:
        channel: with permanent answers.
        value: the input symbol of the answer.
        symbols: the reported symbols, sorted.

    """
    counts = Counter(symbols)
    return sum(
        (
            channel.permanent.probability(answer, value)
            * math.prod(
                (channel.instantaneous.probability(symbol, answer) ** often for symbol, often in counts.items()),
                start=Fraction(1),
            )
            for answer in range(channel.inputs)
        ),
        Fraction(0),
    )
