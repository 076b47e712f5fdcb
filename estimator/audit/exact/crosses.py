"""Walks crosses: every path of inputs that hold each cell of each feature at least once.

A symbol speaks of one feature, which a coin draws. Its probability depends on that feature's cell
alone. So the worst pair of inputs of a symbol is among inputs in which each cell of its feature
stands.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

from client_sdk.protocol.mechanisms.crossed.crosses import Crosses
from client_sdk.protocol.metric import Metric
from estimator.audit.exact.answers import EncodedAnswer
from estimator.audit.exact.compare import Walk
from estimator.audit.exact.proof import Proof
from estimator.audit.exact.request import RequestedLoss


def walked_cells(channel: Crosses) -> list[tuple[int, ...]]:
    """Return inputs that hold each cell of each feature.

    A feature with fewer cells stays at its last one.
    """
    return [tuple(min(cell, cells - 1) for cells in channel.cells) for cell in range(max(channel.cells))]


def crosses_proof(metric: Metric, request: RequestedLoss | None, after_law: Callable[[int], object]) -> Proof:
    """Return what is proved of a report of crosses.

    Raises:
        AuditError: if the SDK cannot be walked.

    """
    channel = metric.channel
    assert isinstance(channel, Crosses)  # noqa: S101 whoever asks knows the channel
    walk = Walk("one report", channel, after_law)
    for cells in walked_cells(channel):
        given: Any = cells  # elsewhere an input is a number
        walk.reported(partial(channel.perturb, given), EncodedAnswer(given, {given: Fraction(1)}))
    return replace(walk.proof(metric.name, metric.epsilon_nanos, request), inputs=math.prod(channel.cells))
