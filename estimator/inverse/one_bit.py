"""One-bit mean inverted: the share of the range's high end, in units of the range, is the mean.

Source: Duchi, Jordan & Wainwright 2018, section 4.1; Ding, Kulkarni & Yekhanin 2017, section 3. Because the rounding
to an end is unbiased and drawn for each person, the support count of the high end is binomial, too.
"""

from __future__ import annotations

from client_sdk.protocol import Channel
from estimator.inverse import randomized_response
from estimator.inverse.support import Support


def support(channel: Channel) -> Support:
    """Return the support of the ends of the range."""
    return randomized_response.support(channel)
