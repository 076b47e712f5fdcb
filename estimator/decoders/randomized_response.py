"""Randomized response inverted, of two values and of more.

At epsilon = ln 3, P_A = 2 * P_B - 1/2 (Warner 1965; Dwork & Roth 2014, section 3.2). Of k values a
symbol supports the one that it names, and a lie names each of the k - 1 others with equal
probability (Kairouz, Bonawitz & Ramage 2016, section 3).
"""

from __future__ import annotations

from client_sdk.protocol.channel import COIN_SCALE, Channel
from client_sdk.protocol.mechanisms.k_ary_randomized_response import KAryRandomizedResponse
from client_sdk.protocol.mechanisms.one_of import OneOf
from client_sdk.protocol.mechanisms.rotated_axes import RotatedAxes
from estimator.decoders.support import Support


def binary_support(channel: Channel) -> Support:
    """Return the support of a randomized response: p keeps the answer, q = 1 - p lies."""
    return Support(own=channel.probability(1, given=1), other=channel.probability(1, given=0))


def k_ary_support(channel: Channel) -> Support:
    """Return the support: p keeps the answer, q = (1 - p) / (k - 1) is a particular lie."""
    return Support(own=channel.probability(0, given=0), other=channel.probability(0, given=1))


def extreme(channel: KAryRandomizedResponse | OneOf | RotatedAxes) -> float:
    """Return the largest probability that a report separates two answers by the whole epsilon."""
    return float(channel.keep_numerator / COIN_SCALE)  # opposite vectors favour disjoint axes
