"""The shares of a histogram's bins from a tally, by expectation maximisation.

Source: Li et al. 2020, section 5.4: expectation maximisation, and the same with the shares smoothed by (1, 2, 1) / 4
after each step (EMS), because the likeliest histogram of many bins follows the noise. Smoothing biases a little where
the density bends. Steps are accelerated by squared extrapolation (Varadhan & Roland 2008, "Simple and globally
convergent methods for accelerating the convergence of any EM algorithm", scheme SqS3).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from estimator.inverse.grid import GridLaw
from estimator.likelihood.histogram import Histogram
from estimator.statistics.arrays import Floats

SMALL_STEP = 1e-6
"""The shares are found when a step moves no more than this share of the people (ten times more costs accuracy)."""

MAX_LEAPS = 300
"""Three steps and an extrapolation each. Smoothed shares need about 80 at epsilon .5; the likeliest ones may be stopped
here: they only follow the noise more closely."""

LEAST_OF_A_STEP = 0.1
"""An extrapolation takes no more than nine tenths of a bin's share: a share of 0 would never rise again."""

LONGEST_LEAP = 1e6
"""Steps that an extrapolation stands for at most: where nothing moves any more their number is but rounding."""

AT_ONCE = 50
"""Tallies whose steps are made in one piece: a processor's cache holds their arrays, and larger ones take twice as long
for each tally."""


def shares_of(
    histogram: Histogram,
    frequencies: Floats,
    *,
    smooth: bool,
    start: Floats | None = None,
) -> Floats:
    """Return the shares of the bins: shape (..., symbols) to (..., bins).

    Args:
        histogram: its bins, and the law of the mechanism given them.
        frequencies: of the symbols, of sum 1; several tallies are estimated together.
        smooth: whether shares are smoothed after each step.
        start: shares near the solution, if some are known; else all bins begin alike.

    """
    begin = np.full(histogram.bins, 1 / histogram.bins) if start is None else start
    seen = frequencies.reshape(-1, frequencies.shape[-1])
    parts = (seen[first : first + AT_ONCE] for first in range(0, len(seen), AT_ONCE))
    found = np.concatenate([_leapt(histogram, part, begin, smooth=smooth) for part in parts])
    return found.reshape(*frequencies.shape[:-1], histogram.bins)


def _leapt(histogram: Histogram, seen: Floats, start: Floats, *, smooth: bool) -> Floats:
    """Return the shares for some tallies: shape (tallies, symbols) to (tallies, bins)."""
    shares = np.broadcast_to(start, (len(seen), histogram.bins))
    found, left = np.empty(shares.shape), np.arange(len(seen))
    for _ in range(MAX_LEAPS):
        once = stepped(histogram, seen, shares, smooth=smooth)
        found[left] = once
        moving = is_moving(shares, once)
        if not moving.all():  # most tallies are done long before the slowest one
            left, seen, shares, once = left[moving], seen[moving], shares[moving], once[moving]
        if left.size == 0:
            break
        far = extrapolated(shares, once, stepped(histogram, seen, once, smooth=smooth))
        shares = stepped(histogram, seen, far, smooth=smooth)
    return found


def stepped(law: GridLaw, frequencies: Floats, shares: Floats, *, smooth: bool) -> Floats:
    """Return where one step leads from some shares: shape (..., bins)."""
    reached = shares * law.expectations(frequencies / law.symbol_law(shares))
    return smoothed(reached) if smooth else reached


def is_moving(shares: Floats, once: Floats) -> NDArray[np.bool_]:
    """Return which shares have not been found, for a step moved them: shape (..., bins) to (...)."""
    moving: NDArray[np.bool_] = np.abs(once - shares).sum(axis=-1) >= SMALL_STEP
    return moving


def smoothed(shares: Floats) -> Floats:
    """Return shares of which a quarter went to either side; what would leave the range stays in its bin."""
    found, quarters = shares / 2, shares / 4
    found[..., 1:] += quarters[..., :-1]
    found[..., :-1] += quarters[..., 1:]
    found[..., 0] += quarters[..., 0]
    found[..., -1] += quarters[..., -1]
    return found


def possible(far: Floats, reached: Floats) -> Floats:
    """Return shares that were extrapolated, of sum 1 and above 0 wherever those are that a step reached."""
    found = np.maximum(far, LEAST_OF_A_STEP * reached)
    found /= found.sum(axis=-1, keepdims=True)
    return found


def extrapolated(shares: Floats, once: Floats, twice: Floats) -> Floats:
    """Return where steps that shrink by a steady factor would lead."""
    first, change = once - shares, twice - 2 * once + shares
    steady = np.maximum(_length(change), np.finfo(float).tiny)
    reach = np.clip(_length(first) / steady, 1.0, LONGEST_LEAP)
    return possible(shares + 2 * reach * first + reach**2 * change, twice)


def _length(vectors: Floats) -> Floats:
    length: Floats = np.sqrt((vectors**2).sum(axis=-1, keepdims=True))
    return length
