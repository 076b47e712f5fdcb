"""Lines of figures whose decimal points stand below each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from estimator.render.rounding import Rounded
from estimator.render.text.style import SHORTEST_BAR, Style
from estimator.render.text.widths import columns_of, padded

SHORTEST_LABEL = 6
"""The columns that a label keeps, however long the figures are."""

LONGEST_BAR = 20


class FigureCells(NamedTuple):
    """What one line shows.

    Attributes:
        label: the name of the figure.
        rounded: its texts.
        value: where the bar ends. None if it is unknown.
        ends: the ends of the bar. None where there is no bar.

    """

    label: str
    rounded: Rounded
    value: float | None
    ends: tuple[float, float] | None


def figure_lines(rows: Sequence[FigureCells], style: Style) -> Iterator[str]:
    """Yield a line for each figure: label, estimate with unit, error, interval, bar if it fits."""
    estimates = aligned([row.rounded.estimate or "?" for row in rows])
    errors = aligned([row.rounded.error for row in rows])
    lows, highs = aligned([row.rounded.low for row in rows]), aligned([row.rounded.high for row in rows])
    unit_width = max((columns_of(row.rounded.suffix) for row in rows), default=0)
    figures = [
        f"{estimate}{padded(row.rounded.suffix, unit_width)} {_error(error)}  {low} to {high}"
        for row, estimate, error, low, high in zip(rows, estimates, errors, lows, highs, strict=True)
    ]
    longest = max((columns_of(figure) for figure in figures), default=0)
    columns = max(SHORTEST_LABEL, min(_longest_label(rows, style), style.width - longest - len("  ") - len("  ")))
    for row, figure in zip(rows, figures, strict=True):
        label = f"  {style.filled(row.label, columns)}  "
        yield f"{label}{figure}{_bar(row, style.width - columns_of(label) - longest - 2, style)}"


def aligned(texts: Sequence[str]) -> list[str]:
    """Return numbers as texts of one width with their points in one column."""
    parts = [text.partition(".") for text in texts]
    before = max((len(whole) for whole, _, _ in parts), default=0)
    behind = max((len(point + rest) for _, point, rest in parts), default=0)
    return [f"{whole:>{before}}{point + rest:{behind}}" for whole, point, rest in parts]


def _error(text: str) -> str:
    """Return an error with its sign, or as many spaces where there is none."""
    return f"± {text}" if text.strip() else " " * (len("± ") + len(text) if text else 0)


def _longest_label(rows: Sequence[FigureCells], style: Style) -> int:
    return max(SHORTEST_LABEL, min(style.value_width, max((columns_of(row.label) for row in rows), default=0)))


def _bar(row: FigureCells, room: int, style: Style) -> str:
    if row.ends is None or row.value is None or room < SHORTEST_BAR:
        return ""
    part = (row.value - row.ends[0]) / (row.ends[1] - row.ends[0])
    return f"  {style.coloured(style.bar(part, min(room, LONGEST_BAR)), 'cyan')}"
