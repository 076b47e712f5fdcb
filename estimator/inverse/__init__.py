"""The inverses of the mechanisms: one file each, mirroring ``client_sdk.spec.mechanisms``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from client_sdk.spec import Channel
from estimator.inverse import k_ary_randomized_response, one_bit, randomized_response
from estimator.inverse.support import Support

_INVERSES: Final[dict[str, Callable[[Channel], Support]]] = {
    "randomized-response": randomized_response.support,
    "k-ary-randomized-response": k_ary_randomized_response.support,
    "one-bit": one_bit.support,
}


def support_of(channel: Channel) -> Support:
    """Return how the shares of a channel's inputs are found from its support counts."""
    return _INVERSES[channel.name](channel)
