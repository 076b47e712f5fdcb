"""The report as its JSON holds it: typed, frozen, and without the definitions and arrays that it was made from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final, TypedDict

from client_sdk.spec import Label, Metric, Window
from client_sdk.spec.epsilon import as_float
from client_sdk.spec.exact import float_ceiling
from estimator.central import Central
from estimator.changes import Change, Changes
from estimator.clustering import Clusters
from estimator.distribution import Distribution
from estimator.figure import Estimate
from estimator.joint import Joint
from estimator.metric_estimate import MetricEstimate
from estimator.poisoning import Fakes
from estimator.pooling import Pooled
from estimator.report import Composed, Report, Skipped

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from estimator.render.rows import Row

SCHEMA: Final = 2
"""The number of the schema that JSON, CSV and Parquet follow. A field that is added, removed or changes its meaning
makes another number: readers refuse what they do not know."""


class _Facts(TypedDict):
    """What every document says of a question, as its attributes are named."""

    metric: str
    edition: str
    kind: str
    mechanism: str
    epsilon: float
    delta: float


def _facts_of(metric: Metric) -> _Facts:
    return _Facts(
        metric=metric.name,
        edition=metric.edition,
        kind=metric.kind,
        mechanism=metric.channel.name,
        epsilon=as_float(metric.epsilon_nanos),
        delta=float_ceiling(metric.delta),
    )


@dataclass(frozen=True, slots=True)
class MetricDocument:
    """What one tally tells.

    Attributes:
        metric: the metric's name.
        edition: 12 hex digits: what the reports mean.
        window: when it was asked.
        closed: whether the tally can no longer change; if not, everything here is preliminary.
        kind: of the metric.
        mechanism: its name.
        epsilon: of one report, never below what its integers say.
        delta: likewise.
        reports: n.
        shares: where answers have shares each value with its own, in the domain's order; else none.
        mean: of a number in the metric's units, of a scale's positions from 1, or of a set's size; else none.
        total: the sum of the answers of so many people as reported, where answers can be added; else none.
        distribution: for a number of which it is asked, in the metric's units; else none.
        answered: where windows without an answer are reported, too, for each answer its share among those who gave
            one; else empty.
        joint: for two questions asked together; else none.
        covariance: of the shares, a row each, where it was wanted; else none.
        central: what the tally reveals, if nothing else is published, where that was wanted; else none.
        fakes: what made-up reports could have done, where that was wanted; else none.
        clusters: of the answers, where they were wanted and can be near or far; else none.

    """

    metric: str
    edition: str
    window: Window
    closed: bool
    kind: str
    mechanism: str
    epsilon: float
    delta: float
    reports: int
    shares: tuple[tuple[Label, Estimate], ...] | None = None
    mean: Estimate | None = None
    total: Estimate | None = None
    distribution: Distribution | None = None
    answered: tuple[tuple[Label, Estimate], ...] = ()
    joint: Joint | None = None
    covariance: tuple[tuple[float, ...], ...] | None = None
    central: Central | None = None
    fakes: Fakes | None = None
    clusters: Clusters | None = None

    @classmethod
    def of(cls, found: MetricEstimate) -> MetricDocument:
        """Return what an estimate says, without its definition."""
        return cls(
            **_facts_of(found.metric),
            window=found.window,
            closed=found.closed,
            reports=found.reports,
            shares=None if found.shares is None else tuple(found.shares),
            mean=found.mean,
            total=found.total,
            distribution=found.distribution,
            answered=found.answered,
            joint=found.joint,
            covariance=None if found.covariance is None else tuple(map(tuple, found.covariance.tolist())),
            central=found.central,
            fakes=found.fakes,
            clusters=found.clusters,
        )


@dataclass(frozen=True, slots=True)
class PooledDocument:
    """What some windows of one metric tell together.

    Attributes:
        metric: the metric's name.
        edition: 12 hex digits: what the reports mean.
        windows: their names, in time.
        kind: of the metric.
        mechanism: its name.
        epsilon: of one report.
        delta: likewise.
        reports: of all windows.
        shares: for each value its share, over all reports; empty where there are none.
        mean: likewise, or none.
        changes: for each value, or the mean, by how much the last window is above the first one.

    """

    metric: str
    edition: str
    windows: tuple[str, ...]
    kind: str
    mechanism: str
    epsilon: float
    delta: float
    reports: int
    shares: tuple[tuple[Label, Estimate], ...]
    mean: Estimate | None
    changes: tuple[tuple[Label, Estimate], ...]

    @classmethod
    def of(cls, found: Pooled) -> PooledDocument:
        """Return what pooled windows say, without their definition."""
        return cls(
            **_facts_of(found.metric),
            windows=found.windows,
            reports=found.reports,
            shares=found.shares,
            mean=found.mean,
            changes=found.changes,
        )


@dataclass(frozen=True, slots=True)
class ChangesDocument:
    """What changed in the answers to one question, from the first closed window with reports enough to the last one.

    Attributes:
        metric: the metric's name.
        edition: 12 hex digits: what the reports mean.
        first: the first window.
        last: the last one.
        shares: for each value the change of its share; empty where there are none.
        mean: the change of the mean, or none.

    """

    metric: str
    edition: str
    first: Window
    last: Window
    shares: tuple[tuple[Label, Change], ...]
    mean: Change | None

    @classmethod
    def of(cls, found: Changes) -> ChangesDocument:
        """Return what changed, without the definition."""
        return cls(found.metric.name, found.metric.edition, found.first, found.last, found.shares, found.mean)


@dataclass(frozen=True, slots=True)
class ReportDocument:
    """Everything that the tallies tell.

    Attributes:
        confidence: of every interval.
        simultaneous: whether it is that of all intervals of a metric and window together.
        metrics: by the registry's order, then by window.
        skipped: what was wanted and could not be estimated, with the reason.
        composed: what the tallies of a window reveal together, where central epsilons were wanted.
        pooled: all windows of a metric together, where that was wanted.
        changes: what changed in each metric, where the same was wanted, with p-values corrected for all of them.
        snapshot_at: when the collector looked at windows that are still open, in UTC; none where it does not say so.

    """

    confidence: float
    simultaneous: bool
    metrics: tuple[MetricDocument, ...]
    skipped: tuple[Skipped, ...] = ()
    composed: tuple[Composed, ...] = ()
    pooled: tuple[PooledDocument, ...] = ()
    changes: tuple[ChangesDocument, ...] = ()
    snapshot_at: datetime | None = None

    @classmethod
    def of(cls, report: Report) -> ReportDocument:
        """Return what a report says, without its definitions."""
        return cls(
            confidence=report.confidence,
            simultaneous=report.simultaneous,
            metrics=tuple(map(MetricDocument.of, report.metrics)),
            skipped=report.skipped,
            composed=report.composed,
            pooled=tuple(map(PooledDocument.of, report.pooled)),
            changes=tuple(map(ChangesDocument.of, report.changes)),
            snapshot_at=report.snapshot_at,
        )

    def rows(self) -> Iterator[Row]:
        """Yield everything that was estimated, a row each, as CSV and Parquet have it."""
        from estimator.render.rows import rows_of  # noqa: PLC0415 rows are made of documents

        return rows_of(self)

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a frame of pandas.

        Raises:
            MissingLibraryError: if pandas is not installed.

        """
        from estimator.render.frames import to_pandas  # noqa: PLC0415 as above

        return to_pandas(self)

    def to_polars(self) -> pl.DataFrame:
        """Return the rows as a frame of polars.

        Raises:
            MissingLibraryError: if polars is not installed.

        """
        from estimator.render.frames import to_polars  # noqa: PLC0415 as above

        return to_polars(self)
