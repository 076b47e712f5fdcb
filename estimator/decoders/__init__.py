"""The decoders of the mechanisms, which invert their laws.

Each has a file, as in ``client_sdk.protocol.mechanisms``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from client_sdk.protocol.channel import Channel
from client_sdk.protocol.mechanisms.permanent import Permanent
from estimator.decoders import (
    balanced_design,
    cyclic_design,
    exponential,
    k_ary_randomized_response,
    permanent,
    projective_geometry,
    randomized_response,
)
from estimator.decoders.protocol import Inverse

_INVERSES: Final[dict[str, Callable[[Any], Inverse]]] = {
    "randomized-response": randomized_response.support,
    "k-ary-randomized-response": k_ary_randomized_response.support,
    "cyclic-design": cyclic_design.inverse,
    "projective-geometry": projective_geometry.inverse,
    "balanced-design": balanced_design.inverse,
    "exponential": exponential.inverse,
    "one-bit": randomized_response.support,  # on the two ends of the range, whose high end is the mean
}

REMEMBERED = 16
"""Inverses kept for the next window of the same metric. A large one takes tens of megabytes."""


@lru_cache(maxsize=REMEMBERED)
def inverse_of(channel: Channel) -> Inverse:
    """Return the inverse of a channel: from a tally of its symbols to shares of its inputs."""
    if isinstance(channel, Permanent):
        return permanent.two_step(channel, inverse_of(channel.instantaneous))
    return _INVERSES[channel.name](channel)
