"""The coverage of all intervals: ``python -m benchmarks coverage``.

Coverage is the probability that an interval contains the true value. The results are written to
RESULTS.md and to the page on coverage.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path
from statistics import fmean
from typing import Final, NamedTuple

import numpy as np
from click import progressbar

from benchmarks.coverage import distributions, group_means, groups, rankings, single, windows
from benchmarks.coverage.cells import Cell, Figure, Held
from benchmarks.results import table, verdict

FIGURES: Final = (
    *single.FIGURES,
    *distributions.FIGURES,
    *groups.FIGURES,
    *rankings.FIGURES,
    *group_means.FIGURES,
    *windows.FIGURES,
)
"""All kinds of figures that are measured, as listed in the modules of this folder."""

PAGE: Final = Path(__file__).parents[2] / "docs" / "research" / "intervals.md"

SEED: Final = 14
AGAIN: Final = 6
"""The number of intervals with the lowest coverage that are measured again, per kind of figure."""

TIMES_AGAIN: Final = 10
"""The number of tallies in the second measurement, divided by the number in the first measurement.
"""

TIMES_AT_LAST: Final = 100
"""The number of tallies in a third measurement, divided by the number in the first measurement.

The lowest of many coverages may be low by chance. If the lowest coverage seems too low, new tallies
decide.
"""

WANTED: Final = 0.93

HEADING: Final = ("figure", "interval", "basis", "lowest coverage", "measured for", "mean coverage")

MARK: Final = "<!-- table -->\n"
"""The comment on the page after which the table begins. Nothing follows the table."""


class Measured(NamedTuple):
    """The lowest coverage of a kind of figure, its cell, and the mean coverage over all cells."""

    figure: Figure
    least: float
    cell: Cell
    mean: float


class Lowest(NamedTuple):
    """The interval with the lowest coverage in one cell. ``place`` is the position in a tally."""

    coverage: float
    cell: Cell
    place: int

    @classmethod
    def from_held(cls, cell: Cell, held: Held) -> Lowest:
        coverages = held.mean(axis=0)
        place = int(coverages.argmin())
        return cls(float(coverages[place]), cell, place)

    def drawn_anew(self, draws: int, generator: np.random.Generator) -> Lowest:
        """Return the same interval, with its coverage in new tallies."""
        held = self.cell.held(draws, generator)
        return self._replace(coverage=float(held[:, self.place].mean()))


def measure_coverage() -> str:
    """Measure the coverage, write the page on coverage, and return the section of RESULTS.md.

    All rows of the page together take hours, so each row is written as soon as it is measured.
    """
    measured = []
    for figure in FIGURES:
        measured.append(_measured(figure))
        _write_page(measured)
    least = min(each.least for each in measured)
    return (
        "## Coverage of intervals\n\n"
        "The table shows the coverage of 95% intervals. docs/research/intervals.md explains the columns.\n\n"
        + table(HEADING, [_row(each) for each in measured])
        + "\nThe lowest coverage: "
        + verdict(least >= WANTED, f"{least:.3f}", f"≥ {WANTED}")
    )


def _row(measured: Measured) -> list[str]:
    return [
        measured.figure.name,
        measured.figure.method,
        measured.figure.basis,
        f"{measured.least:.3f}",
        f"{measured.cell.setting}; answers: {measured.cell.population}",
        f"{measured.mean:.3f}",
    ]


def _write_page(measured: Sequence[Measured]) -> None:
    """Write these rows into the page, without the mean coverage.

    Rows about figures that have not been measured yet remain unchanged.
    """
    prose, mark, shown = PAGE.read_text(encoding="utf-8").partition(MARK)
    lines = [line for line in shown.splitlines() if line.startswith("| ")]
    rows = {cells[0]: cells for cells in (line.strip("| ").split(" | ") for line in lines)}
    rows.update((each.figure.name, _row(each)[:-1]) for each in measured)
    ordered = [rows[figure.name] for figure in FIGURES if figure.name in rows]
    PAGE.write_text(prose + mark + "\n" + table(HEADING[:-1], ordered), encoding="utf-8")


def _measured(figure: Figure) -> Measured:
    generator = np.random.default_rng(SEED)
    with progressbar(list(figure.cells()), label=f"  {figure.name}", file=sys.stderr) as cells:
        first = [(cell, cell.held(figure.draws, generator)) for cell in cells]
    lowest = sorted((Lowest.from_held(cell, held) for cell, held in first), key=attrgetter("coverage"))[:AGAIN]
    again = [each.drawn_anew(TIMES_AGAIN * figure.draws, generator) for each in lowest]
    least = min(again, key=attrgetter("coverage"))
    if least.coverage < WANTED:
        least = least.drawn_anew(TIMES_AT_LAST * figure.draws, generator)
    return Measured(figure, least.coverage, least.cell, fmean(float(held.mean()) for _, held in first))
