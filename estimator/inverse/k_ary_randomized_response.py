"""k-ary randomised response inverted: a symbol supports the value that it names.

Source: Kairouz, Bonawitz & Ramage 2016, section 3; the lie names each of the k - 1 others alike.
"""

from __future__ import annotations

from client_sdk.protocol import Channel
from estimator.inverse.support import Support


def support(channel: Channel) -> Support:
    """Return the support of a k-ary randomised response: p keeps, q = (1 - p) / (k - 1) is one given lie."""
    return Support(own=channel.probability(0, given=0), other=channel.probability(0, given=1))
