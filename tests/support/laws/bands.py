"""Square waves for tests: small ones whose every draw can be replayed, and the draws at which any
of them changes.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate
from math import lcm

from client_sdk.protocol import Channel
from client_sdk.protocol.mechanisms.square_wave import SquareWave
from client_sdk.protocol.requested_epsilon import RequestedEpsilon
from tests.support.laws.declared_law import PerturbsOtherwise

REPLAYED = 2**12
"""A total whose draws are replayed individually; weights this coarse still reach 0.999 of
e**epsilon.
"""


def request(epsilon: str) -> RequestedEpsilon:
    return RequestedEpsilon.parse(Decimal(epsilon))


def ends_of_draws(channel: SquareWave) -> list[int]:
    """Return where the outcome of the one draw can change: after each weight, in the order of the
    definition.
    """
    return [0, *accumulate([channel.heavy] * channel.width + [channel.light] * (channel.inputs - 1))]


Way = Callable[[SquareWave, int, int], int]
"""The rule that turns a draw into a symbol, given an input."""


def mutant(right: SquareWave, way: Way) -> Channel:
    """Return a band that declares its law and picks in another way."""
    return PerturbsOtherwise(right, lambda value, coins: way(right, value, coins.below(right.total)))


def _band_off_by_one(band: SquareWave, value: int, drawn: int) -> int:
    return min(band.pick(value, drawn) + 1, band.symbols - 1)


def _band_not_left_out(band: SquareWave, value: int, drawn: int) -> int:
    in_band = band.width * band.heavy
    return value + drawn // band.heavy if drawn < in_band else (drawn - in_band) // band.light


def _band_too_wide(band: SquareWave, value: int, drawn: int) -> int:
    in_band = (band.width + 1) * band.light
    return value + drawn // band.light if drawn < in_band else band.pick(value, drawn)


def _last_symbol_never_reached(band: SquareWave, value: int, drawn: int) -> int:
    return min(band.pick(value, drawn), band.symbols - 2)


def _half_unused(band: SquareWave, value: int, drawn: int) -> int:
    return band.pick(value, drawn // 2)


BAND_MUTANTS: dict[str, Way] = {
    "the band off by one": _band_off_by_one,
    "the band not left out of the others": _band_not_left_out,
    "the band too wide": _band_too_wide,
    "the last symbol never reached": _last_symbol_never_reached,
    "half of the draws never used": _half_unused,
}
"""Wrong ways to pick from a band."""


def expected_answer(channel: SquareWave, answers: list[Fraction], value: int) -> Fraction:
    """Return the mean score of the symbols, given an input."""
    weights = [channel.weight(symbol, value) for symbol in range(channel.symbols)]
    denominator = lcm(*(answer.denominator for answer in answers))
    scores = [answer.numerator * (denominator // answer.denominator) for answer in answers]
    total = sum(weight * score for weight, score in zip(weights, scores, strict=True))
    return Fraction(total, denominator * channel.total)
