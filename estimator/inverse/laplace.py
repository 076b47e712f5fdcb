"""Laplace noise inverted, for the mean: a symbol speaks for its place, an end of the range for what was cut off there.

The noise falls by a factor f a place, so that beyond an end lies on average f / (1 - f) places more, whatever the input
is: with these added to the ends the expected symbol is the input (Ghosh, Roughgarden & Sundararajan 2012, the law). The
weights are integers; that bends the expectation by less than one part in 2**32.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np

from client_sdk.protocol.mechanisms.laplace import Laplace
from estimator.inverse import noise
from estimator.inverse.decoder import REMEMBERED, Decoder, floats


def answers(channel: Laplace) -> list[Fraction]:
    """Return for each symbol the answer that it speaks for, where 0 is the first input and 1 the last one."""
    last = channel.inputs - 1
    beyond = Fraction(channel.weights[-1], channel.weights[-2])
    return [-beyond / last, *(Fraction(place, last) for place in range(1, last)), 1 + beyond / last]


@lru_cache(maxsize=REMEMBERED)
def decoder(channel: Laplace) -> Decoder:
    """Return the answers of the symbols and what their squares are on average."""
    spoken = floats(answers(channel))
    return Decoder(spoken, noise.table(channel) @ np.square(spoken))
