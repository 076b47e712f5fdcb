"""The table of every interval: ``python -m benchmarks coverage`` writes it into docs/intervals.md and the results."""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import fmean
from typing import Final, NamedTuple

import numpy as np

from benchmarks.coverage import distributions, groups, single, windows
from benchmarks.coverage.cells import Cell, Figure
from benchmarks.results import table, verdict

FIGURES: Final = (*single.FIGURES, *distributions.FIGURES, *groups.FIGURES, *windows.FIGURES)
"""One more figure is one more line, with a function that yields its cells."""

PAGE: Final = Path(__file__).parents[2] / "docs" / "intervals.md"

SEED: Final = 14
AGAIN: Final = 6
"""Of the cells of a figure so many, the lowest, are measured again."""

DRAWS_AGAIN: Final = 3000

WANTED: Final = 0.93

HEADING: Final = ("figure", "interval", "basis", "least", "of", "mean")

MARK: Final = "<!-- table -->\n"
"""Stands before the page's table, which reaches to its end."""


class Measured(NamedTuple):
    """The coverage of a figure.

    Attributes:
        figure: the kind.
        least: the lowest coverage.
        of: its cell.
        mean: over all cells.

    """

    figure: Figure
    least: float
    of: Cell
    mean: float


def measure_coverage() -> str:
    """Return the section of the results, and write the page."""
    measured = [_measured(figure) for figure in FIGURES]
    rows = [
        [
            each.figure.name,
            each.figure.method,
            each.figure.basis,
            f"{each.least:.3f}",
            f"{each.of.setting}: {each.of.population}",
            f"{each.mean:.3f}",
        ]
        for each in measured
    ]
    shown = table(HEADING, rows)
    prose, mark, _ = PAGE.read_text(encoding="utf-8").partition(MARK)
    PAGE.write_text(prose + mark + "\n" + shown, encoding="utf-8")
    least = min(each.least for each in measured)
    return (
        "## Coverage of intervals\n\n"
        "How often intervals held the truth; docs/intervals.md says of what.\n\n"
        + shown
        + "\nLeast: "
        + verdict(least >= WANTED, f"{least:.3f}", f"≥ {WANTED}")
    )


def _measured(figure: Figure) -> Measured:
    sys.stderr.write(f"  {figure.name} …\n")
    generator = np.random.default_rng(SEED)
    first = [(cell, cell.held(figure.draws, generator)) for cell in figure.cells()]
    lowest = sorted(first, key=lambda each: float(each[1].mean(axis=0).min()))[:AGAIN]
    again = [
        (float(cell.held(DRAWS_AGAIN, generator).mean(axis=0).min()), place) for place, (cell, _) in enumerate(lowest)
    ]
    least, place = min(again)
    return Measured(figure, least, lowest[place][0], fmean(float(held.mean()) for _, held in first))
