"""Gaussian noise inverted, for the mean: a symbol speaks for the place where it stands.

The noise is symmetric and no symbol is moved, so that the expected symbol is exactly the input.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from client_sdk.protocol.mechanisms.gaussian import Gaussian
from estimator.inverse import noise
from estimator.inverse.decoder import REMEMBERED, Decoder


@lru_cache(maxsize=REMEMBERED)
def decoder(channel: Gaussian) -> Decoder:
    """Return the answers of the symbols and what their squares are on average."""
    spoken = (np.arange(channel.symbols) - channel.reach) / (channel.inputs - 1)
    return Decoder(spoken, noise.table(channel) @ spoken**2)
