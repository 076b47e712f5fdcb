"""The coverage of intervals for shares within groups, for a pair of metrics.

The module also measures shares among people who answered a metric at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Final

import numpy as np

from benchmarks.coverage.cells import Cell, Figure, Held, holds, tallies
from client_sdk.protocol.kinds.boolean import Boolean
from client_sdk.protocol.kinds.category import Category
from client_sdk.protocol.kinds.cross import Cross
from client_sdk.protocol.mechanisms import channel_for
from estimator.analyses.pairs import joint_of
from estimator.analyses.ratios import Sample
from estimator.decoders.inversions import inverse_of
from estimator.statistics.arrays import Floats
from tests.support.estimates.inverses import requested
from tests.support.estimates.populations import HOSTILE, POPULATIONS

REPORTS: Final = (50, 300, 10_000)

CROSSES: Final = {
    "2 groups, 2 answers": (Cross(Boolean(), Boolean()), np.array([0.5, 0.5])),
    "2 groups, one with 2% of the people, 2 answers": (Cross(Boolean(), Boolean()), np.array([0.02, 0.98])),
    "3 groups, 3 answers": (Cross(Category(("a", "b", "c")), Category(("x", "y", "z"))), np.array([0.6, 0.3, 0.1])),
}
"""The pairs of metrics by name, each with the shares of its groups."""


def of_groups(*, differences: bool) -> Iterator[Cell]:
    """Yield the cells of shares within groups or, with ``differences``, of their differences.

    The answers in the first group come from a population. The other groups use the same answers,
    shifted by one position.
    """
    for name, (cross, groups) in CROSSES.items():
        for epsilon in ("1", "3", "8"):
            for reports in REPORTS:
                for population in HOSTILE:
                    bins = POPULATIONS[population](reports).in_bins(cross.second.size)
                    within = np.array([np.roll(bins, group > 0) for group in range(cross.first.size)])
                    setting = f"{name}, epsilon {epsilon}, {reports:,} reports"
                    yield Cell(setting, population, _held(cross, groups, within, epsilon, reports, differences))


def _held(  # noqa: PLR0917 of one cell
    cross: Cross,
    groups: Floats,
    within: Floats,
    epsilon: str,
    reports: int,
    differences: bool,  # noqa: FBT001 as of_groups
) -> Callable[[int, np.random.Generator], Held]:
    inverse = inverse_of(channel_for(cross, requested(epsilon), "auto"))
    law = inverse.symbol_law((groups[:, np.newaxis] * within).ravel())
    pairs = combinations(range(cross.first.size), 2)
    truths = np.concatenate([within[own] - within[other] for own, other in pairs]) if differences else within.ravel()

    def held(draws: int, generator: np.random.Generator) -> Held:
        intervals = []
        for counts in tallies(law, reports, draws, generator):
            sample = Sample.from_counts(inverse, counts)
            joint = joint_of(cross, inverse.shares(counts, reports), sample.covariance(inverse), sample)
            estimates = joint.figures("difference" if differences else "share_within")
            intervals.append([(estimate.low, estimate.high) for estimate in estimates])
        ends = np.array(intervals)
        return holds(ends[..., 0], ends[..., 1], truths)

    return held


FIGURES: Final = (
    Figure(
        "a share within a group, or among those who answered",
        "Fieller 1954 or betting",
        "measured",
        lambda: of_groups(differences=False),
        draws=100,
    ),
    Figure(
        "a difference between groups' shares",
        "Zou & Donner 2008",
        "measured",
        lambda: of_groups(differences=True),
        draws=100,
    ),
)
