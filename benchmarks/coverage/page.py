"""The table of every interval, for its page and the results: ``python -m benchmarks coverage``."""

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
"""To add a figure, add a line with a function that yields its cells."""

PAGE: Final = Path(__file__).parents[2] / "docs" / "research" / "intervals.md"

SEED: Final = 14
AGAIN: Final = 6
"""How many of a figure's lowest intervals are measured again."""

TIMES_AGAIN: Final = 10
"""The factor by which the number of tallies is then increased."""

TIMES_AT_LAST: Final = 100
"""The factor for a lowest interval whose coverage seems too low. The lowest coverage of many may be
low by chance; tallies that did not choose it show whether it is.
"""

WANTED: Final = 0.93

HEADING: Final = ("figure", "interval", "basis", "least", "of", "mean")

MARK: Final = "<!-- table -->\n"
"""The text before the page's table, which reaches to the end of the page."""


class Measured(NamedTuple):
    """The coverage of a figure.

    Attributes:
        figure: the kind.
        least: the lowest coverage of an interval.
        cell: its cell.
        mean: over all cells.

    """

    figure: Figure
    least: float
    cell: Cell
    mean: float


class Lowest(NamedTuple):
    """An interval of a cell: its place among a tally's intervals, and its coverage."""

    coverage: float
    cell: Cell
    place: int

    @classmethod
    def from_held(cls, cell: Cell, held: Held) -> Lowest:
        """Return the interval of a tally that has the lowest coverage."""
        coverages = held.mean(axis=0)
        place = int(coverages.argmin())
        return cls(float(coverages[place]), cell, place)

    def drawn_anew(self, draws: int, generator: np.random.Generator) -> Lowest:
        """Return the same interval, measured with tallies that did not choose it."""
        held = self.cell.held(draws, generator)
        return self._replace(coverage=float(held[:, self.place].mean()))


def measure_coverage() -> str:
    """Return the section of the results, and write the page.

    Each row is written as soon as it is measured, since all take hours.
    """
    measured = []
    for figure in FIGURES:
        measured.append(_measured(figure))
        _write_page(measured)
    least = min(each.least for each in measured)
    return (
        "## Coverage of intervals\n\n"
        "Coverage of 95% intervals; docs/research/intervals.md explains the columns.\n\n"
        + table(HEADING, [_row(each) for each in measured])
        + "\nLeast: "
        + verdict(least >= WANTED, f"{least:.3f}", f"≥ {WANTED}")
    )


def _row(measured: Measured) -> list[str]:
    return [
        measured.figure.name,
        measured.figure.method,
        measured.figure.basis,
        f"{measured.least:.3f}",
        f"{measured.cell.setting}: {measured.cell.population}",
        f"{measured.mean:.3f}",
    ]


def _write_page(measured: Sequence[Measured]) -> None:
    """Write the page with these rows, without the means. Rows of figures that are not measured yet
    stay unchanged.
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
