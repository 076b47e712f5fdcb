"""Channels of added noise for tests: where draws change their outcome, and closed forms at 100
digits.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import accumulate

from client_sdk.protocol.mechanisms.noise import AdditiveNoise

DIGITS = 100
"""Digits of the closed forms: their own error is far below one part of any total."""


def ends_of_noise(channel: AdditiveNoise) -> list[int]:
    """Return where the outcome of the one draw can change: after 0, 1, 2, …, then after -1, -2,
    ….
    """
    return [0, *accumulate([*channel.weights, *channel.weights[1:]])]


def truncated_geometric(odds: Decimal, points: int, given: int) -> list[Fraction]:
    """Return the law of Ghosh, Roughgarden & Sundararajan 2012, definition 2.2, cut at the ends of
    the range.

    P(y|x) = (1 - a) / (1 + a) a**|y-x| within and a**|y-x| / (1 + a) at an end, a = odds**(-1 /
    (points - 1)).
    """
    with localcontext(prec=DIGITS):
        a = (-odds.ln() / (points - 1)).exp()
        powers = [a**distance for distance in range(points)]
        ends = {0, points - 1}
        chances = [powers[abs(y - given)] * (1 if y in ends else 1 - a) / (1 + a) for y in range(points)]
    return [Fraction(chance) for chance in chances]


def discrete_gaussian(sigma: Fraction, reach: int) -> tuple[list[Fraction], Fraction]:
    """Return P(0), P(1), …, P(reach) of the discrete Gaussian, and the chance of all noise that is
    farther out.

    Canonne, Kamath & Steinke 2020, definition 1: P(n) is in proportion to e**(-n**2 / (2
    sigma**2)).
    """
    most = reach + int(16 * sigma)  # beyond 16 sigma there is less than e**-128, one part in 10**55
    with localcontext(prec=DIGITS):
        rate = Decimal(sigma.denominator**2) / (2 * Decimal(sigma.numerator) ** 2)
        heights, height, factor, ratio = [Decimal(1)], Decimal(1), (-rate).exp(), (-2 * rate).exp()
        for _ in range(most):
            height, factor = height * factor, factor * ratio
            heights.append(height)
        norm = 2 * sum(heights) - 1
        beyond = 2 * sum(heights[reach + 1 :]) / norm
        chances = [height / norm for height in heights[: reach + 1]]
    return [Fraction(chance) for chance in chances], Fraction(beyond)


def analytic_delta(epsilon: float, sigma: float) -> float:
    """Return the delta of continuous Gaussian noise on a range of 1 (Balle & Wang 2018, theorem 5),
    by ``erfc``.
    """

    def normal(x: float) -> float:
        return math.erfc(-x / math.sqrt(2)) / 2

    half, shift = 1 / (2 * sigma), epsilon * sigma
    return normal(half - shift) - math.exp(epsilon) * normal(-half - shift)


def textbook_sigma(epsilon: float, delta: float) -> float:
    """Return the sigma of Dwork & Roth 2014, appendix A, for a range of 1; it is proven for epsilon
    up to 1.
    """
    return math.sqrt(2 * math.log(1.25 / delta)) / epsilon
