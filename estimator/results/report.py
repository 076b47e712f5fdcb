"""A whole report."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from estimator.results.central import Composed
from estimator.results.changes import Changes, Effect
from estimator.results.highlight import Highlight
from estimator.results.metric import MetricEstimate
from estimator.results.pooled import Pooled
from estimator.results.record import Record

SCHEMA: Final = 1
"""The number of the schema that JSON, CSV and Parquet follow.

Adding or removing a field, or changing its meaning, takes a new number: readers refuse unknown
schemas.
"""

POPULATION: Final = "taking-part"
"""All figures describe the devices that take part: those whose users decline are in no tally.
Standard errors and intervals describe a population of which these devices are a random sample.
"""


class Skipped(Record, frozen=True):
    """A requested tally that could not be estimated.

    Attributes:
        metric: the metric it names.
        edition: its edition.
        window: the name of its window.
        reason: why, and what would help.

    """

    metric: str
    edition: str
    window: str
    reason: str


class EstimateReport(Record, frozen=True, tag_field="population", tag=POPULATION):
    """All figures of a set of tallies. They describe the devices that take part.

    Attributes:
        confidence: of every interval.
        metrics: in the registry's order, then by window.
        skipped: in the tallies' order.
        simultaneous: whether the confidence covers all intervals of a metric and window together.
        composed: by window; empty unless central epsilons were requested.
        pooled: all windows of a metric together; empty unless requested.
        changes: from the first to the last window of a metric; empty unless requested.
        effects: the differences between public strata, by question and window; empty without
            strata.
        highlights: what a table or a page shows first about each question, in their order; empty
            unless requested. Not in JSON.
        snapshot_at: when the collector read the windows that are still open, in UTC. None if it
            does not say.

    """

    confidence: float
    metrics: tuple[MetricEstimate, ...]
    skipped: tuple[Skipped, ...]
    simultaneous: bool
    composed: tuple[Composed, ...] = ()
    pooled: tuple[Pooled, ...] = ()
    changes: tuple[Changes, ...] = ()
    effects: tuple[Effect, ...] = ()
    highlights: tuple[Highlight, ...] = ()
    snapshot_at: datetime | None = None
