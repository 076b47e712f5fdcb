"""The coverage of intervals for the AUC of a scale, and for the points of its ROC curve.

People answer with yes or no, together with a step of a scale. The AUC measures how well the steps
rank people with yes above people with no.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

from benchmarks.coverage.cells import Cell, Figure, Held, holds, tallies
from client_sdk.protocol.kinds.boolean import Boolean
from client_sdk.protocol.kinds.cross import Cross
from client_sdk.protocol.kinds.ordinal import Ordinal
from client_sdk.protocol.mechanisms import channel_for
from estimator.analyses.pairs import auc_of_pairs, roc_of_pairs
from estimator.analyses.ratios import Sample
from estimator.decoders.inversions import inverse_of
from estimator.results.estimate import Estimate
from estimator.statistics.arrays import Floats
from estimator.statistics.confidence import Z
from tests.support.estimates.inverses import requested
from tests.support.estimates.populations import HOSTILE, POPULATIONS, Population

REPORTS: Final = (50, 300, 10_000)

SCALE: Final = Cross(Ordinal(("1", "2", "3", "4", "5")), Boolean())

LOWEST: Final = np.eye(SCALE.first.size)[0]

PEOPLE: Final[dict[str, tuple[float, Callable[[Floats], Floats]]]] = {
    "half say yes": (0.5, lambda of_yes: of_yes[::-1]),
    "5% say yes": (0.05, lambda of_yes: of_yes[::-1]),
    "5% say yes, and all others are at the lowest step": (0.05, lambda _: LOWEST),
}
"""The share of yes, and a function from the shares of the steps for yes to the shares for no.

Most of these functions reverse the order of the steps.
"""


def of_rankings(*, points: bool) -> Iterator[Cell]:
    """Yield the cells of the AUC or, with ``points``, of the points of the ROC curve.

    The steps of people with yes come from a population.
    """
    for people in PEOPLE:
        for epsilon in ("1", "3", "8"):
            for reports in REPORTS:
                for population in HOSTILE:
                    setting = f"{people}, epsilon {epsilon}, {reports:,} reports"
                    steps = POPULATIONS[population](reports)
                    yield Cell(setting, population, held_by(people, steps, epsilon, reports, points))


def held_by(
    people: str,
    steps: Population,
    epsilon: str,
    reports: int,
    points: bool,  # noqa: FBT001 as of_rankings
) -> Callable[[int, np.random.Generator], Held]:
    yes, no_of = PEOPLE[people]
    inverse = inverse_of(channel_for(SCALE, requested(epsilon), "auto"))
    of_yes = steps.in_bins(SCALE.first.size)
    of_no = no_of(of_yes)
    law = inverse.symbol_law(np.column_stack([(1 - yes) * of_no, yes * of_yes]).ravel())
    truths = curve(of_no, of_yes) if points else area(of_no, of_yes)

    def held(draws: int, generator: np.random.Generator) -> Held:
        intervals = []
        for counts in tallies(law, reports, draws, generator):
            sample = Sample.from_counts(inverse, counts)
            shares, covariance = inverse.shares(counts, reports), sample.covariance(inverse)
            estimates: list[Estimate] = [auc_of_pairs(shares, covariance, sample, Z)]
            if points:
                estimates = [*roc_of_pairs(SCALE, shares, covariance, sample, Z)]
            intervals.append([(estimate.low, estimate.high) for estimate in estimates])
        ends = np.array(intervals)
        return holds(ends[..., 0], ends[..., 1], truths)

    return held


def area(of_no: Floats, of_yes: Floats) -> float:
    """Return the AUC: how often a yes is at a higher step than a no. Ties count one half.

    ``of_no`` and ``of_yes`` are the shares of the steps among people with no and with yes.
    """
    below = np.cumsum(of_no) - of_no / 2
    return float(of_yes @ below)


def curve(of_no: Floats, of_yes: Floats) -> Floats:
    """Return the points of the ROC curve, as a flat array.

    For each step except the first, the array contains two shares of people at or above the step:
    among people with no, and among people with yes.
    """
    above = 1 - np.cumsum([of_no, of_yes], axis=1)[:, :-1]
    return above.T.ravel()


FIGURES: Final = (
    Figure(
        "the AUC of a scale",
        "Zou & Donner 2008, from the shares of steps among “yes” and among “no”",
        "measured",
        lambda: of_rankings(points=False),
        draws=100,
    ),
    Figure(
        "a point of a scale's ROC curve",
        "Fieller 1954 or betting",
        "measured",
        lambda: of_rankings(points=True),
        draws=100,
    ),
)
