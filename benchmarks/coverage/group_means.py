"""The coverage of intervals for a number's mean in each group, and for differences of means."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations
from typing import Final

import numpy as np

from benchmarks.coverage.cells import Cell, Figure, Held, holds, tallies
from client_sdk.protocol.kinds.boolean import Boolean
from client_sdk.protocol.kinds.category import Category
from client_sdk.protocol.kinds.cross import MeanByGroup
from client_sdk.protocol.kinds.number import Number
from client_sdk.protocol.mechanisms import channel_for
from estimator.analyses.group_means import group_means
from estimator.decoders.inversions import inverse_of
from estimator.statistics.arrays import Floats
from tests.support.estimates.inverses import requested
from tests.support.estimates.populations import HOSTILE, POPULATIONS, Population

REPORTS: Final = (50, 300, 10_000)

RANGE: Final = Number(Fraction(0), Fraction(1), "mean")

METRICS: Final = {
    "2 groups of equal size": (MeanByGroup(Boolean(), RANGE), np.array([0.5, 0.5])),
    "2 groups, one with 2% of the people": (MeanByGroup(Boolean(), RANGE), np.array([0.02, 0.98])),
    "4 groups": (MeanByGroup(Category(("a", "b", "c", "d")), RANGE), np.array([0.5, 0.3, 0.15, 0.05])),
}
"""The metrics by name, each with the shares of its groups."""

EPSILONS: Final = ("1", "3", "8")
"""The epsilons to measure.

A device rounds its number to a grid. At the first epsilon, the grid has two points. At the other
epsilons, the grid has more than two points.
"""


def of_means(*, differences: bool) -> Iterator[Cell]:
    """Yield the cells of groups' means or, with ``differences``, of their differences.

    The numbers in the first group come from a population. The numbers in the other groups come from
    the mirror image of this population.
    """
    for name, (metric, groups) in METRICS.items():
        for epsilon in EPSILONS:
            for reports in REPORTS:
                for population in HOSTILE:
                    setting = f"{name}, epsilon {epsilon}, {reports:,} reports"
                    numbers = POPULATIONS[population](reports)
                    yield Cell(setting, population, held_by(metric, groups, numbers, epsilon, reports, differences))


def held_by(  # noqa: PLR0917 of one cell
    metric: MeanByGroup,
    groups: Floats,
    numbers: Population,
    epsilon: str,
    reports: int,
    differences: bool,  # noqa: FBT001 as of_means
) -> Callable[[int, np.random.Generator], Held]:
    domain = metric.rounded_for(requested(epsilon).odds)
    inverse = inverse_of(channel_for(domain, requested(epsilon), "auto"))
    on_grid = numbers.on_grid(domain.points)
    within = np.array([on_grid[:: -1 if group else 1] for group in range(domain.first.size)])
    law = inverse.symbol_law((groups[:, np.newaxis] * within).ravel())
    means = within @ np.linspace(0, 1, domain.points)
    truths = np.array([mean - other for mean, other in combinations(means, 2)]) if differences else means

    def held(draws: int, generator: np.random.Generator) -> Held:
        intervals = []
        for counts in tallies(law, reports, draws, generator):
            of_groups, between = group_means(domain, inverse, counts, unit="")
            shown = (between if differences else of_groups).figures
            intervals.append([(estimate.low, estimate.high) for estimate in shown])
        ends = np.array(intervals)
        return holds(ends[..., 0], ends[..., 1], truths)

    return held


FIGURES: Final = (
    Figure(
        "a mean within a group",
        "Fieller 1954 or betting",
        "measured",
        lambda: of_means(differences=False),
        draws=100,
    ),
    Figure(
        "a difference between groups' means",
        "Zou & Donner 2008",
        "measured",
        lambda: of_means(differences=True),
        draws=100,
    ),
)
"""The figures of a number by group, with their methods and cells."""
