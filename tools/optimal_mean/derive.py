"""Derives the tables: as few as keep the worst variance near the least one at every epsilon."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Final

import numpy as np
from scipy.interpolate import CubicSpline

from client_sdk.protocol.mechanisms.optimal_mean import OptimalMean, Table
from estimator.decoders import optimal_mean
from estimator.statistics.arrays import Floats
from tools.optimal_mean.free import best_scores
from tools.optimal_mean.shapes import Shape

LOSS: Final = 1.007
"""The most by which the worst variance may exceed the least one of sliding bands. The linear programme
is below that by another part in 1,000."""

LARGE: Final = 5.7
"""From this epsilon on the integers of the steps, and 64 symbols, cost more."""

LOSS_OF_LARGE: Final = 1.03

ONE_BIT_UP_TO: Final = 0.18
"""Up to this epsilon two symbols are within .6 % of the optimum: one-bit has 1 + epsilon**2 / 6 of it."""

GREATEST: Final = 8.0
"""The greatest epsilon with a table."""

WIDTHS: Final = ((0.5, 0.5), (1.0, 0.49), (1.5, 0.424), (2.0, 0.394), (3.0, 0.333), (4.0, 0.266), (5.0, 0.207))
LATER_WIDTHS: Final = ((6.0, 0.156), (7.0, 0.115), (8.0, 0.083))
"""About which part of the symbols the best band holds, by epsilon; a search found it."""

SYMBOLS: Final = ((0.65, (8,)), (0.8, (16, 24)), (2.5, (24, 33, 48)), (3.5, (33, 48)), (GREATEST, (48, 64)))
"""Numbers of symbols that are tried up to an epsilon."""

STRETCHES: Final = (
    3.0,
    2.0,
    1.5,
    1.3,
    1.2,
    1.14,
    1.1,
    1.08,
    1.06,
    1.05,
    1.04,
    1.03,
    1.025,
    1.02,
    1.016,
    1.012,
    1.01,
    1.008,
    1.006,
)
"""By which factors of epsilon a table is tried to reach, in turn."""

FINEST: Final = 200
"""The largest step of a table, in points of the grid."""

RESOLUTION: Final = math.lcm(*range(1, 47))
"""The largest such multiple below 2**64, which is the greatest bound of a coin."""

ALLOWED: Final = np.array([step for step in range(1, FINEST + 1) if RESOLUTION % step == 0])
"""Steps whose common multiples are within it."""


REFERENCE_SYMBOLS: Final = (48, 64)

CURVE_POINTS: Final = 61
"""Epsilons at which the least variance is computed; between them a spline is within a part in 10,000."""


def tables() -> Iterator[Table]:
    """Yield the tables, by rising epsilon."""
    lowest, first = ONE_BIT_UP_TO, 0
    yield Table(_milliodds(lowest), 1, (), 1)
    while lowest < GREATEST:
        lowest, first, table = _next(lowest, first)
        yield table


def table_at(epsilon: float, greatest: float, symbols: int, width: int) -> Table:
    """Return the table whose bands are best at one epsilon.

    Args:
        epsilon: at which they are best.
        greatest: up to which the table is used.
        symbols: how many there are.
        width: of a band.

    """
    _, scores = best_scores(Shape(math.exp(epsilon), symbols, width))
    steps = scores[width:] - scores[:-width]
    steps = (steps + steps[::-1]) * (FINEST / (2 * steps.max()))
    nearest = ALLOWED[np.abs(ALLOWED - steps[:, np.newaxis]).argmin(axis=1)].tolist()
    half, odd = divmod(len(nearest), 2)
    return Table(_milliodds(greatest), width, tuple(nearest[:half]), nearest[half] if odd else 0)


def variance_of(table: Table, epsilon: float) -> float:
    """Return the worst variance of a table at an epsilon, on a range from -1 to 1."""
    channel = OptimalMean.of_total(table.steps, table.width, Fraction(math.exp(epsilon)))
    squares: Floats = optimal_mean.decoder(channel).squares
    return 4 * float((squares - np.linspace(0.0, 1.0, channel.inputs) ** 2).max())


@cache
def _curve() -> CubicSpline:
    """Return the logarithm of the least worst variance of sliding bands by the logarithm of epsilon."""
    epsilons = np.geomspace(ONE_BIT_UP_TO, GREATEST, CURVE_POINTS)
    return CubicSpline(np.log(epsilons), [math.log(_least_variance(epsilon)) for epsilon in epsilons.tolist()])


def _least_variance(epsilon: float) -> float:
    return min(
        best_scores(Shape(math.exp(epsilon), symbols, width))[0]
        for symbols in REFERENCE_SYMBOLS
        for width in _widths(epsilon, symbols)
    )


def _next(lowest: float, first: int) -> tuple[float, int, Table]:
    """Return how far the next table reaches, the first stretch to be tried after it, and the table.

    Stretches become shorter, so those much longer than the last one are not tried again.
    """
    sizes = next(sizes for up_to, sizes in SYMBOLS if lowest < up_to)
    for index, stretch in enumerate(STRETCHES[first:], first):
        greatest = min(lowest * stretch, GREATEST)
        for symbols in sizes:
            for width in _widths(lowest, symbols):
                for place in (0.5, 0.8):
                    table = table_at(lowest * (greatest / lowest) ** place, greatest, symbols, width)
                    if _is_good(table, lowest, greatest):
                        return greatest, max(0, index - 1), table
    raise ArithmeticError(f"no table is good enough from epsilon {lowest}")


def _is_good(table: Table, lowest: float, greatest: float) -> bool:
    checked = (greatest, lowest, math.sqrt(lowest * greatest))
    loss = LOSS if lowest < LARGE else LOSS_OF_LARGE
    return all(variance_of(table, epsilon) <= loss * math.exp(_curve()(math.log(epsilon))) for epsilon in checked)


def _widths(epsilon: float, symbols: int) -> list[int]:
    known = np.array(WIDTHS + LATER_WIDTHS)
    about = float(np.interp(epsilon, known[:, 0], known[:, 1])) * symbols
    return sorted({max(1, min(symbols // 2, math.floor(about) + more)) for more in (-1, 0, 1)})


def _milliodds(epsilon: float) -> int:
    return math.ceil(1000 * math.exp(epsilon))
