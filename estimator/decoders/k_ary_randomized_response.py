"""k-ary randomized response inverted: a symbol supports the value that it names.

Source: Kairouz, Bonawitz & Ramage 2016, section 3. A lie names each of the k - 1 other values with
equal probability.
"""

from __future__ import annotations

from client_sdk.protocol.channel import COIN_SCALE, Channel
from client_sdk.protocol.mechanisms.k_ary_randomized_response import KAryRandomizedResponse
from client_sdk.protocol.vectors.rotated_axes import RotatedAxes
from estimator.decoders.support import Support


def support(channel: Channel) -> Support:
    """Return the support: p keeps the answer, q = (1 - p) / (k - 1) is a particular lie."""
    return Support(own=channel.probability(0, given=0), other=channel.probability(0, given=1))


def extreme(channel: KAryRandomizedResponse | RotatedAxes) -> float:
    """Return the largest probability that a report separates two answers by the whole epsilon."""
    return float(channel.keep_numerator / COIN_SCALE)  # opposite vectors favour disjoint axes
