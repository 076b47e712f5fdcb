"""The greatest convex function below some values."""

from __future__ import annotations

import numpy as np

from estimator.statistics.arrays import Floats


def convex_minorant(values: Floats) -> Floats:
    """Return the greatest convex function on 0, 1, … that is nowhere above the values, shape (k,).

    Its corners are found from left to right: a corner that lies above the line from the one before
    it to the next value is none (Andrew 1979, "Another efficient algorithm for convex hulls in two
    dimensions").
    """
    corners: list[tuple[int, float]] = []
    for corner in enumerate(values.tolist()):
        while len(corners) > 1 and _is_above(corners[-1], corners[-2], corner):
            corners.pop()
        corners.append(corner)
    places, heights = zip(*corners, strict=True)
    minorant: Floats = np.interp(np.arange(values.size), places, heights)
    return minorant


def _is_above(corner: tuple[int, float], before: tuple[int, float], after: tuple[int, float]) -> bool:
    """Whether a corner lies above the line between two others."""
    (at, height), (start, low), (end, high) = corner, before, after
    return (height - low) * (end - start) > (high - low) * (at - start)
