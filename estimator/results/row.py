"""A report as a table: CSV, Parquet and data frames share its columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Final, NamedTuple, get_args, get_type_hints

from client_sdk.protocol.kinds.kind import word
from estimator.results import participation
from estimator.results.changes import Change, Effect
from estimator.results.distribution import Bin, Distribution, Figure
from estimator.results.estimate import Estimate
from estimator.results.joint import Joint
from estimator.results.metric import MetricEstimate
from estimator.results.participation import AmongAll
from estimator.results.pooled import Pooled
from estimator.results.question import Question
from estimator.results.report import POPULATION, EstimateReport
from estimator.results.texts import EMPTY_TEXT
from estimator.words import mean_word


class Row(NamedTuple):
    """One estimated figure. Each column's annotation describes the column."""

    metric: Annotated[str, "the metric's name"]
    edition: Annotated[str, "12 hex digits: what the reports mean"]
    window: Annotated[str | None, "the name of the window; for pooled windows the first and the last one"]
    closed: Annotated[bool | None, "whether the tally can no longer change; empty for pooled windows"]
    kind: Annotated[str, "of the metric"]
    mechanism: Annotated[str, "its name"]
    epsilon: Annotated[float, "of one report"]
    delta: Annotated[float, "of one report"]
    reports: Annotated[int, "the number of reports"]
    statistic: Annotated[str, "the estimated statistic (below)"]
    value: Annotated[str | None, "the value, quantile, answer, bin, range or pair of groups; empty for a mean"]
    estimate: Annotated[
        float | None, "unbiased, never clipped; of a distribution smoothed, within its interval; empty without reports"
    ]
    standard_error: Annotated[
        float | None, "of the estimate; empty without reports and for the figures of a distribution"
    ]
    low: Annotated[float, "the lower end of the interval, within the possible range"]
    high: Annotated[float, "the upper end of the interval"]
    maximum_likelihood: Annotated[float | None, "the likeliest possible estimate, or empty"]
    shrunken: Annotated[
        float | None, "the estimate of least expected squared error, moved towards the usual size, or empty"
    ]
    p_value: Annotated[
        float | None,
        "of a difference of groups, strata or windows: the probability of one this large by chance; otherwise empty",
    ]
    p_value_corrected: Annotated[
        float | None, "the same, corrected for all differences of that kind in the report; otherwise empty"
    ]
    confidence: Annotated[float, "of the interval"]
    population: Annotated[
        str,
        f"`{POPULATION}`: figures describe the devices that take part, none that decline; intervals take them for a "
        "random sample",
    ]
    unit: Annotated[
        str | None, "of the metric's numbers, such as ms; the square of it for a variance; empty for shares"
    ]


COLUMNS: Final = Row._fields

TYPES: Final[dict[str, type]] = {
    name: next(part for part in (*get_args(hint), hint) if isinstance(part, type))
    for name, hint in get_type_hints(Row).items()
}
"""The type of each column: ``str``, ``bool``, ``int`` or ``float``."""

FOUND_TEXT: Final = "found_text"
"""The one statistic whose value is a text that devices chose."""

STATISTICS: Final = {
    "share": "the share of devices with the value",
    "mean": "the mean of the answers (a set has `mean_size`, a scale `mean_position`)",
    "mean_position": "the mean position on a scale, from 1",
    "mean_size": "the mean size of the sets",
    "sum": "the sum of the answers of all devices that reported",
    "share_of_answered": "the share with the value among the devices that answered",
    "share_at_least": "the share of devices that were used on at least `value` days",
    "share_within": "the share with the value within a group: `group, value`",
    "mean_within": "the mean of the numbers within a group",
    "difference": "the difference of two groups' shares: `value: first group less second group`",
    "effect": "the difference of two public strata's shares: `value: second stratum less first stratum`",
    "effect_on_mean": "the difference of two public strata's means: `second stratum less first stratum`",
    "coordinate": "the mean of a coordinate of vectors, counted from 0",
    FOUND_TEXT: "the share of devices with a text that was found; `…` ends a text that may be longer",
    "named_text": "the share of devices with a text that was named by `--candidates`",
    "coefficient": "the change of a model's label as a feature rises by half its range, the others being equal",
    "log_odds": "the log-odds of a model's label yes where a feature has a value",
    "auc": "how often a model, if scores are normal, or a scale ranks a yes above a no",
    "share_from": "of those who say no, or yes, the share at a step of a scale or above",
    "difference_of_means": "the difference of two groups' means: `first group less second group`",
    "variance": "the variance of a number's answers",
    "quantile": "the answer that this fraction of the devices do not exceed",
    "at_most": "the share of devices with this answer or a lower one; these intervals hold together",
    "bin": "the share of devices between two answers; the bins cover the whole range",
    "range": "the share of devices between two answers, on request",
    "pooled_share": "as `share`, over all windows together",
    "pooled_mean": "as the mean, over all windows together",
    "pooled_coordinate": "as `coordinate`, over all windows together",
    "change": "the last window minus the first",
    "devices_taking_part": "the number of devices that take part, where the schedule says what share of them it asks",
    "share_taking_part": "the share of all installations that take part, by `--installs`",
    "share_among_all": "bounds on `share` among all installations, by `--installs`",
    "mean_among_all": "bounds on the mean among all installations",
    "coordinate_among_all": "bounds on `coordinate` among all installations",
    "share_at_least_among_all": "bounds on `share_at_least` among all installations",
    "found_text_among_all": "bounds on `found_text` among all installations",
    "named_text_among_all": "bounds on `named_text` among all installations",
    "range_among_all": "bounds on `range` among all installations",
}
"""The statistics, with their descriptions."""

