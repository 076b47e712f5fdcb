"""The decoder of optimal-mean, whose unbiased scores have a small worst-case variance.

Band i consists of the symbols i to i + width - 1. A device that uses this band prefers these
symbols. An input (a point of a grid) is rounded at random to one of the two nearest bands.

From band i to band i + 1, symbol i + width replaces symbol i. Scores are therefore unbiased, after
scaling, if symbol i + width scores ``steps[i]`` more than symbol i. Here, ``steps[i]`` is the
distance between the inputs of the two bands. The decoder is free to choose all other differences
between scores. The choice minimizes a smooth upper bound on the variance for the worst input.
Scores are unbiased for every choice, so rounding differences between machines do no harm.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from client_sdk.protocol.mechanisms.optimal_mean import OptimalMean
from estimator.decoders.decoder import REMEMBERED, Decoder, floats
from estimator.statistics.arrays import Floats

SHARPNESS: Final = (10.0, 100.0, 1e3, 1e4)
"""The sharpness of each smooth bound on the largest variance, in the order of minimization."""

NEWTON_STEPS: Final = 30
"""The maximum number of steps of Newton's method at each sharpness. Ten are usually enough."""

SCORE_SCALE: Final = 2**32
"""The denominator of the fractions to which the free numbers (see `_free`) are rounded."""


@dataclass(frozen=True, slots=True, eq=False)
class OptimalMeanLaw:
    """The distribution of symbols, as two linear maps: from inputs to bands, then to symbols.

    Attributes:
        bands: the probability of each symbol given each band, shape (bands, symbols).
        knots: for each band, the input that always uses this band, shape (bands,).
        lower: for each input, the index of the last band whose knot is not above the input, shape
            (inputs,).
        parts: for each input, the probability that a device uses the band after ``lower``, shape
            (inputs,).
    """

    bands: Floats
    knots: NDArray[np.int64]
    lower: NDArray[np.int64]
    parts: Floats

    @classmethod
    def from_channel(cls, channel: OptimalMean) -> OptimalMeanLaw:
        """Compute the distribution of a channel."""
        knots, inputs = np.array(channel.knots), np.arange(channel.inputs)
        lower = np.searchsorted(knots[:-1], inputs, side="right") - 1
        return cls(band_law(channel), knots, lower, (inputs - knots[lower]) / np.diff(knots)[lower])

    def symbol_law(self, shares: Floats) -> Floats:
        """Return the probability of each symbol, shape (..., symbols), for shares of the inputs."""
        firsts = self.knots[:-1]
        of_bands = np.zeros((*shares.shape[:-1], self.knots.size))
        of_bands[..., :-1] = np.add.reduceat(shares * (1 - self.parts), firsts, axis=-1)
        of_bands[..., 1:] += np.add.reduceat(shares * self.parts, firsts, axis=-1)
        law: Floats = of_bands @ self.bands
        return law

    def expectations(self, scores: Floats, /) -> Floats:
        """Return the expected score of a report for each input, shape (..., inputs)."""
        of_bands = scores @ self.bands.T
        expected: Floats = of_bands[..., self.lower] * (1 - self.parts) + of_bands[..., self.lower + 1] * self.parts
        return expected


@lru_cache(maxsize=REMEMBERED)
def law(channel: OptimalMean) -> OptimalMeanLaw:
    """Return the distribution of a channel's symbols."""
    return OptimalMeanLaw.from_channel(channel)


@lru_cache(maxsize=REMEMBERED)
def decoder(channel: OptimalMean) -> Decoder:
    """Return the unbiased scores of the symbols, and the expected squared score of each input."""
    of_symbols = floats(scores(channel))
    return Decoder(of_symbols, law(channel).expectations(of_symbols**2))


@lru_cache(maxsize=REMEMBERED)
def scores(channel: OptimalMean) -> tuple[Fraction, ...]:
    """Return the exact unbiased score of each symbol, with inputs on a scale from 0 to 1."""
    heights = _heights(channel)
    slope = Fraction(channel.band_total, (channel.heavy - channel.light) * channel.knots[-1])
    return tuple(Fraction(1, 2) + slope * height for height in heights)


def band_law(channel: OptimalMean) -> Floats:
    """Return the probability of each symbol given each band, shape (bands, symbols)."""
    places = np.arange(channel.symbols) - np.arange(len(channel.knots))[:, np.newaxis]
    inside = (places >= 0) & (places < channel.width)
    table: Floats = np.where(inside, channel.heavy / channel.band_total, channel.light / channel.band_total)
    return table


