"""Populations of vectors, and a small channel with so few rotations that their choice matters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from client_sdk.protocol import Metric
from client_sdk.protocol.mechanisms.rotated_axes import RotatedAxes
from client_sdk.protocol.vector import UNIT, lifted
from estimator.statistics.arrays import Floats

Truth = tuple[list[list[float]], list[float]]
"""Vectors of norm up to 1, and the share of people with each."""

TRUTHS: Final[dict[str, Truth]] = {
    "one direction for all": ([[0.999, 0, 0, 0]], [1.0]),
    "opposite halves": ([[0.999, 0, 0, 0], [-0.999, 0, 0, 0]], [0.5, 0.5]),
    "sparse": ([[0.5, -0.3, 0, 0]], [1.0]),
    "flat": ([[0.4999, 0.4999, 0.4999, 0.4999]], [1.0]),
    "nothing but zeros": ([[0, 0, 0, 0]], [1.0]),
    "uniform": (np.eye(4).tolist() + (-np.eye(4)).tolist(), [0.125] * 8),
}


def small(metric: Metric) -> Metric:
    """Return a metric with small tallies, and with so few rotations that their choice matters."""
    channel = metric.channel
    assert isinstance(channel, RotatedAxes)
    favoured = max(1, 64 * channel.favoured // channel.dimension)
    return replace(metric, channel=replace(channel, dimension=64, rotations=128, favoured=favoured))


def encoded(metric: Metric, *vectors: Sequence[float]) -> Floats:
    """Return the encoded vectors of devices, shape (vectors, D)."""
    return np.array([lifted([round(x * UNIT) for x in vector], metric.channel.inputs) for vector in vectors], float)
