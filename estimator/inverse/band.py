"""A sliding band inverted: what its linear law makes of values of symbols and of shares of inputs, in O(k) steps.

Because the expected symbol is exactly linear in the input, one line through the symbols is an unbiased answer.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np

from client_sdk.protocol.mechanisms.band import Band
from estimator.inverse.decoder import REMEMBERED, Decoder, floats
from estimator.statistics.arrays import Floats


def answers(band: Band) -> list[Fraction]:
    """Return for each symbol the answer that it speaks for, exact, where 0 is the first input and 1 the last one.

    Given an input x the expectation is x / (inputs - 1); a single one may lie far outside 0..1.
    """
    surplus = band.heavy - band.light
    twice_offset = surplus * band.width * (band.width - 1) + band.light * band.symbols * (band.symbols - 1)
    twice_slope = 2 * surplus * band.width * (band.inputs - 1)
    return [Fraction(2 * band.total * symbol - twice_offset, twice_slope) for symbol in range(band.symbols)]


@lru_cache(maxsize=REMEMBERED)
def decoder(band: Band) -> Decoder:
    """Return the answers of the symbols and what their squares are on average."""
    spoken = floats(answers(band))
    return Decoder(spoken, expectations(band, spoken**2))


def expectations(band: Band, values: Floats) -> Floats:
    """Return the expected value of a symbol given each input: shape (..., symbols) to (..., inputs)."""
    sums = _sums(values)
    expected: Floats = sums[..., band.width :] - sums[..., : band.inputs]
    expected *= band.heavy - band.light
    expected += band.light * sums[..., -1:]
    expected /= band.total
    return expected


def symbol_law(band: Band, shares: Floats) -> Floats:
    """Return the probability of each symbol where inputs have these shares: shape (..., inputs) to (..., symbols)."""
    sums = _sums(shares)
    law = np.empty((*shares.shape[:-1], band.symbols))
    law[..., : band.inputs] = sums[..., 1:]
    law[..., band.inputs :] = sums[..., -1:]
    law[..., band.width :] -= sums[..., 1:-1]  # what is below the band does not support a symbol
    law *= band.heavy - band.light
    law += band.light
    law /= band.total
    return law


def _sums(values: Floats) -> Floats:
    """Return the sums of the first 0, 1, … values."""
    sums = np.zeros((*values.shape[:-1], values.shape[-1] + 1))
    np.cumsum(values, axis=-1, out=sums[..., 1:])
    return sums