def _heights(channel: OptimalMean) -> list[Fraction]:
    """Return the height of each symbol, which is its score before scaling.

    Heights are symmetric around 0: the first is the negative of the last, and so on.
    """
    fixed, free = _fixed(channel), _free(channel)
    chosen = _least_worst(channel, floats(fixed), free)
    exact = [Fraction(round(each * SCORE_SCALE), SCORE_SCALE) for each in chosen.tolist()]
    signs = free.astype(int).tolist()
    return [
        height + sum((sign * each for sign, each in zip(row, exact, strict=True) if sign), Fraction(0))
        for height, row in zip(fixed, signs, strict=True)
    ]


def _chains(channel: OptimalMean) -> list[range]:
    """Return the chains of symbols, such as 1, 1 + width, 1 + 2 width and so on."""
    return [range(first, channel.symbols, channel.width) for first in range(channel.width)]


def _fixed(channel: OptimalMean) -> list[Fraction]:
    """Return heights that rise by the required steps along each chain."""
    heights = [Fraction(0)] * channel.symbols
    for chain in _chains(channel):
        for lower, upper in pairwise(chain):
            heights[upper] = heights[lower] + channel.steps[lower]
        center = heights[chain[-1]] / 2
        for symbol in chain:
            heights[symbol] -= center
    return heights


def _free(channel: OptimalMean) -> Floats:
    """Return the effect of each free number on each height, shape (symbols, numbers).

    Each free number is added to the heights of one chain, and subtracted from the heights of the
    mirrored chain. Heights then stay unbiased and symmetric.
    """
    columns = []
    for chain in _chains(channel):
        mirrored = channel.symbols - 1 - chain[-1]
        if chain[0] < mirrored:
            column = np.zeros(channel.symbols)
            column[list(chain)] = 1
            column[[channel.symbols - 1 - symbol for symbol in chain]] = -1
            columns.append(column)
    return np.array(columns).reshape(-1, channel.symbols).T


def _least_worst(channel: OptimalMean, fixed: Floats, free: Floats) -> Floats:
    """Return the free numbers that minimize the bound on the largest variance (Newton's method)."""
    table, count = band_law(channel), free.shape[1]
    gap = (channel.heavy - channel.light) / channel.band_total
    places = gap * (np.array(channel.knots) - channel.knots[-1] / 2)
    table = np.concatenate([table, (table[1:] + table[:-1]) / 2])
    places = np.concatenate([places, (places[1:] + places[:-1]) / 2])
    curvatures = 2 * np.einsum("bs,si,sj->bij", table, free, free)
    free_numbers: Floats = np.linalg.pinv(free) @ -fixed
    scale = float((table @ (fixed + free @ free_numbers) ** 2 - places**2).max())

    def bound(numbers: Floats, sharpness: float) -> tuple[float, Floats, Floats]:
        heights = fixed + free @ numbers
        scaled = sharpness * (table @ heights**2 - places**2) / scale
        weights = np.exp(scaled - scaled.max())
        value = float(scaled.max() + np.log(weights.sum())) / sharpness
        return value, heights, weights / weights.sum()

    for sharpness in SHARPNESS if count else ():
        for _ in range(NEWTON_STEPS):
            value, heights, weights = bound(free_numbers, sharpness)
            slopes = 2 * (table * heights) @ free / scale
            slope = weights @ slopes
            curvature = np.tensordot(weights, curvatures, 1) / scale
            curvature += sharpness * ((slopes * weights[:, np.newaxis]).T @ slopes - np.outer(slope, slope))
            step = np.linalg.solve(curvature, slope)
            length = 1.0
            while length > 2.0**-20 and bound(free_numbers - length * step, sharpness)[0] > value:
                length /= 2
            free_numbers = free_numbers - length * step
            if float(slope @ step) < 1e-12:  # noqa: PLR2004 the bound falls by less than one part in 10**12
                break
    return free_numbers


def extreme(channel: OptimalMean) -> float:
    """Return the probability that a report causes the full privacy loss that epsilon allows.

    Such a report multiplies an observer's odds of the true answer against another answer by
    e**epsilon. The result is the largest such probability over all pairs of answers.
    """
    return min(channel.width, len(channel.steps)) * channel.heavy / channel.band_total
