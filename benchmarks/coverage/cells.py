"""The cells of a coverage measurement. Each cell is a setting and a population."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from estimator.statistics.arrays import Counts, Floats

Held = NDArray[np.bool_]

ROUNDED: Final = 2.0**-40
"""The allowed distance of a true value from its interval, as a fraction of the range.

True values at an end of the range are sums of floats, which have rounding errors.
"""


class Cell(NamedTuple):
    """A setting and a population for a coverage measurement.

    ``setting`` is the mechanism, epsilon and number of reports, in words. ``held`` takes a number
    of tallies and a generator. The function returns whether each interval contained the true value,
    shape (draws, intervals).
    """

    setting: str
    population: str
    held: Callable[[int, np.random.Generator], Held]


@dataclass(frozen=True)
class Figure:
    """A kind of figure, and the method of its interval.

    Attributes:
        basis: the evidence for the interval's coverage: a proof, exact sums, or only this
            measurement.
        draws: the number of tallies per cell in the first measurement.

    """

    name: str
    method: str
    basis: str
    cells: Callable[[], Iterable[Cell]]
    draws: int = 300


def tallies(law: Floats, reports: int, draws: int, generator: np.random.Generator) -> Counts:
    """Return random tallies, shape (draws, symbols).

    ``law`` contains the probability of each symbol in a report of a random person.
    """
    likely = np.maximum(law, 0.0)
    return generator.multinomial(reports, likely / likely.sum(), size=draws)


def holds(lows: Floats, highs: Floats, truths: Floats | float) -> Held:
    held: Held = np.logical_and(lows - ROUNDED <= truths, truths <= highs + ROUNDED)
    return held
