"""The coverage of a kind of figure is measured in cells: a cell is a setting and a population."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from estimator.statistics.arrays import Counts, Floats

Held = NDArray[np.bool_]

ROUNDED: Final = 2.0**-40
"""A tolerance as a fraction of the range: truths at its ends are sums of floats."""


class Cell(NamedTuple):
    """One setting and one population.

    Attributes:
        setting: mechanism, epsilon and reports, in words.
        population: its name.
        held: maps a number of draws and a generator to whether each interval contained its truth,
            shape (draws, intervals).

    """

    setting: str
    population: str
    held: Callable[[int, np.random.Generator], Held]


@dataclass(frozen=True)
class Figure:
    """A kind of figure, and the method of its interval.

    Attributes:
        name: in words.
        method: the interval, and its source.
        basis: the evidence for its coverage: a proof, exact sums, or this measurement.
        cells: what is measured.
        draws: of each cell, the first time.

    """

    name: str
    method: str
    basis: str
    cells: Callable[[], Iterable[Cell]]
    draws: int = 300


def tallies(law: Floats, reports: int, draws: int, generator: np.random.Generator) -> Counts:
    """Return tallies of people sampled at random, whose symbols have this law: shape (draws, m)."""
    likely = np.maximum(law, 0.0)
    return generator.multinomial(reports, likely / likely.sum(), size=draws)


def holds(lows: Floats, highs: Floats, truths: Floats | float) -> Held:
    """Return whether intervals contain truths."""
    held: Held = np.logical_and(lows - ROUNDED <= truths, truths <= highs + ROUNDED)
    return held
