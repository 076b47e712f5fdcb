"""The shares of a histogram's bins from a tally, by expectation maximization.

Source: Li et al. 2020, section 5.4: expectation maximization, and the variant that smooths the
shares by (1, 2, 1) / 4 after each step (EMS), because the likeliest histogram of many bins follows
the noise. Smoothing introduces a small bias where the density bends. Steps are accelerated by
squared extrapolation (Varadhan & Roland 2008, "Simple and globally convergent methods for
accelerating the convergence of any EM algorithm", scheme SqS3).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from estimator.decoders.protocol import ChannelLaw
from estimator.likelihood.histogram import Histogram
from estimator.statistics.arrays import Floats

SMALL_STEP = 1e-6
"""The iteration ends with a step that moves at most this share of the people. Ten times more would
cost accuracy.
"""

MAX_LEAPS = 300
"""Each takes three steps and an extrapolation. Smoothed shares need about 80 at epsilon .5.
Unsmoothed ones may be stopped here, because they only follow the noise more closely.
"""

LEAST_OF_A_STEP = 0.1
"""An extrapolation removes at most nine tenths of a bin's share, because a share of 0 would never
rise again.
"""

LONGEST_LEAP = 1e6
"""The most steps that an extrapolation stands for. Where nothing moves any more, their number is
rounding error.
"""

AT_ONCE = 50
"""Tallies whose steps are computed in one piece. Their arrays fit into a processor's cache; larger
arrays take twice as long for each tally.
"""


def shares_of(
    histogram: Histogram,
    frequencies: Floats,
    *,
    smooth: bool,
    start: Floats | None = None,
) -> Floats:
    """Return the shares of the bins: shape (..., symbols) to (..., bins).

    Args:
        histogram: its bins, and the law of the mechanism given each bin.
        frequencies: of the symbols, of sum 1; several tallies are estimated together.
        smooth: whether to smooth the shares after each step.
        start: shares near the solution, if any are known; otherwise all bins begin equal.

    """
    begin = np.full(histogram.bins, 1 / histogram.bins) if start is None else start
    seen = frequencies.reshape(-1, frequencies.shape[-1])
    parts = (seen[first : first + AT_ONCE] for first in range(0, len(seen), AT_ONCE))
    shares = np.concatenate([_leapt(histogram, part, begin, smooth=smooth) for part in parts])
    return shares.reshape(*frequencies.shape[:-1], histogram.bins)


def _leapt(histogram: Histogram, seen: Floats, start: Floats, *, smooth: bool) -> Floats:
    """Return the shares for a batch: shape (tallies, symbols) to (tallies, bins)."""
    shares = np.broadcast_to(start, (len(seen), histogram.bins))
    result, left = np.empty(shares.shape), np.arange(len(seen))
    for _ in range(MAX_LEAPS):
        once = stepped(histogram, seen, shares, smooth=smooth)
        result[left] = once
        moving = is_moving(shares, once)
        if not moving.all():  # most tallies are done long before the slowest one
            left, seen, shares, once = left[moving], seen[moving], shares[moving], once[moving]
        if left.size == 0:
            break
        far = extrapolated(shares, once, stepped(histogram, seen, once, smooth=smooth))
        shares = stepped(histogram, seen, far, smooth=smooth)
    return result


def stepped(law: ChannelLaw, frequencies: Floats, shares: Floats, *, smooth: bool) -> Floats:
    """Return the shares after one step: shape (..., bins)."""
    reached = shares * law.expectations(frequencies / law.symbol_law(shares))
    return smoothed(reached) if smooth else reached


def is_moving(shares: Floats, once: Floats) -> NDArray[np.bool_]:
    """Return which shares were still moved by a step: shape (..., bins) to (...)."""
    moving: NDArray[np.bool_] = np.abs(once - shares).sum(axis=-1) >= SMALL_STEP
    return moving


def smoothed(shares: Floats) -> Floats:
    """Return shares of which a quarter moved to either side.

    Parts that would leave the range stay in their bin.
    """
    result, quarters = shares / 2, shares / 4
    result[..., 1:] += quarters[..., :-1]
    result[..., :-1] += quarters[..., 1:]
    result[..., 0] += quarters[..., 0]
    result[..., -1] += quarters[..., -1]
    return result


def possible(far: Floats, reached: Floats) -> Floats:
    """Return extrapolated shares with sum 1, above 0 wherever those of the last step are."""
    result = np.maximum(far, LEAST_OF_A_STEP * reached)
    result /= result.sum(axis=-1, keepdims=True)
    return result


def extrapolated(shares: Floats, once: Floats, twice: Floats) -> Floats:
    """Return the shares to which steps that shrink by a constant factor would lead."""
    first, change = once - shares, twice - 2 * once + shares
    steady = np.maximum(_length(change), np.finfo(float).tiny)
    reach = np.clip(_length(first) / steady, 1.0, LONGEST_LEAP)
    return possible(shares + 2 * reach * first + reach**2 * change, twice)


def _length(vectors: Floats) -> Floats:
    length: Floats = np.sqrt((vectors**2).sum(axis=-1, keepdims=True))
    return length