OF_MODELS: Final = {"model": "coefficient", "model-of-crosses": "log_odds"}
"""The statistic of the coordinates of a model, by kind."""

IN_UNITS: Final = frozenset(
    {
        "mean",
        "mean_within",
        "difference_of_means",
        "effect_on_mean",
        "sum",
        "variance",
        "quantile",
        "pooled_mean",
        "mean_among_all",
    }
)
"""Statistics that are numbers in the metric's unit or its square; so is the change of a mean."""


OF_PARTICIPATION: Final = frozenset({"devices_taking_part", "share_taking_part"})
"""Statistics whose interval has the confidence of `estimator.results.participation`."""

BOUNDS_MISS: Final = round((1 - participation.CONFIDENCE) / 2, 6)
"""How much more often bounds among all installations miss than the intervals they are made of."""


class RowFigure(NamedTuple):
    """What differs between the rows of a tally."""

    statistic: str
    value: str | None
    figure: Estimate | Figure


def rows_of(report: EstimateReport) -> Iterator[Row]:
    """Yield a row for every estimated figure.

    The order is all metrics, the pooled windows, and how public strata differ.
    """
    for metric in report.metrics:
        yield from metric_rows(metric, report.confidence)
    for pooled in report.pooled:
        yield from _pooled_rows(pooled, report.confidence)
    questions = {(metric.metric, metric.window): metric for metric in report.metrics} if report.effects else {}
    for effect in report.effects:
        about = questions[effect.metric, effect.window]
        for row_figure in _effect_figures(effect):
            yield _row(about, about.reports, report.confidence, row_figure, effect.window, closed=True)


def metric_rows(estimated: MetricEstimate, confidence: float) -> Iterator[Row]:
    """Yield the rows of one tally. Rows that a rehearsal compares with the truth come first."""
    for row_figure in _figures_of(estimated):
        yield _row(estimated, estimated.reports, confidence, row_figure, estimated.window, closed=estimated.closed)
    for row_figure in _participation_figures(estimated):
        holds = participation.CONFIDENCE if row_figure.statistic in OF_PARTICIPATION else confidence - BOUNDS_MISS
        yield _row(estimated, estimated.reports, holds, row_figure, estimated.window, closed=estimated.closed)


def _pooled_rows(pooled: Pooled, confidence: float) -> Iterator[Row]:
    window = f"{pooled.windows[0]} to {pooled.windows[-1]}"
    row_figures = [RowFigure("pooled_share", word(share.value), share) for share in pooled.estimates]
    row_figures += [] if pooled.mean is None else [RowFigure("pooled_mean", None, pooled.mean)]
    row_figures += [RowFigure("pooled_coordinate", word(each.value), each) for each in pooled.coordinates or ()]
    row_figures += [RowFigure("change", word(change.value), change) for change in pooled.changes]
    for row_figure in row_figures:
        yield _row(pooled, pooled.reports, confidence, row_figure, window, closed=None)


def _effect_figures(effect: Effect) -> Iterator[RowFigure]:
    between = f"{effect.second} less {effect.first}"
    yield from (RowFigure("effect", f"{word(change.value)}: {between}", change) for change in effect.estimates)
    if effect.mean is not None:
        yield RowFigure("effect_on_mean", between, effect.mean)


