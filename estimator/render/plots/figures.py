"""Estimates as points with their intervals, one below the other or over windows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from estimator.render.plots.library import BAND_OPACITY, BLUE, GREY
from estimator.render.rounding import within
from estimator.render.words import short
from estimator.results.distribution import Figure
from estimator.results.estimate import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LONGEST_LABEL, LONGEST_TITLE = 30, 60

MOST_DATES = 8
"""More dates would run together below the axis."""

Labelled = tuple[str, Estimate | Figure]

NO_REPORTS = "no reports"
NO_TEXTS = "no text was found"


def points(axes: Axes, figures: Sequence[Labelled], scale: float = 1.0, nothing: str = NO_REPORTS) -> None:
    """Draw each estimate with its interval on a line of its own, the first at the top.

    Args:
        axes: where.
        figures: labels and estimates.
        scale: by what values are multiplied: 100 for shares, which are shown in percent.
        nothing: what is said where no estimate is known.

    """
    known = [(label, figure) for label, figure in figures if figure.estimate is not None]
    if not known:
        axes.text(0.5, 0.5, nothing, ha="center", va="center", transform=axes.transAxes)
        return
    places = range(len(known))
    axes.hlines(
        places,
        [scale * figure.low for _, figure in known],
        [scale * figure.high for _, figure in known],
        colors=BLUE,
        linewidth=4,
        alpha=0.45,
    )
    axes.plot([scale * _value(figure) for _, figure in known], places, "o", color=BLUE)
    axes.set_yticks(places, [plain(label) for label, _ in known])
    axes.set_ylim(len(known) - 0.5, -0.5)
    axes.grid(axis="x", alpha=0.3)


def over_time(axes: Axes, figures: Sequence[tuple[date, Estimate | Figure]], scale: float = 1.0) -> None:
    """Draw an estimate over the first days of windows, with its intervals as a band."""
    known = [(day, figure) for day, figure in figures if figure.estimate is not None]
    days: Any = [day for day, _ in known]  # matplotlib takes dates, which its types leave out
    lows, highs = ([scale * getattr(figure, end) for _, figure in known] for end in ("low", "high"))
    middles = [scale * _value(figure) for _, figure in known]
    axes.fill_between(days, lows, highs, color=BLUE, alpha=BAND_OPACITY, linewidth=0)
    axes.plot(days, middles, "o-", color=BLUE)
    if known:
        every = -(-len(days) // MOST_DATES)
        axes.set_xticks(days[::every], [day.isoformat() for day in days[::every]], rotation=30, ha="right")
    axes.grid(axis="y", alpha=0.3)


def _value(figure: Estimate | Figure) -> float:
    """Return where a known estimate is drawn."""
    return within(figure.estimate, figure.low, figure.high) or 0.0


def mark_zero(axes: Axes) -> None:
    """Draw a line where nothing differs."""
    axes.axvline(0, color=GREY, linewidth=1, linestyle="--")


def plain(text: str, most: int = LONGEST_LABEL) -> str:
    """Return a label that matplotlib shows as it is: a dollar sign begins no formula."""
    return short(text, most).replace("$", r"\$")
