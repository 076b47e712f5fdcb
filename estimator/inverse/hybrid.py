"""Hybrid mean inverted: a symbol of the band speaks as in piecewise, an end as in one-bit.

Source: Wang et al. 2019, section III.C. Both parts are unbiased on their own; so is their mixture.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np

from client_sdk.spec.mechanisms.hybrid import Hybrid
from estimator.intervals import Floats
from estimator.inverse import band
from estimator.inverse.decoder import REMEMBERED, Decoder, floats


def answers(channel: Hybrid) -> list[Fraction]:
    """Return for each symbol the answer that it speaks for, exact, where 0 is the first input and 1 the last one."""
    beyond = Fraction(channel.least, channel.step * (channel.inputs - 1))
    return [*band.answers(channel.band), -beyond, 1 + beyond]


@lru_cache(maxsize=REMEMBERED)
def decoder(channel: Hybrid) -> Decoder:
    """Return the answers of the symbols and what their squares are on average."""
    spoken = floats(answers(channel))
    return Decoder(spoken, _expectations(channel, spoken**2))


def _expectations(channel: Hybrid, values: Floats) -> Floats:
    """Return the expected value of a symbol given each input: shape (symbols,) to (inputs,)."""
    of_band, low, high = values[:-2], values[-2], values[-1]
    towards_high = channel.least + channel.step * np.arange(channel.inputs, dtype=np.float64)
    of_ends = towards_high[::-1] * low + towards_high * high
    expected: Floats = (channel.band.total * band.expectations(channel.band, of_band) + of_ends) / channel.total
    return expected