def _row(  # noqa: PLR0913 what one row is made of
    about: Question, reports: int, confidence: float, row_figure: RowFigure, window: str, *, closed: bool | None
) -> Row:
    figure = row_figure.figure
    unbiased = figure if isinstance(figure, Estimate) else None
    change = figure if isinstance(figure, Change) else None
    is_change_of_mean = row_figure.statistic == "change" and row_figure.value == mean_word(about.kind)
    return Row(
        metric=about.metric,
        edition=about.edition,
        window=window,
        closed=closed,
        kind=about.kind,
        mechanism=about.mechanism,
        epsilon=about.epsilon,
        delta=about.delta,
        reports=reports,
        statistic=row_figure.statistic,
        value=row_figure.value,
        estimate=figure.estimate,
        standard_error=None if unbiased is None else unbiased.standard_error,
        low=figure.low,
        high=figure.high,
        maximum_likelihood=figure.maximum_likelihood if isinstance(figure, Estimate | Bin) else None,
        shrunken=None if unbiased is None else unbiased.shrunken,
        p_value=None if change is None else change.p_value,
        p_value_corrected=None if change is None else change.p_value_corrected,
        confidence=confidence,
        population=POPULATION,
        unit=(about.unit or None) if row_figure.statistic in IN_UNITS or is_change_of_mean else None,
    )


def _figures_of(estimated: MetricEstimate) -> Iterator[RowFigure]:
    if estimated.estimates is not None:
        yield from (RowFigure("share", word(share.value), share) for share in estimated.estimates)
    if estimated.mean is not None:
        yield RowFigure(mean_word(estimated.kind).replace(" ", "_"), None, estimated.mean)
    if estimated.coordinates is not None:
        statistic = OF_MODELS.get(estimated.kind, "coordinate")
        yield from (RowFigure(statistic, word(each.value), each) for each in estimated.coordinates)
    if estimated.learned is not None and estimated.learned.auc is not None:
        yield RowFigure("auc", None, estimated.learned.auc)
    if estimated.texts is not None:
        yield from (
            RowFigure(FOUND_TEXT, word(share.value) or EMPTY_TEXT, share) for share in estimated.texts.found or ()
        )
        yield from (
            RowFigure("named_text", word(share.value) or EMPTY_TEXT, share) for share in estimated.texts.named or ()
        )
    if estimated.distribution is not None:
        yield from _distribution_figures(estimated.distribution)
    yield from (RowFigure("share_at_least", word(share.value), share) for share in estimated.at_least)
    if estimated.sum is not None:
        yield RowFigure("sum", None, estimated.sum)
    yield from (RowFigure("share_of_answered", word(share.value), share) for share in estimated.answered)
    if estimated.joint is not None:
        yield from _joint_figures(estimated.joint)


def _participation_figures(estimated: MetricEstimate) -> Iterator[RowFigure]:
    if estimated.taking_part is not None:
        yield RowFigure("devices_taking_part", None, estimated.taking_part)
    if estimated.among_all is not None:
        yield RowFigure("share_taking_part", str(estimated.among_all.installs), estimated.among_all.taking_part)
        yield from bounds_of(estimated.among_all)


def bounds_of(among_all: AmongAll) -> Iterator[RowFigure]:
    """Yield each bound on a figure of all installations."""
    for statistic, shares in (
        ("share", among_all.estimates),
        ("coordinate", among_all.coordinates),
        ("share_at_least", among_all.at_least),
        ("found_text", among_all.found),
        ("named_text", among_all.named),
    ):
        values = ((word(each.value) or EMPTY_TEXT, each) for each in shares or ())
        yield from (RowFigure(f"{statistic}_among_all", value, each) for value, each in values)
    if among_all.mean is not None:
        yield RowFigure("mean_among_all", None, among_all.mean)
    yield from (RowFigure("range_among_all", f"{each.start} to {each.end}", each) for each in among_all.ranges)


def _distribution_figures(distribution: Distribution) -> Iterator[RowFigure]:
    yield RowFigure("variance", None, distribution.variance)
    yield from (RowFigure("quantile", str(quantile.quantile), quantile) for quantile in distribution.quantiles)
    yield from (RowFigure("at_most", str(point.at), point) for point in distribution.band)
    for statistic, shares in (("bin", distribution.bins), ("range", distribution.ranges)):
        yield from (RowFigure(statistic, f"{share.start} to {share.end}", share) for share in shares)


def _joint_figures(joint: Joint) -> Iterator[RowFigure]:
    if joint.is_of_means:
        yield from (RowFigure("mean_within", word(group.group), group.estimates[0]) for group in joint.groups)
    for group in () if joint.is_of_means else joint.groups:
        yield from (
            RowFigure("share_within", f"{word(group.group)}, {word(share.value)}", share) for share in group.estimates
        )
    if joint.auc is not None:
        yield RowFigure("auc", None, joint.auc)
    for point in joint.roc:
        yield RowFigure("share_from", f"no, {word(point.value)}", point.no)
        yield RowFigure("share_from", f"yes, {word(point.value)}", point.yes)
    for difference in joint.differences:
        first, second = map(word, difference.groups)
        between = f"{first} less {second}"
        if joint.is_of_means:
            yield RowFigure("difference_of_means", between, difference)
        else:
            yield RowFigure("difference", f"{word(difference.value)}: {between}", difference)
