"""A whole report."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, ClassVar, Final

from estimator.results.central import Composed
from estimator.results.changes import Changes, Effect
from estimator.results.highlight import Highlight
from estimator.results.metric import MetricEstimate, Pooled
from estimator.results.record import Record, says

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
    """A requested tally that could not be estimated."""

    metric: Annotated[str, says("the metric it names.")]
    edition: Annotated[str, says("its edition.")]
    window: Annotated[str, says("the name of its window.")]
    reason: Annotated[str, says("why, and what would help.")]


class EstimateReport(Record, frozen=True, tag_field="population", tag=POPULATION):
    """All figures of a set of tallies. They describe the devices that take part."""

    schema_number: ClassVar[int | None] = SCHEMA
    unwritten: ClassVar[frozenset[str]] = frozenset({"highlights"})

    confidence: Annotated[float, says("of every interval.")]
    metrics: Annotated[tuple[MetricEstimate, ...], says("in the registry's order, then by window.")]
    skipped: Annotated[tuple[Skipped, ...], says("in the tallies' order.")]
    simultaneous: Annotated[bool, says("whether the confidence covers all intervals of a metric and window together.")]
    composed: Annotated[tuple[Composed, ...], says("by window; empty unless central epsilons were requested.")] = ()
    pooled: Annotated[tuple[Pooled, ...], says("all windows of a metric together; empty unless requested.")] = ()
    changes: Annotated[
        tuple[Changes, ...], says("from the first to the last window of a metric; empty unless requested.")
    ] = ()
    effects: Annotated[
        tuple[Effect, ...], says("the differences between public strata, by question and window; empty without strata.")
    ] = ()
    highlights: Annotated[
        tuple[Highlight, ...],
        says(
            "what a table or a page shows first about each question, in their order; empty unless "
            "requested. Not in JSON."
        ),
    ] = ()
    snapshot_at: Annotated[
        datetime | None,
        says("when the collector read the windows that are still open, in UTC. None if it does not say."),
    ] = None
