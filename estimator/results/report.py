"""A whole report."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from client_sdk.protocol import Window
from estimator.results.central import Central
from estimator.results.changes import Changes, Pooled
from estimator.results.metric import MetricEstimate

POPULATION = "sampled"
"""Standard errors and intervals speak of a population from which the devices are a random sample."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A tally that was wanted and could not be estimated.

    Attributes:
        metric: the metric that it names.
        edition: its edition.
        window: its window.
        reason: why, and what would help.

    """

    metric: str
    edition: str
    window: Window
    reason: str


@dataclass(frozen=True, slots=True)
class Composed:
    """What the closed tallies of one window reveal together.

    Attributes:
        window: theirs.
        tallies: how many of this report have reports.
        central: the loss of a device that is in all of them; none where their own deltas exceed the one that is wanted.

    """

    window: Window
    tallies: int
    central: Central | None


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that the tallies tell.

    Attributes:
        confidence: of every interval.
        simultaneous: whether it is that of all intervals of a metric and window together.
        metrics: by the registry's order, then by window.
        skipped: in the tallies' order.
        composed: by window, where central epsilons are wanted.
        pooled: all windows of a metric together, where that is wanted.
        changes: from the first to the last window of a metric, where the same is wanted.
        snapshot_at: when the collector looked at windows that are still open, in UTC; none where it does not say so.

    """

    confidence: float
    metrics: tuple[MetricEstimate, ...]
    skipped: tuple[Skipped, ...]
    simultaneous: bool = False
    composed: tuple[Composed, ...] = ()
    pooled: tuple[Pooled, ...] = ()
    changes: tuple[Changes, ...] = ()
    snapshot_at: datetime | None = None
