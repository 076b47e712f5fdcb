"""Laplace noise inverted, for the mean.

The score of a symbol is its position. The ends of the range also stand for the noise that was
clipped there. The noise falls by a factor f with each position, so beyond an end lie on average f /
(1 - f) more positions, whatever the input is. With this amount added to the ends, the expected
symbol is the input (Ghosh, Roughgarden & Sundararajan 2012, the law). The weights are integers,
which bends the expectation by less than one part in 2**32.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np

from client_sdk.protocol.mechanisms.laplace import Laplace
from estimator.decoders import noise
from estimator.decoders.decoder import REMEMBERED, Decoder, floats


def scores(channel: Laplace) -> list[Fraction]:
    """Return the unbiased score of each symbol, where 0 is the first input and 1 the last."""
    last = channel.inputs - 1
    beyond = Fraction(channel.weights[-1], channel.weights[-2])
    return [-beyond / last, *(Fraction(place, last) for place in range(1, last)), 1 + beyond / last]


@lru_cache(maxsize=REMEMBERED)
def decoder(channel: Laplace) -> Decoder:
    """Return the scores of the symbols and their expected squares."""
    of_symbols = floats(scores(channel))
    return Decoder(of_symbols, noise.table(channel) @ np.square(of_symbols))
