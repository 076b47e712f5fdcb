"""A small chart of how a figure moved, with its intervals and its scale, for a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from estimator.render.rounding import SENTENCE_FIGURES, Unit, within
from estimator.results.estimate import Estimate

WIDTH, HEIGHT, MARGIN = 120, 28, 2


@dataclass(frozen=True, slots=True)
class Spark:
    """A small chart.

    Attributes:
        line: the SVG path of the estimates, with a gap where there is none.
        band: the SVG path of the intervals.
        top: the number at the upper edge, in words.
        bottom: the number at the lower edge, in words.

    """

    line: str
    band: str
    top: str
    bottom: str


def sparkline(track: Sequence[Estimate | None], unit: Unit) -> Spark | None:
    """Return the chart of a figure over windows. None with fewer than two points."""
    known = [estimate for estimate in track if estimate is not None and estimate.estimate is not None]
    if len(known) < 2:  # noqa: PLR2004 a line has two ends
        return None
    least = min(estimate.low for estimate in known)
    most = max(estimate.high for estimate in known)
    scale = _Scale(least, most, len(track))
    runs = list(_runs(track))
    ends = unit.rounded(Estimate(None, None, least, most), SENTENCE_FIGURES)
    return Spark(
        line="".join(scale.line(run) for run in runs),
        band="".join(scale.band(run) for run in runs),
        top=f"{ends.high}{unit.suffix}",
        bottom=f"{ends.low}{unit.suffix}",
    )


Run = Sequence[tuple[int, Estimate]]
"""Windows that follow each other, each with its position and its estimate."""


def _runs(track: Sequence[Estimate | None]) -> Iterator[Run]:
    for is_known, run in groupby(enumerate(track), key=lambda at: at[1] is not None and at[1].estimate is not None):
        if is_known:
            yield [(position, estimate) for position, estimate in run if estimate is not None]


@dataclass(frozen=True, slots=True)
class _Scale:
    least: float
    most: float
    windows: int

    def line(self, run: Run) -> str:
        points = [
            self._point(position, within(estimate.estimate, estimate.low, estimate.high) or 0.0)
            for position, estimate in run
        ]
        return f"M{'L'.join(points)}h0"  # h0 draws a dot where a point has no neighbor

    def band(self, run: Run) -> str:
        there = [self._point(position, estimate.high) for position, estimate in run]
        back = [self._point(position, estimate.low) for position, estimate in reversed(run)]
        return f"M{'L'.join([*there, *back])}Z"

    def _point(self, position: int, value: float) -> str:
        x = MARGIN + (WIDTH - 2 * MARGIN) * position / max(1, self.windows - 1)
        height = (value - self.least) / (self.most - self.least) if self.most > self.least else 0.5
        return f"{x:.0f} {HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * height:.1f}"
