"""The report as one long table, a row for each thing that was estimated: the columns of CSV, Parquet and frames."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Final, NamedTuple, get_args, get_type_hints

from estimator.distribution import Distribution, Resampled
from estimator.document import MetricDocument, PooledDocument, ReportDocument
from estimator.figure import Estimate
from estimator.joint import Joint
from estimator.render.words import mean_word, word
from estimator.report import POPULATION


class Row(NamedTuple):
    """One thing that was estimated; each column's annotation says what it holds."""

    metric: Annotated[str, "the metric's name"]
    edition: Annotated[str, "12 hex digits: what the reports mean"]
    window: Annotated[str | None, "when it was asked; of windows together the first and the last one"]
    closed: Annotated[bool | None, "whether the tally can no longer change; none of windows together"]
    kind: Annotated[str, "of the metric"]
    mechanism: Annotated[str, "its name"]
    epsilon: Annotated[float, "of one report"]
    reports: Annotated[int, "how many"]
    statistic: Annotated[str, "what is estimated (below)"]
    value: Annotated[str | None, "of which value, quantile, bin or pair of groups; none of a mean"]
    estimate: Annotated[float | None, "unbiased, never clipped (of `resampled_` ones: smoothed); none without reports"]
    standard_error: Annotated[float | None, "of the estimate; none without reports or where it is resampled"]
    low: Annotated[float, "the lower end of the interval, within what is possible"]
    high: Annotated[float, "its upper end"]
    estimate_ml: Annotated[float | None, "the likeliest estimate among those that are possible; or none"]
    confidence: Annotated[float, "of the interval"]
    population: Annotated[str, f"`{POPULATION}`: intervals take the devices for a random sample of a population"]
    estimate_shrunk: Annotated[float | None, "drawn towards what is usual: the least expected squared error; or none"]
    delta: Annotated[float, "of one report"]
    p_value: Annotated[float | None, "of a `difference`: how often so large a one would occur by chance; else none"]
    p_value_corrected: Annotated[float | None, "the same for all differences of groups in the report; else none"]


COLUMNS: Final = Row._fields

TYPES: Final[dict[str, type]] = {
    name: next(part for part in (*get_args(hint), hint) if isinstance(part, type))
    for name, hint in get_type_hints(Row).items()
}
"""Of each column: ``str``, ``bool``, ``int`` or ``float``."""

STATISTICS: Final = {
    "share": "of the people, those with the value",
    "mean": "of the answers (a set has `mean_size`, a scale `mean_position`)",
    "mean_position": "of the answers on a scale, from 1",
    "mean_size": "of the sets",
    "sum": "of the answers of so many people as reported",
    "share_of_answered": "of those who gave an answer, those with the value",
    "share_within": "of a group, those with the value: `group, value`",
    "difference": "of two groups' shares: `value: first group less second group`",
    "resampled_variance": "of the answers, from the smoothed histogram",
    "resampled_quantile": "the answer that so many people do not exceed",
    "resampled_bin": "of the people, those between two answers",
    "pooled_share": "as `share`, of all windows together",
    "pooled_mean": "as the mean, of all windows together",
    "change": "by how much the last window is above the first one",
}
"""Every statistic and what it is."""


class Line(NamedTuple):
    """What is a row's own: the statistic, the value, the estimate and, of a difference between groups, p-values."""

    statistic: str
    value: str | None
    estimate: Estimate
    p_value: float | None = None
    p_value_corrected: float | None = None


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
