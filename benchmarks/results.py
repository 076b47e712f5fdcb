"""Functions that format measurements: medians with their range, and tables."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median


def spread(values: Sequence[float], digits: int = 0) -> str:
    """Return the median of values, and their smallest and largest value, as text."""
    return f"{median(values):,.{digits}f} ({min(values):,.{digits}f} to {max(values):,.{digits}f})"


NONE = "none"


def table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heading, ["---"] * len(heading), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def verdict(holds: bool, figure: str, goal: str) -> str:  # noqa: FBT001 reads as a sentence
    """Return a line on whether a figure meets its goal."""
    return f"**{figure}** (wanted: {goal}{'' if holds else '; **missed**'})\n"
