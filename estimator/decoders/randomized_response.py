"""Randomized response inverted: at epsilon = ln 3, P_A = 2 * P_B - 1/2.

Source: Warner 1965; Dwork & Roth 2014, section 3.2.
"""

from __future__ import annotations

from client_sdk.protocol.channel import Channel
from estimator.decoders.support import Support


def support(channel: Channel) -> Support:
    """Return the support of a randomized response: p keeps the answer, q = 1 - p lies."""
    return Support(own=channel.probability(1, given=1), other=channel.probability(1, given=0))
