"""Added noise inverted: the law of a grid as a table."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from client_sdk.protocol.mechanisms.noise import AdditiveNoise
from estimator.decoders.decoder import REMEMBERED
from estimator.decoders.protocol import TableLaw
from estimator.statistics.arrays import Floats


@lru_cache(maxsize=REMEMBERED)
def table(channel: AdditiveNoise) -> Floats:
    """Return the probability of each symbol given each input, shape (inputs, symbols)."""
    farthest = len(channel.weights) - 1
    weights = np.array([float(channel.weights[abs(noise)]) for noise in range(-farthest, farthest + 1)])
    noise = np.arange(-farthest, farthest + 1) + channel.reach
    rows = [
        np.bincount(np.clip(given + noise, 0, channel.symbols - 1), weights, channel.symbols)
        for given in range(channel.inputs)
    ]
    law: Floats = np.array(rows) / weights.sum()
    return law


def law(channel: AdditiveNoise) -> TableLaw:
    """Return the law of a grid, written out."""
    return TableLaw(table(channel))
