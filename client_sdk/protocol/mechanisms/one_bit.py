"""One-bit mean: a number is rounded at random to an end of its range, then randomized response.

Source: Duchi, Jordan & Wainwright 2018, section 4.1 (one dimension); Ding, Kulkarni & Yekhanin
2017, "Collecting telemetry data privately", section 3 (1BitMean). The rounding is unbiased
(`domain.Number.encode`); the law is that of randomized response on the two ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from client_sdk.protocol.mechanisms.randomized_response import RandomizedResponse


@dataclass(frozen=True, slots=True)
class OneBit(RandomizedResponse):
    """Randomized response on the ends of a range: input 0 is the low end, input 1 the high end."""

    name: ClassVar[str] = "one-bit"
