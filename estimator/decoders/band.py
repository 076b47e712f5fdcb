"""A sliding band inverted: piecewise and square wave, as operators of O(k) steps.

The expected symbol is exactly linear in the input, so a linear function of the symbol is an
unbiased score (Wang et al. 2019, "Collecting and analyzing multidimensional data with local
differential privacy", section III.B, lemma 1). For the histogram of a square wave see
`estimator.likelihood.histogram`.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np

from client_sdk.protocol.mechanisms.band import Band
from estimator.decoders.decoder import REMEMBERED, Decoder
from estimator.statistics.arrays import Floats


def scores(band: Band) -> list[Fraction]:
    """Return the exact unbiased score of each symbol, where 0 is the first input and 1 the last.

    Given an input x its expectation is x / (inputs - 1). A single score may lie far outside 0..1.
    """
    numerators, denominator = _parts(band)
    return [Fraction(numerator, denominator) for numerator in numerators]


def float_scores(band: Band) -> Floats:
    """Return `scores` as the nearest floats: a quotient of integers is rounded once."""
    numerators, denominator = _parts(band)
    return np.array([numerator / denominator for numerator in numerators])


def _parts(band: Band) -> tuple[list[int], int]:
    """Return the numerators of the scores, and their denominator."""
    surplus, twice_total = band.heavy - band.light, 2 * band.total
    twice_offset = surplus * band.width * (band.width - 1) + band.light * band.symbols * (band.symbols - 1)
    twice_slope = 2 * surplus * band.width * (band.inputs - 1)
    return [twice_total * symbol - twice_offset for symbol in range(band.symbols)], twice_slope


@lru_cache(maxsize=REMEMBERED)
def decoder(band: Band) -> Decoder:
    """Return the scores of the symbols and their expected squares."""
    of_symbols = float_scores(band)
    return Decoder(of_symbols, expectations(band, of_symbols**2))


def expectations(band: Band, values: Floats) -> Floats:
    """Return the expected value given each input: shape (..., symbols) to (..., inputs)."""
    sums = _sums(values)
    expected: Floats = sums[..., band.width :] - sums[..., : band.inputs]
    expected *= band.heavy - band.light
    expected += band.light * sums[..., -1:]
    expected /= band.total
    return expected


def symbol_law(band: Band, shares: Floats) -> Floats:
    """Return the probability of each symbol: shape (..., inputs) to (..., symbols)."""
    sums = _sums(shares)
    law = np.empty((*shares.shape[:-1], band.symbols))
    law[..., : band.inputs] = sums[..., 1:]
    law[..., band.inputs :] = sums[..., -1:]
    law[..., band.width :] -= sums[..., 1:-1]  # inputs below the band do not support a symbol
    law *= band.heavy - band.light
    law += band.light
    law /= band.total
    return law


def _sums(values: Floats) -> Floats:
    """Return the sums of the first 0, 1, … values."""
    sums = np.zeros((*values.shape[:-1], values.shape[-1] + 1))
    np.cumsum(values, axis=-1, out=sums[..., 1:])
    return sums
