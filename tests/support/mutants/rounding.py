"""Named wrong ways to round a position to a point of a grid. A check that accepts one of them
checks nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from client_sdk.protocol import COIN_SCALE, Coins

Rounding = Callable[[Fraction, int, Coins], int]
"""How a position from 0 to points - 1 becomes a point of a grid."""


def _always_low(position: Fraction, points: int, coins: Coins) -> int:
    coins.bernoulli(COIN_SCALE // 2)
    return min(int(position), points - 2)


def _nearest(position: Fraction, points: int, coins: Coins) -> int:
    coins.bernoulli(COIN_SCALE // 2)
    return min(int(position + Fraction(1, 2)), points - 1)


def _right_rounding(position: Fraction, points: int, coins: Coins) -> int:
    point = min(int(position), points - 2)
    return point + coins.bernoulli(int((position - point) * COIN_SCALE))


def _farther_point_likelier(position: Fraction, points: int, coins: Coins) -> int:
    point = min(int(position), points - 2)
    return point + (not coins.bernoulli(int((position - point) * COIN_SCALE)))


def _rounded_to_bytes(position: Fraction, points: int, coins: Coins) -> int:
    point = min(int(position), points - 2)
    return point + coins.bernoulli(int((position - point) * 256) * (COIN_SCALE // 256))


def _ends_only(position: Fraction, points: int, coins: Coins) -> int:
    return (points - 1) * coins.bernoulli(int(position / (points - 1) * COIN_SCALE))


def _no_coin_at_the_points(position: Fraction, points: int, coins: Coins) -> int:
    return int(position) if position.denominator == 1 else _right_rounding(position, points, coins)


def _two_coins(position: Fraction, points: int, coins: Coins) -> int:
    coins.below(2)
    return _right_rounding(position, points, coins)


ROUNDING_MUTANTS: dict[str, Rounding] = {
    "always towards low": _always_low,
    "always to the nearest point": _nearest,
    "the farther point likelier": _farther_point_likelier,
    "position cut to eight bits": _rounded_to_bytes,
    "only the ends of the range": _ends_only,
    "no coin at the points": _no_coin_at_the_points,
    "two coins": _two_coins,
}
"""Wrong ways to round a position to a point of a grid; for grids of more than two points."""
