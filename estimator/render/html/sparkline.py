"""A line of how a figure moved, small enough to stand in a table."""

from __future__ import annotations

from collections.abc import Sequence

from estimator.results.estimate import Estimate

WIDTH, HEIGHT, MARGIN = 120, 28, 2


def sparkline(track: Sequence[Estimate | None]) -> str:
    """Return the path of a figure over windows, with gaps where there is none; empty if it is known but once."""
    known = [one.unbiased for one in track if one is not None and one.unbiased is not None]
    if len(known) < 2:  # noqa: PLR2004 a line has two ends
        return ""
    least, most = min(known), max(known)
    path, is_drawn = [], False
    for position, one in enumerate(track):
        if one is None or one.unbiased is None:
            is_drawn = False
            continue
        x = MARGIN + (WIDTH - 2 * MARGIN) * position / max(1, len(track) - 1)
        height = (one.unbiased - least) / (most - least) if most > least else 0.5
        y = HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * height
        path.append(f"{'L' if is_drawn else 'M'}{x:.0f} {y:.1f}{'' if is_drawn else 'h0'}")  # h0: a lone one is a dot
        is_drawn = True
    return "".join(path)
