"""The width of intervals for quantiles, with the mechanisms square wave and hierarchical."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from statistics import fmean
from typing import Final, NamedTuple

import numpy as np

from benchmarks.coverage.cells import holds, tallies
from benchmarks.results import table, verdict
from client_sdk.protocol import Channel
from client_sdk.protocol.kinds.number import Number
from client_sdk.protocol.mechanisms.hierarchical import Hierarchical
from client_sdk.protocol.mechanisms.square_wave import SquareWave
from client_sdk.protocol.requested_epsilon import RequestedEpsilon
from estimator.analyses.grid import QUANTILES
from estimator.distribution_intervals.intervals import quantile_intervals
from estimator.distribution_intervals.ranges import TallyRanges
from estimator.likelihood.histogram import Histogram, fits_of
from estimator.statistics.arrays import Floats
from tests.support.estimates.coverage import PROMISED
from tests.support.estimates.inverses import requested
from tests.support.estimates.populations import POPULATIONS, Population

EPSILONS: Final = ("0.5", "1", "2", "4")
REPORTS: Final = (10_000, 100_000)
DRAWS: Final = 3
"""The number of random tallies for each population, mechanism, epsilon and number of reports."""

UNIT: Final = Number(Fraction(0), Fraction(1), "quantiles")
MECHANISMS: Final[tuple[Callable[[RequestedEpsilon], Channel], ...]] = (SquareWave.within, Hierarchical.within)


class Cell(NamedTuple):
    """The intervals of five quantiles, in all tallies of one population.

    Attributes:
        width: the mean width of an interval, as a fraction of the range.
        held: the number of intervals that contained the true value.

    """

    width: float
    held: int
    intervals: int


def measure_quantiles() -> str:
    measured = {
        (epsilon, reports, make): [*_cells(make(requested(epsilon)), reports)]
        for epsilon, reports, make in product(EPSILONS, REPORTS, MECHANISMS)
    }
    rows = []
    for reports, epsilon in product(REPORTS, EPSILONS):
        wave, tree = (measured[epsilon, reports, make] for make in MECHANISMS)
        widths = [fmean(cell.width for cell in cells) for cells in (wave, tree)]
        narrower = sum(ours.width < theirs.width for ours, theirs in zip(tree, wave, strict=True))
        rows.append(
            [
                f"{reports:,}",
                epsilon,
                *(f"{width:.3f}" for width in widths),
                f"{narrower} of {len(tree)}",
                *(f"{_coverage(cells):.3f}" for cells in (wave, tree)),
            ]
        )
    least = min(_coverage(cells) for cells in measured.values())
    return (
        "## Quantiles\n\n"
        "The width is the mean width of the 95% intervals of five quantiles, as a share of the range, for\n"
        f"{len(POPULATIONS)} populations with {DRAWS} tallies each. The table also shows for how many populations\n"
        "the intervals of the hierarchical histogram are narrower. The coverage is the share of intervals that\n"
        "contain the true value.\n\n"
        + table(
            (
                "reports",
                "epsilon",
                "width, square wave",
                "width, hierarchical",
                "narrower for",
                "coverage, square wave",
                "coverage, hierarchical",
            ),
            rows,
        )
        + "\nThe lowest coverage of a row: "
        + verdict(least >= PROMISED, f"{least:.3f}", f"≥ {PROMISED}")
    )


def _coverage(cells: list[Cell]) -> float:
    return sum(cell.held for cell in cells) / sum(cell.intervals for cell in cells)


def _cells(channel: Channel, reports: int) -> Iterator[Cell]:
    histogram = Histogram.from_channel(channel, UNIT)
    for make in POPULATIONS.values():
        yield _cell(histogram, make(reports), reports)


def _cell(histogram: Histogram, people: Population, reports: int) -> Cell:
    law = histogram.law.symbol_law(people.on_grid(histogram.points.size))
    drawn = tallies(law, reports, DRAWS, np.random.default_rng(9))
    truths = np.array([people.quantile(probability) for probability in QUANTILES])
    ends: list[Floats] = []
    for counts, fit in zip(drawn, fits_of(histogram, drawn), strict=True):
        assert fit is not None
        tally = TallyRanges.from_counts(histogram, counts, fit.smoothed)
        ends.append(np.array(quantile_intervals(tally, QUANTILES)))
    lows, highs = np.array(ends).transpose(2, 0, 1)
    return Cell(float((highs - lows).mean()), int(holds(lows, highs, truths).sum()), lows.size)


if __name__ == "__main__":
    sys.stdout.write(measure_quantiles())
