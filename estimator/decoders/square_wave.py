"""The decoder and the symbol distribution of the mechanism square-wave, in linear time.

A device with input x prefers the symbols x to x + width - 1. The expected symbol is therefore a
linear function of the input. A suitable linear function of the symbol is thus an unbiased score for
the input. Source: Wang et al. 2019, "Collecting and analyzing multidimensional data with local
differential privacy", section III.B, lemma 1. The module `estimator.likelihood.histogram` estimates
the distribution of inputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from client_sdk.protocol.mechanisms.square_wave import SquareWave
from estimator.decoders.decoder import REMEMBERED, Decoder
from estimator.statistics.arrays import Floats


def scores(channel: SquareWave) -> list[Fraction]:
    """Return the exact unbiased score of each symbol.

    The expected score of a report with input x is x / (inputs - 1). A single score may lie far
    outside 0..1.
    """
    numerators, denominator = _parts(channel)
    return [Fraction(numerator, denominator) for numerator in numerators]


def float_scores(channel: SquareWave) -> Floats:
    """Return the `scores` as floats."""
    numerators, denominator = _parts(channel)
    return np.array([numerator / denominator for numerator in numerators])


def _parts(channel: SquareWave) -> tuple[list[int], int]:
    """Return the numerators of the `scores`, and their common denominator."""
    surplus, twice_total = channel.heavy - channel.light, 2 * channel.total
    twice_offset = surplus * channel.width * (channel.width - 1) + channel.light * channel.symbols * (
        channel.symbols - 1
    )
    twice_slope = 2 * surplus * channel.width * (channel.inputs - 1)
    return [twice_total * symbol - twice_offset for symbol in range(channel.symbols)], twice_slope


@lru_cache(maxsize=REMEMBERED)
def decoder(channel: SquareWave) -> Decoder:
    """Return the unbiased scores of the symbols, and the expected squared score of each input."""
    of_symbols = float_scores(channel)
    return Decoder(of_symbols, expectations(channel, of_symbols**2))


def expectations(channel: SquareWave, values: Floats) -> Floats:
    """Return the expected value of a report for each input, shape (..., inputs).

    ``values`` contains a value for each symbol.
    """
    sums = _sums(values)
    expected: Floats = sums[..., channel.width :] - sums[..., : channel.inputs]
    expected *= channel.heavy - channel.light
    expected += channel.light * sums[..., -1:]
    expected /= channel.total
    return expected


def symbol_law(channel: SquareWave, shares: Floats) -> Floats:
    """Return the probability of each symbol, shape (..., symbols), for shares of the inputs."""
    sums = _sums(shares)
    law = np.empty((*shares.shape[:-1], channel.symbols))
    law[..., : channel.inputs] = sums[..., 1:]
    law[..., channel.inputs :] = sums[..., -1:]
    law[..., channel.width :] -= sums[..., 1:-1]  # inputs too far below a symbol do not favor it
    law *= channel.heavy - channel.light
    law += channel.light
    law /= channel.total
    return law


def _sums(values: Floats) -> Floats:
    sums = np.zeros((*values.shape[:-1], values.shape[-1] + 1))
    np.cumsum(values, axis=-1, out=sums[..., 1:])
    return sums


@dataclass(frozen=True, slots=True)
class SquareWaveLaw:
    """The distribution of a square wave's symbols, computed in O(symbols) steps."""

    channel: SquareWave

    def symbol_law(self, shares: Floats) -> Floats:
        """Return the probability of each symbol, for the given shares of inputs."""
        return symbol_law(self.channel, shares)

    def expectations(self, scores: Floats, /) -> Floats:
        """Return the expected score of a report for each input."""
        return expectations(self.channel, scores)


def extreme(channel: SquareWave) -> float:
    """Return the probability that a report causes the full privacy loss that epsilon allows.

    Such a report multiplies an observer's odds of the true answer against another answer by
    e**epsilon. The result is the largest such probability over all pairs of answers.
    """
    return min(channel.width, channel.inputs - 1) * channel.heavy / channel.total
