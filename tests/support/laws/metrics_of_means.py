"""Metrics that ask for a number by group."""

from __future__ import annotations

from fractions import Fraction

from client_sdk.protocol import Metric, WindowKind
from client_sdk.protocol.kinds.cross import Crossed, MeanByGroup
from client_sdk.protocol.kinds.number import Number
from client_sdk.protocol.mechanisms import channel_for
from tests.support.laws.bands import request

RANGE = Number(Fraction(0), Fraction(9), "mean")


def by_group(first: Crossed, points: int, mechanism: str = "k-ary-randomized-response", epsilon: str = "1") -> Metric:
    """Return a metric of a number from 0 to 9, rounded to the given number of points."""
    domain = MeanByGroup(first, RANGE, points=points)
    return Metric("m", "Why?", domain, channel_for(domain, request(epsilon), mechanism), WindowKind.DAY)
