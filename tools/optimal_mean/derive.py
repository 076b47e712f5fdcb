"""Derives tables that keep the worst variance near its minimum at every epsilon.

The number of tables is as small as possible. `tools.optimal_mean` explains bands, scores and the
worst variance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from typing import Final, TypeVar

import numpy as np

from client_sdk.protocol.mechanisms.optimal_mean import FINEST, STEPS, OptimalMean, Table, steps_between
from estimator.decoders import optimal_mean
from estimator.statistics.arrays import Floats
from tools.optimal_mean.free import best_scores
from tools.optimal_mean.shapes import Shape

T = TypeVar("T")

ONE_BIT_UP_TO: Final = 0.18
"""Up to this epsilon, no table is needed. The one-bit mechanism exceeds the minimum variance by a
factor of at most 1 + epsilon**2 / 6. This excess is less than 0.6%.
"""

GREATEST: Final = 8.0
"""The largest epsilon with a table."""

LOSS: Final = ((6.5, 1.007), (7.25, 1.006), (GREATEST, 1.0025))
"""Pairs of an epsilon and a ratio. Up to this epsilon, the worst variance may be at most this ratio
times the minimum.

The minimum is over channels with sliding bands. According to linear programs, this minimum exceeds
the minimum over all channels by 0.1% to 0.7%.
"""

WIDTHS: Final = ((0.5, 0.5), (1.0, 0.49), (1.5, 0.424), (2.0, 0.394), (3.0, 0.333), (4.0, 0.266), (5.0, 0.207))
LATER_WIDTHS: Final = ((6.0, 0.156), (7.0, 0.115), (8.0, 0.083))
"""Pairs of an epsilon and the width of the best band, as a fraction of all symbols.

The fractions are approximate, and were found by a search.
"""

SYMBOLS: Final = (
    (0.65, (8,)),
    (0.8, (16, 24)),
    (2.5, (24, 33, 48)),
    (3.5, (33, 48)),
    (5.0, (48, 64)),
    (6.0, (64, 96, 128)),
    (6.8, (96, 128)),
    (7.32, (128, 160)),
    (GREATEST, (192, 224)),
)
"""Pairs of an epsilon and numbers of symbols. Up to this epsilon, tables of these sizes are tried.
"""

FACTORS: Final = (
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
"""The candidates for the ratio of the epsilons of two neighboring tables, in the order tried."""

REFERENCE_SYMBOLS: Final = ((5.0, (48, 64)), (GREATEST, (64, 128)))
"""Pairs of an epsilon and numbers of symbols.

Tables are compared with a minimum. Up to this epsilon, the minimum is computed for bands over these
numbers of symbols.
"""

CURVE_POINTS: Final = 61
"""The number of epsilons at which the minimum is computed. A spline interpolates between them, with
a relative error below 1 in 10,000.
"""


def tables() -> Iterator[Table]:
    """Yield the tables in rising order of epsilon. For other epsilons, two tables are combined."""
    lowest, first = ONE_BIT_UP_TO, 0
    latest = Table(_milliodds(lowest), 1, (), 1)
    yield latest
    while lowest < GREATEST:
        lowest, first, (below, above) = _next(lowest, first)
        if below != latest:
            yield below
        yield above
        latest = above


@cache
def table_at(epsilon: float, symbols: int, width: int) -> Table:
    """Return the table with the best bands for an epsilon.

    ``symbols`` is the number of symbols, and ``width`` the width of a band.
    """
    _, scores = best_scores(Shape(math.exp(epsilon), symbols, width))
    steps = scores[width:] - scores[:-width]
    steps = (steps + steps[::-1]) * (FINEST / (2 * steps.max()))
    allowed = np.array(STEPS)
    nearest = allowed[np.abs(allowed - steps[:, np.newaxis]).argmin(axis=1)].tolist()
    half, odd = divmod(len(nearest), 2)
    return Table(_milliodds(epsilon), width, tuple(nearest[:half]), nearest[half] if odd else 0)


def variance_between(below: Table, above: Table, epsilon: float) -> float:
    """Return the worst variance, on a range from -1 to 1, of the channel made from two tables."""
    odds = Fraction(math.exp(epsilon))
    channel = OptimalMean.of_total(steps_between(below, above, 1000 * odds), above.width, odds)
    squares: Floats = optimal_mean.decoder(channel).squares
    return 4 * float((squares - np.linspace(0.0, 1.0, channel.inputs) ** 2).max())


@cache
def _curve() -> Callable[[float], float]:
    """Return a function that computes the log of the minimum from the log of epsilon."""
    from scipy.interpolate import CubicSpline  # noqa: PLC0415 300 ms, of every run's collection of tests

    epsilons = np.geomspace(ONE_BIT_UP_TO, GREATEST, CURVE_POINTS)
    curve: Callable[[float], float] = CubicSpline(
        np.log(epsilons), [math.log(_least_variance(epsilon)) for epsilon in epsilons.tolist()]
    )
    return curve


def _least_variance(epsilon: float) -> float:
    return min(
        best_scores(Shape(math.exp(epsilon), symbols, width))[0]
        for symbols in _up_to(epsilon, REFERENCE_SYMBOLS)
        for width in _widths(epsilon, symbols)
    )


def _up_to(epsilon: float, rows: Sequence[tuple[float, T]]) -> T:
    """Return the value of the first pair with an epsilon of at least ``epsilon``."""
    return next(value for most, value in rows if epsilon <= most)


def _next(lowest: float, first: int) -> tuple[float, int, tuple[Table, Table]]:
    """Return the next two tables, preceded by their larger epsilon and the factor to try next.

    The best factors decrease with epsilon, so factors much larger than the last one are skipped.
    """
    for index, factor in enumerate(FACTORS[first:], first):
        greatest = min(lowest * factor, GREATEST)
        for symbols in _up_to(greatest, SYMBOLS):
            for width in _widths(lowest, symbols):
                both = table_at(lowest, symbols, width), table_at(greatest, symbols, width)
                if _is_good(both, lowest, greatest):
                    return greatest, max(0, index - 1), both
    raise ArithmeticError(f"no tables are good enough from epsilon {lowest}")


def _is_good(both: tuple[Table, Table], lowest: float, greatest: float) -> bool:
    checked = (greatest, *(lowest * (greatest / lowest) ** part for part in (0.01, 0.25, 0.5, 0.75)))
    return all(variance_between(*both, each) <= _up_to(each, LOSS) * _least_between(each) for each in checked)


def _least_between(epsilon: float) -> float:
    return math.exp(_curve()(math.log(epsilon)))


def _widths(epsilon: float, symbols: int) -> list[int]:
    known = np.array(WIDTHS + LATER_WIDTHS)
    about = float(np.interp(epsilon, known[:, 0], known[:, 1])) * symbols
    return sorted({max(1, min(symbols // 2, math.floor(about) + more)) for more in (-1, 0, 1)})


def _milliodds(epsilon: float) -> int:
    return math.ceil(1000 * math.exp(epsilon))
