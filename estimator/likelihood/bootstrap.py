"""Histograms of tallies resampled from the fitted law: how far estimates vary by chance.

All of them lie around the same shares, where a step of expectation maximisation is almost linear.
Its derivative there is computed once, and each tally is solved by Newton steps with it. The
difference to a tally's own derivative is learnt from the last few steps (Anderson 1965, "Iterative
procedures for nonlinear integral equations"; Walker & Ni 2011, "Anderson acceleration for
fixed-point iterations", section 2). The few tallies that this does not solve, because some of their
bins are empty, take the slower steps of `shares_of`. Both stop at the same small step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from estimator.likelihood.expectation_maximisation import AT_ONCE, is_moving, possible, shares_of, smoothed, stepped
from estimator.likelihood.histogram import Histogram
from estimator.statistics.arrays import Floats

RESAMPLES: Final = 200
"""The number of resampled tallies: five beyond each end of an interval of 95 %."""

SEED: Final = 1
"""The same tally has the same intervals on every run."""

ROUNDS: Final = 40
"""Five to fifteen are usual from 10,000 reports on. Tallies that need more are left to
`shares_of`."""

MEMORY: Final = 5
"""The number of steps from which the rest of the derivative is learnt."""

RIDGE: Final = 1e-8
"""A fraction of the squared steps that keeps the equations solvable if two steps are alike."""


def drawn_anew(histogram: Histogram, shares: Floats, reports: int) -> Floats:
    """Return the smoothed shares of tallies drawn from a population: shape (RESAMPLES, bins).

    Args:
        histogram: its bins, and the law of the mechanism given each bin.
        shares: of the population, shape (bins,).
        reports: of each tally.

    """
    law = histogram.symbol_law(shares)
    law /= law.sum()
    drawn = np.random.default_rng(SEED).multinomial(reports, law, size=RESAMPLES) / reports
    middle = shares_of(histogram, law, smooth=True, start=shares)  # smoothing moves shares off the likeliest
    newton = _newton(histogram, law, middle)
    resampled = np.empty((RESAMPLES, histogram.bins))
    for first in range(0, RESAMPLES, AT_ONCE):
        part = slice(first, first + AT_ONCE)
        resampled[part], unsolved = _solved(histogram, drawn[part], middle, newton)
        if unsolved.size:
            resampled[first + unsolved] = shares_of(histogram, drawn[first + unsolved], smooth=True, start=shares)
    return resampled


def _newton(histogram: Histogram, law: Floats, shares: Floats) -> Floats:
    """Return the matrix that extends a step near some shares to the whole way.

    The step is a row; the matrix has shape (bins, bins).
    """
    one_bin = np.eye(histogram.bins)
    fitted = shares @ histogram.table
    weighted = histogram.table * (np.sqrt(law) / fitted)
    derivative = smoothed(one_bin * (histogram.table @ (law / fitted)) - (weighted @ weighted.T) * shares)
    all_the_way: Floats = np.linalg.inv(one_bin - derivative).astype(np.float64)
    return all_the_way


def _solved(histogram: Histogram, drawn: Floats, start: Floats, newton: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """Return each tally's shares, shape (tallies, bins), and the positions of unsolved tallies."""
    solved, seen, left = np.empty((len(drawn), start.size)), drawn, np.arange(len(drawn))
    points, steps = [np.broadcast_to(start, solved.shape)], []
    for _ in range(ROUNDS):
        once = stepped(histogram, seen, points[-1], smooth=True)
        solved[left] = once
        steps.append(once - points[-1])
        moving = is_moving(points[-1], once)
        points, steps = points[-MEMORY - 1 :], steps[-MEMORY - 1 :]
        if not moving.all():
            left, seen, once = left[moving], seen[moving], once[moving]
            points, steps = ([rows[moving] for rows in kept] for kept in (points, steps))
        if left.size == 0:
            break
        points.append(possible(_ahead(points, steps, newton), once))
    return solved, left


def _ahead(points: Sequence[Floats], steps: Sequence[Floats], newton: Floats) -> Floats:
    """Return where the last points and their steps lead; all of shape (tallies, bins)."""
    moves, bends = (np.diff(np.stack(rows, axis=1), axis=1) for rows in (points, steps))
    squares = bends @ bends.transpose(0, 2, 1)
    ridge = RIDGE * np.trace(squares, axis1=1, axis2=2) + np.finfo(float).tiny
    solvable = squares + ridge[:, np.newaxis, np.newaxis] * np.eye(len(steps) - 1)
    weights = np.linalg.solve(solvable, bends @ steps[-1][..., np.newaxis]).transpose(0, 2, 1)
    straight: Floats = points[-1] - (weights @ moves)[:, 0]
    return straight + (steps[-1] - (weights @ bends)[:, 0]) @ newton
