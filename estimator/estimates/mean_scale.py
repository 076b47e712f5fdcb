"""The numeric worth of answers in a mean."""

from __future__ import annotations

import numpy as np

from client_sdk.protocol.kinds.number import Activity, Count
from client_sdk.protocol.kinds.ordinal import Ordinal
from client_sdk.protocol.kinds.set import Subset
from client_sdk.protocol.metric import Metric
from estimator.statistics.arrays import Floats


def positions_of(metric: Metric) -> Floats | None:
    """Return the worth of each input in the mean of the answers, rising. None without a mean."""
    domain, size = metric.kind, metric.channel.inputs
    match domain:
        case Ordinal() if not metric.has_no_answer:
            return np.arange(1.0, size + 1)
        case Count() | Activity():
            return np.arange(0.0, size)
        case Subset():
            return np.append(np.full(size - 1, float(domain.max_items)), 0.0)
    return None


def scale_of(metric: Metric) -> Floats:
    """Return the position of each input's answer on a scale from 0 to 1, if answers are inputs."""
    positions = positions_of(metric)
    if positions is None:  # a number, rounded to an end of its range
        return np.array([0.0, 1.0])
    least, greatest = float(positions.min()), float(positions.max())
    scale: Floats = (positions - least) / (greatest - least)
    return scale
