"""Privacy losses composed without any rounding: an oracle for the accountant, for a few reports."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from client_sdk.protocol import Channel

Law = dict[Fraction, Fraction]
"""Maps the ratio of two probabilities to the probability under the first answer."""


def law_of(channel: Channel, first: int, second: int) -> Law:
    """Return how the ratio of a report's probabilities is distributed for a pair of inputs."""
    law: Law = {}
    for chance, other in zip(chances(channel, first), chances(channel, second), strict=True):
        law[chance / other] = law.get(chance / other, Fraction(0)) + chance
    return law


@lru_cache(maxsize=64)
def chances(channel: Channel, given: int) -> tuple[Fraction, ...]:
    """Return the probability of each symbol for an input."""
    return tuple(channel.probability(symbol, given) for symbol in range(channel.symbols))


def composed(laws: Sequence[Law]) -> Law:
    """Return the law of the product of ratios."""
    product: Law = {Fraction(1): Fraction(1)}
    for law in laws:
        summed: Law = {}
        for ratio, mass in product.items():
            for other, more in law.items():
                summed[ratio * other] = summed.get(ratio * other, Fraction(0)) + mass * more
        product = summed
    return product


def exact_delta(law: Law, epsilon: float) -> float:
    """Return the hockey-stick divergence, up to the rounding of the last sum."""
    odds = Fraction(math.exp(epsilon))
    return float(sum(mass * (1 - odds / ratio) for ratio, mass in law.items() if ratio > odds))


def closed_delta(epsilon: float, reports: int, at: float) -> float:
    """Return the delta of a number of randomized responses at any epsilon (Kairouz, Oh & Viswanath
    2015, theorem 3.3).
    """
    scale = reports * math.log1p(math.exp(epsilon))
    terms = []
    for lies in range(reports + 1):
        loss = (reports - 2 * lies) * epsilon
        if loss > at:
            weight = math.log(math.comb(reports, lies)) + (reports - lies) * epsilon - scale
            terms.append(-math.exp(weight) * math.expm1(at - loss))
    return math.fsum(terms)
