"""One-bit mean inverted: the share of the range's high end, in units of the range, is the mean.

Source: Duchi, Jordan & Wainwright 2018, section 4.1; Ding, Kulkarni & Yekhanin 2017, section 3.
Rounding to an end is unbiased and drawn for each person, so the support count of the high end is
binomial as well.
"""

from __future__ import annotations

from client_sdk.protocol.channel import Channel
from estimator.decoders import randomized_response
from estimator.decoders.support import Support


def support(channel: Channel) -> Support:
    """Return the support of the ends of the range."""
    return randomized_response.support(channel)
