"""The windows and values to show first, and the conclusions on differences between groups.

P-values of differences between groups are corrected for multiple comparisons (Holm, weighted). All
metrics have the same weight, and each metric divides its weight equally among its differences.
Differences with too few reports for a p-value are left out.

The p-values in the last windows of all metrics are corrected together, then the p-values in the
second-last windows, and so on. The conclusions for a window therefore do not depend on the number
of earlier windows in the report.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import groupby, zip_longest
from typing import Any, Final, TypeVar

import numpy as np
from msgspec.structs import replace

from client_sdk.protocol.metric import Metric
from estimator.analyses.metric import analysis_of
from estimator.plan.target_error import reports_needed, unit_variance
from estimator.report.same_people import pooled
from estimator.results.estimate import Figure, FigureLabel, Figures
from estimator.results.group import FigureGroup
from estimator.results.metric import MetricEstimate
from estimator.results.report import SHOWN_VALUES, TOO_FAR, Changes, Highlight, Precision, Tested
from estimator.statistics.arrays import Floats
from estimator.statistics.confidence import EXACT_BELOW, PAIR, SIGNIFICANT, Z, holm
from estimator.words import shown_of

Estimated = TypeVar("Estimated", bound=MetricEstimate)
"""The estimates of a report, or the estimates of a rehearsal, which also contain true values."""

STATISTICS: Final = ("difference", "difference_of_means")

REACH: Final = 3.9
"""The distance from 1/2, in standard errors, of the share of answers above a suggested threshold.

If the distance is small, the next report may not show on which side of the threshold the median
lies. If the distance is large, the threshold is far from the median. The distance must exceed 2,
because the 95% interval of the share extends about 2 standard errors to each side.

