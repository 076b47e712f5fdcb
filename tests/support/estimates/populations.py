"""Hostile populations: what people answer, on a scale from 0 to 1.

Every promise of an interval is tested over them. A population is finite, so that its truths are
exact sums. To add a population, add a line to `POPULATIONS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import betaincinv

from estimator.statistics.arrays import Counts, Floats

FINE: Final = 4000
"""The number of equally common answers for a continuous law: more than any grid has."""


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """The share of the people who give each answer.

    Attributes:
        answers: distinct, rising, from 0 to 1, shape (a,).
        shares: of the answers, sum 1, shape (a,).

    """

    answers: Floats
    shares: Floats

    @property
    def mean(self) -> float:
        return float(self.answers @ self.shares)

    @property
    def variance(self) -> float:
        return float((self.answers - self.mean) ** 2 @ self.shares)

    def quantile(self, level: float) -> float:
        """Return the smallest answer that a share of `level` of the people does not exceed."""
        place = int(np.searchsorted(np.cumsum(self.shares), level - 1e-12))
        return float(self.answers[min(place, self.answers.size - 1)])

    def at_most(self, answer: float) -> float:
        """Return the share of people with this answer or a lower one: the distribution function."""
        return float(self.shares[self.answers <= answer].sum())

    def on_grid(self, inputs: int) -> Floats:
        """Return the shares of a grid's points, shape (inputs,).

        Answers are rounded to a neighbor without bias.
        """
        places = self.answers * (inputs - 1)
        below = np.minimum(np.floor(places).astype(np.int64), inputs - 2)
        upwards = places - below
        upper = _added_up(below + 1, self.shares * upwards, inputs)
        return _added_up(below, self.shares * (1 - upwards), inputs) + upper

    def in_bins(self, bins: int) -> Floats:
        """Return shares of `bins` equal parts of the scale, shape (bins,), as for categories."""
        return _added_up(np.minimum((self.answers * bins).astype(np.int64), bins - 1), self.shares, bins)


def at(answers: Mapping[float, float]) -> Population:
    """Return the population with the given share at each answer."""
    rising = sorted(answers.items())
    return Population(np.array([answer for answer, _ in rising]), np.array([share for _, share in rising]))


def continuous(quantiles: Callable[[Floats], Floats]) -> Population:
    """Return the population of a continuous law, given its quantile function."""
    answers, counts = np.unique(quantiles((np.arange(FINE) + 0.5) / FINE), return_counts=True)
    return Population(answers, counts / FINE)


def beta(first: float, second: float) -> Population:
    """Return the population of a beta law."""
    return continuous(lambda levels: betaincinv(first, second, levels))


def mixed(share: float, first: Population, second: Population) -> Population:
    """Return two populations as one: this share of the people is from the first."""
    answers, where = np.unique(np.concatenate([first.answers, second.answers]), return_inverse=True)
    shares = np.concatenate([share * first.shares, (1 - share) * second.shares])
    return Population(answers, _added_up(where, shares, answers.size))


def _added_up(places: Counts, weights: Floats, size: int) -> Floats:
    totals = np.zeros(size)
    np.add.at(totals, places, weights)
    return totals


UNIFORM: Final = continuous(lambda levels: levels)

POPULATIONS: Final[Mapping[str, Callable[[int], Population]]] = {
    "all at the low end": lambda _: at({0: 1}),
    "all at the high end": lambda _: at({1: 1}),
    "all equal, between two grid points": lambda _: at({0.3137: 1}),
    "smooth (beta 2, 5)": lambda _: beta(2, 5),
    "uniform": lambda _: UNIFORM,
    "uniform, with one frequent value": lambda _: mixed(0.7, at({0.371: 1}), UNIFORM),
    "two values": lambda _: at({0.2: 0.6, 0.85: 0.4}),
    "bimodal": lambda _: mixed(0.5, beta(20, 80), beta(80, 20)),
    "seven equally frequent values": lambda _: at(dict.fromkeys((0.03, 0.19, 0.35, 0.51, 0.67, 0.83, 0.99), 1 / 7)),
    "seven values, each half as frequent as the next lower one": lambda _: at(
        {0: 64 / 127} | {0.08 * step: 2.0 ** (6 - step) / 127 for step in range(1, 7)}
    ),
    "half at each end": lambda _: at({0: 0.5, 1: 0.5}),
    "heavy tail": lambda _: continuous(lambda levels: np.minimum(1.0, 0.002 * (1 - levels) ** (-1 / 1.1))),
    "2% at the high end, the rest at the low end": lambda _: at({0: 0.98, 1: 0.02}),
    "2% at the low end, the rest at the high end": lambda _: at({0: 0.02, 1: 0.98}),
    "3 people at the high end, the rest at the low end": lambda reports: at(
        {0: 1 - min(1.0, 3 / reports), 1: min(1.0, 3 / reports)}
    ),
    "1 person at the high end, the rest at the low end": lambda reports: at({0: 1 - 1 / reports, 1: 1 / reports}),
    "1 person at the low end, the rest at the high end": lambda reports: at({0: 1 / reports, 1: 1 - 1 / reports}),
    "1 person at the high end, the rest at one lower value": lambda reports: at({0.6: 1 - 1 / reports, 1: 1 / reports}),
}
"""Each population by its name and, because a few have rare answers, the number of reports."""

HOSTILE: Final = (
    "all at the low end",
    "uniform",
    "half at each end",
    "2% at the high end, the rest at the low end",
    "2% at the low end, the rest at the high end",
    "3 people at the high end, the rest at the low end",
    "1 person at the high end, the rest at one lower value",
)
"""The populations for figures that take long."""
