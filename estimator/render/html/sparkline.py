"""A line of how a figure moved, small enough for a table."""

from __future__ import annotations

from collections.abc import Sequence

from estimator.results.estimate import Estimate

WIDTH, HEIGHT, MARGIN = 120, 28, 2


def sparkline(track: Sequence[Estimate | None]) -> str:
    """Return the SVG path of a figure over windows, with a gap at each None.

    It is empty with fewer than two points.
    """
    values = [None if estimate is None else estimate.estimate for estimate in track]
    points = [value for value in values if value is not None]
    if len(points) < 2:  # noqa: PLR2004 a line has two ends
        return ""
    least, most = min(points), max(points)
    path, is_drawn = [], False
    for position, value in enumerate(values):
        if value is None:
            is_drawn = False
            continue
        x = MARGIN + (WIDTH - 2 * MARGIN) * position / max(1, len(track) - 1)
        height = (value - least) / (most - least) if most > least else 0.5
        y = HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * height
        # h0 draws a dot where a point has no neighbour
        path.append(f"{'L' if is_drawn else 'M'}{x:.0f} {y:.1f}{'' if is_drawn else 'h0'}")
        is_drawn = True
    return "".join(path)
