"""k-ary randomised response inverted: a symbol supports the value that it names.

Source: Kairouz, Bonawitz & Ramage 2016, section 3. A lie names each of the k - 1 other values with
equal probability.
"""

from __future__ import annotations

from client_sdk.protocol.channel import Channel
from estimator.decoders.support import Support


def support(channel: Channel) -> Support:
    """Return the support: p keeps the answer, q = (1 - p) / (k - 1) is a particular lie."""
    return Support(own=channel.probability(0, given=0), other=channel.probability(0, given=1))