Values from 3 to 4.2 were tried on uniform, normal and exponential populations. For all values from
3.6 to 4.2, the average distance between the two thresholds around the median was about the same.
"""

FARTHEST: Final = 0.45
"""The maximum distance from 1/2 of the share of answers above a suggested threshold."""

ROUND: Final = 3
"""The number of significant digits of suggested thresholds."""


def conclusion(difference: Figure) -> Conclusion:
    """Return the conclusion about a difference, from its corrected p-value."""
    if difference.p_value is None:
        return Conclusion.TOO_FEW
    return _concluded(difference.p_value, difference.p_value_corrected)


def clearest_first(differences: FigureGroup) -> Sequence[Figure]:
    """Return the differences, sorted by p-value, each as the larger share minus the smaller share.

    If the metric has two answers, such as "no" and "yes", only the share of the second answer is
    compared.
    """
    return sorted((_from_larger_share(comparison[-1]) for comparison in comparisons(differences)), key=_clearness)


def clearest_changes(changes: Tested) -> Sequence[tuple[FigureGroup, Figure]]:
    """Return the differences between two windows or two strata, sorted by p-value.

    For the answers "yes" and "no", only differences in the share of "yes" are returned.
    """
    every = [(group, figure) for group in changes.groups for figure in group.figures.at(group.told)]
    return sorted(every, key=lambda each: _clearness(each[1]))


def _concluded(p_value: float, corrected: float | None) -> Conclusion:
    if corrected is None:
        return Conclusion.TOO_FEW
    if corrected <= SIGNIFICANT:
        return Conclusion.DIFFER
    return Conclusion.MAY_DIFFER if p_value <= SIGNIFICANT else Conclusion.NO_DIFFERENCE


def _clearness(figure: Figure) -> tuple[bool, float, float]:
    return figure.p_value is None, figure.p_value_corrected or 0.0, figure.p_value or 0.0


def _from_larger_share(difference: Figure) -> Figure:
    if (difference.estimate or 0.0) >= 0 or not isinstance(difference.value, tuple):
        return difference
    turned = difference.times(-1.0)
    *outcomes, first, second = difference.value
    return replace(
        difference, value=(*outcomes, second, first), estimate=turned.estimate, low=turned.high, high=turned.low
    )


def differences_of(estimated: MetricEstimate) -> FigureGroup | None:
    """Return the differences between the groups of a metric, or None if there are no groups."""
    groups = (estimated.group(statistic) for statistic in STATISTICS)
    return next((group for group in groups if group is not None), None)


def comparisons(differences: FigureGroup) -> list[tuple[Figure, ...]]:
    """Return the differences, grouped so that each p-value occurs once.

    If a metric has two answers, two groups differ equally in both shares, so these two differences
    form one comparison. Otherwise, each difference is a separate comparison.
    """
    of_pairs = groupby(differences.figures, key=lambda difference: _pair(difference)[-PAIR:])
    by_pair = [tuple(figures) for _, figures in of_pairs]
    return (
        by_pair
        if all(len(each) == PAIR for each in by_pair)
        else [(each,) for outcomes in by_pair for each in outcomes]
    )


def _pair(difference: Figure) -> tuple[FigureLabel, ...]:
    assert isinstance(difference.value, tuple)  # noqa: S101 the label of a difference names its groups
    return difference.value


def corrected_differences(estimates: Sequence[Estimated]) -> tuple[Estimated, ...]:
    """Return the estimates, with corrected p-values for the differences between groups.

    ``estimates`` is sorted by metric, then by window.
    """
    filled: dict[int, Estimated] = {}
    for places in _by_age(estimates):
        in_family = [(place, p_values) for place in places if (p_values := _p_values(differences_of(estimates[place])))]
        tested = [(p, 1 / len(p_values)) for _, p_values in in_family for p in p_values]
        corrected = iter(holm([p for p, _ in tested], [weight for _, weight in tested]))
        filled |= {place: _filled(estimates[place], corrected) for place, _ in in_family}
    return tuple(filled.get(place, each) for place, each in enumerate(estimates))


def _by_age(estimates: Sequence[MetricEstimate]) -> Iterator[list[int]]:
    """Yield the positions of all metrics' last windows, then of the windows before them, and so on.

    A metric's open windows come after its closed windows.
    """
    of_metrics = groupby(range(len(estimates)), key=lambda place: estimates[place].metric)
    by_age = [
        sorted(places, key=lambda place: (bool(estimates[place].reports), estimates[place].closed, place), reverse=True)
        for _, places in of_metrics
    ]
    return ([place for place in of_age if place is not None] for of_age in zip_longest(*by_age))


def _p_values(differences: FigureGroup | None) -> list[float]:
    compared = [] if differences is None else comparisons(differences)
    return [first.p_value for first, *_ in compared if first.p_value is not None]


def _filled(estimated: Estimated, corrected: Iterator[float]) -> Estimated:
    differences = differences_of(estimated)
    if differences is None:
        return estimated
    figures: list[Figure] = []
    for comparison in comparisons(differences):
        p_value = None if comparison[0].p_value is None else next(corrected)
        figures += [replace(difference, p_value_corrected=p_value) for difference in comparison]
    filled = replace(differences, figures=Figures.from_rows(figures))
    return replace(estimated, groups=tuple(filled if group is differences else group for group in estimated.groups))


class Conclusion(StrEnum):
    """A conclusion on whether two groups differ."""

    DIFFER = "differ"
    MAY_DIFFER = "may differ"
    NO_DIFFERENCE = "no difference seen"
    TOO_FEW = "too few reports to say"


def highlights_of(
    estimates: Sequence[MetricEstimate], metrics: Mapping[str, Metric], changed: Iterable[Changes]
) -> tuple[Highlight, ...]:
    """Return, for each metric, the window and figures to show first.

    ``estimates`` is sorted by metric, then by window.
    """
    by_metric = {name: list(windows) for name, windows in groupby(estimates, key=lambda each: each.metric)}
    shown = {name: first_shown(windows) for name, windows in by_metric.items()}
    independence = independence_of(shown.values())
    changes = {each.metric: each for each in changed}
    together = {each.metric: each for each in pooled(estimates, metrics)}
    positions = {name: shown_values(_last_with_reports(windows)) for name, windows in by_metric.items()}
    return tuple(
        Highlight(
            shown=shown[name],
            positions=positions[name],
            left_out=left_out(_last_with_reports(windows)),
            precision=_precision(shown[name], metrics[name]),
            independence=independence.get(name),
            changes=changes.get(name),
            pooled=together.get(name),
        )
        for name, windows in by_metric.items()
    )


def suggested(estimated: MetricEstimate) -> tuple[float, ...]:
    """Return thresholds that would enclose the median more closely than the present thresholds.

    The number of reports is assumed not to change. Answers are assumed to be uniform between the
    present thresholds.

    * Two thresholds lie as close to the median as possible, one on each side. The shares of answers
      above these two thresholds still differ clearly from one half.
    * A third threshold lies on the side with the longer part of the range. The share above the
      third threshold is three times as far from one half as the shares above the other two
      thresholds. The third threshold limits the median even if the nearer threshold on this side is
      inconclusive.
    """
    above, quantiles = estimated.group("share_above"), estimated.group("quantile")
    if above is None or quantiles is None or quantiles.ends is None or not above.figures.standard_errors.size:
        return ()
    low, high = quantiles.ends
    thresholds: list[Any] = list(above.figures.labels)
    edges, at_most = [low, *thresholds, high], [0.0, *(1 - above.figures.maximum_likelihood), 1.0]
    reach = min(FARTHEST / 3, REACH * float(above.figures.standard_errors.max()))
    median = float(np.interp(0.5, at_most, edges))
    guard = 3 * reach if high - median >= median - low else -3 * reach
    numbers = np.interp(np.array(sorted((-reach, reach, guard))) + 0.5, at_most, edges)
    rounded = dict.fromkeys(float(f"{each:.{ROUND}g}") for each in numbers.tolist())
    return tuple(each for each in rounded if low < each <= high)


def first_shown(windows: Sequence[MetricEstimate]) -> MetricEstimate:
    """Return the window to show first.

    This window is the last closed window with reports, else the last window with reports, else the
    last window.
    """
    with_reports = [window for window in windows if window.reports]
    closed = [window for window in with_reports if window.closed]
    return [*windows[-1:], *with_reports[-1:], *closed[-1:]][-1]


def shown_values(estimated: MetricEstimate) -> tuple[int, ...]:
    """Return the positions of the values or coordinates to show, in ascending order."""
    group = by_value(estimated)
    if group is None:
        return ()
    figures = group.figures
    if group.about.is_share and shown_of(len(figures), SHOWN_VALUES) == len(figures):
        return tuple(range(len(figures)))
    sizes = figures.shrunken if figures.shrunken.size else figures.highs
    return _largest(sizes if group.about.is_share else np.abs(figures.unbiased))


def by_value(estimated: MetricEstimate) -> FigureGroup | None:
    """Return the statistic with a figure for each value or coordinate, or None if there is none."""
    return next((group for group in estimated.groups if group.about.by_value), None)


def _largest(sizes: Floats) -> tuple[int, ...]:
    largest = np.argsort(-sizes, kind="stable")[: shown_of(len(sizes), SHOWN_VALUES)]
    return tuple(sorted(largest.tolist()))


def left_out(estimated: MetricEstimate) -> int:
    """Return the number of values or coordinates that are not shown."""
    group = by_value(estimated)
    return 0 if group is None else len(group.figures) - shown_of(len(group.figures), SHOWN_VALUES)


def independence_of(shown: Iterable[MetricEstimate]) -> dict[str, float]:
    """Return the corrected p-value of each metric's test of independence.

    Each p-value is corrected for all tests of independence in ``shown``.
    """
    tests = {each.metric: each.independence for each in shown if each.independence is not None}
    corrected = holm([test.p_value for test in tests.values()], [1.0] * len(tests))
    return dict(zip(tests, corrected, strict=True))


def _last_with_reports(windows: Sequence[MetricEstimate]) -> MetricEstimate:
    with_reports = [window for window in windows if window.reports]
    return (with_reports or windows)[-1]


def _precision(estimated: MetricEstimate, metric: Metric) -> Precision:
    reach, scale = _reach(estimated, metric)
    if reach <= TOO_FAR * scale:
        return Precision(reach, scale, None)
    needed = reports_needed(unit_variance(metric), TOO_FAR * scale / Z)
    return Precision(reach, scale, max(EXACT_BELOW, needed))


def _reach(estimated: MetricEstimate, metric: Metric) -> tuple[float, float]:
    """Return the half-width of a metric's widest interval, and the length of the figures' range."""
    leading = estimated.leading
    if leading is None:
        return 0.0, analysis_of(metric).width
    lows, highs = map(leading.about.scale.inner, (leading.figures.lows, leading.figures.highs))
    reach = float((highs - lows).max()) / 2
    return reach, 1.0 if leading.about.is_share else analysis_of(metric).width
