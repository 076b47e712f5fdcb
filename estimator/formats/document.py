"""The report as its JSON holds it: typed, frozen, and without the definitions and arrays that it was made from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, TypedDict

from client_sdk.protocol import Label, Metric, Window
from client_sdk.protocol.epsilon import as_float
from client_sdk.protocol.exact import float_ceiling
from estimator.results.central import Central
from estimator.results.changes import Change, Changes, Pooled
from estimator.results.clusters import Clusters
from estimator.results.distribution import Distribution
from estimator.results.estimate import Estimate
from estimator.results.joint import Joint
from estimator.results.metric import MetricEstimate
from estimator.results.poisoning import Fakes
from estimator.results.report import Composed, Report, Skipped

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from estimator.formats.row import Row
from estimator.formats.row import Line, Row
from estimator.results.distribution import Resampled
from estimator.results.report import POPULATION
from estimator.text import mean_word, word


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
        return rows_of(self)

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a frame of pandas.

        Raises:
            MissingLibraryError: if pandas is not installed.

        """
        from estimator.formats.frames import to_pandas  # noqa: PLC0415 as above

        return to_pandas(self)

    def to_polars(self) -> pl.DataFrame:
        """Return the rows as a frame of polars.

        Raises:
            MissingLibraryError: if polars is not installed.

        """
        from estimator.formats.frames import to_polars  # noqa: PLC0415 as above

        return to_polars(self)


def rows_of(report: ReportDocument) -> Iterator[Row]:
    """Yield the rows of all metrics, and then of windows together."""
    for metric in report.metrics:
        yield from metric_rows(metric, report.confidence)
    for one in report.pooled:
        yield from _pooled_rows(one, report.confidence)


def metric_rows(found: MetricDocument, confidence: float) -> Iterator[Row]:
    """Yield the rows of one tally; what a rehearsal compares with a truth comes first."""
    for line in _lines(found):
        yield _row(found, confidence, line, found.window.text, closed=found.closed)


def _pooled_rows(one: PooledDocument, confidence: float) -> Iterator[Row]:
    window = f"{one.windows[0]} to {one.windows[-1]}"
    lines = [Line("pooled_share", word(value), share) for value, share in one.shares]
    lines += [] if one.mean is None else [Line("pooled_mean", None, one.mean)]
    lines += [Line("change", word(value), change) for value, change in one.changes]
    for line in lines:
        yield _row(one, confidence, line, window, closed=None)


def _row(
    about: MetricDocument | PooledDocument, confidence: float, line: Line, window: str, *, closed: bool | None
) -> Row:
    one = line.estimate
    return Row(
        metric=about.metric,
        edition=about.edition,
        window=window,
        closed=closed,
        kind=about.kind,
        mechanism=about.mechanism,
        epsilon=about.epsilon,
        reports=about.reports,
        statistic=line.statistic,
        value=line.value,
        estimate=one.unbiased,
        standard_error=one.standard_error,
        low=one.low,
        high=one.high,
        estimate_ml=one.likeliest,
        confidence=confidence,
        population=POPULATION,
        estimate_shrunk=one.shrunken,
        delta=about.delta,
        p_value=line.p_value,
        p_value_corrected=line.p_value_corrected,
    )


def _lines(found: MetricDocument) -> Iterator[Line]:
    if found.shares is not None:
        yield from (Line("share", word(value), share) for value, share in found.shares)
    if found.mean is not None:
        yield Line(mean_word(found.kind).replace(" ", "_"), None, found.mean)
    if found.distribution is not None:
        yield from _distribution_lines(found.distribution)
    if found.total is not None:
        yield Line("sum", None, found.total)
    yield from (Line("share_of_answered", word(value), one) for value, one in found.answered)
    if found.joint is not None:
        yield from _joint_lines(found.joint)


def _distribution_lines(found: Distribution) -> Iterator[Line]:
    """Yield the smoothed figures; their intervals are by resampling, so the statistic's name says it."""
    likeliest = found.shares_ml or [None] * len(found.shares)
    yield Line("resampled_variance", None, _resampled(found.variance))
    for probability, one in found.quantiles:
        yield Line("resampled_quantile", str(probability), _resampled(one))
    for (low, high), one, share_ml in zip(found.bins, found.shares, likeliest, strict=True):
        yield Line("resampled_bin", f"{low} to {high}", _resampled(one, share_ml))


def _resampled(one: Resampled, likeliest: float | None = None) -> Estimate:
    return Estimate(one.estimate, None, one.low, one.high, likeliest)


def _joint_lines(joint: Joint) -> Iterator[Line]:
    for group in joint.groups:
        yield from (Line("share_within", word((group.label, value)), one) for value, one in group.outcomes)
    for one in joint.differences:
        first, second = (word(label) for label in one.groups)
        label = f"{word(one.label)}: {first} less {second}"
        yield Line("difference", label, one.estimate, one.p_value, one.corrected)
