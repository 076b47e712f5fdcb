"""The precision of figures pooled over several windows, and of changes between periods.

A *figure* is an estimated share or mean. Let v be the figure's variance from a single report, for
the answers with the largest variance. The same people may answer in every window (see
`estimator.report.same_people`). A part L of v, the lasting variance, then comes from randomness
that is the same in all windows. The other part, v - L, comes from randomness that is new in each
window.

Suppose that each of k windows has n reports. Normal intervals are valid only if n (v - L) is at
least m (`LEAST_NOISE`). Otherwise, all of v counts as lasting. Let V = L + max((v - L) / k, min(v -
L, m / n)). For figures on a range of length 1:

* The variance of a figure pooled over all k windows is at most V / n.
* The variance of the change from the previous k windows to these k windows is at most 2 V / n + 2
  min(L, 1/4) / n. This maximum is reached if people give opposite answers before and after the
  change.

The command ``report --since DAY`` lists the figures that have been higher or lower since a day. A
change is *detected* if this command lists the figure. The command lists a figure if its p-value,
corrected for all compared figures of all metrics, is at most 5%. Let z be the normal quantile of
the equivalent significance level without correction, and z' the normal quantile of 0.8. A change of
z + z' standard errors is detected with a probability of at least 80%.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any, Final

import numpy as np

from client_sdk.protocol.horizon import windows_left
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.window import Window, WindowKind
from estimator.analyses.analysis import Analysis
from estimator.analyses.lasting import lasting_of_shares, least_noise_of_means
from estimator.analyses.metric import estimate
from estimator.decoders.decoder import LEAST_NOISE
from estimator.plan.target_error import reports_needed, unit_variance
from estimator.results.estimate import Record, says
from estimator.results.statistic import STATISTICS
from estimator.statistics.confidence import EXACT_BELOW, Z_OF_POWER, z_of
from estimator.tallies import Tally

PERIODS: Final[Mapping[WindowKind, Mapping[str, int]]] = {
    WindowKind.DAY: {"week": 7, "month": 30, "quarter": 91},
    WindowKind.WEEK: {"week": 1, "month": 4, "quarter": 13},
    WindowKind.MONTH: {"month": 1, "quarter": 3},
}
"""For each kind of window, the lengths of the compared periods, as numbers of windows."""

MIDDLE: Final = np.array([0.5])
"""The share with the largest variance of answers. The same number is the mean with the largest
variance if answers range from 0 to 1.
"""

OPPOSED: Final = 0.25
"""The absolute value of the lowest possible covariance of a person's answers in two windows.

This covariance occurs if half of the people answer "yes" in one window, and everyone gives the
opposite answer in the other window.
"""


class Together(Record, frozen=True):
    """The standard error of a metric's pooled shares or, without shares, of its pooled mean."""

    windows: Annotated[int, says("the number of windows.")]
    standard_error_worst: Annotated[
        float, says("the largest standard error in any population, if the same people may answer in every window.")
    ]


class SeenChange(Record, frozen=True):
    """The smallest change in a share or mean that is detected between two periods."""

    period: Annotated[
        str, says("the period, such as ``week``. The period after the change is compared with the one before it.")
    ]
    windows: Annotated[int, says("the number of windows in the period.")]
    smallest: Annotated[
        float | None,
        says(
            "the smallest change that `report --since` finds in 4 of 5 cases, with p-values corrected for all "
            f"figures. None if no change would be found, or if a window has fewer than {EXACT_BELOW} reports."
        ),
    ]


class Variances:
    """The variance of a figure, times the number of reports n, for a range of length 1."""

    def __init__(self, analysis: Analysis[Any], worst: float) -> None:
        """Divide the variance ``worst`` into a lasting part and the part that is new per window."""
        metric = analysis.metric
        if analysis.squares is not None:
            most = float(lasting_of_shares(metric.channel, MIDDLE, of_one_value=True)[0])
        else:
            most = worst - float(least_noise_of_means(metric, MIDDLE)[0])
        self._worst = worst
        self._fresh = worst - min(worst, most)

    def over(self, windows: int, reports: int) -> float:
        """Return n times the variance of a figure over several windows with n reports each."""
        fresh = max(self._fresh / windows, min(self._fresh, LEAST_NOISE / reports))
        return self._worst - self._fresh + fresh

    def of_change(self, windows: int, reports: int) -> float:
        """Return n times the variance of the change between two periods of ``windows`` windows."""
        is_enough = reports * self._fresh >= LEAST_NOISE
        lasting = self._worst - self._fresh if is_enough else self._worst
        return 2 * (self.over(windows, reports) + min(lasting, OPPOSED))


def variances_of(analysis: Analysis[Any]) -> Variances | None:
    """Return the variances of a metric's share or mean.

    Return None if the command ``report`` never pools this figure over several windows.
    """
    if analysis.squares is not None:
        return Variances(analysis, analysis.squares.worst * analysis.factor**2)
    variance = analysis.mean_variance
    return None if variance is None or analysis.mean_statistic not in STATISTICS else Variances(analysis, variance)


def width_of(analysis: Analysis[Any]) -> float:
    """Return the length of the range of a metric's figure, which is 1 for shares."""
    return 1.0 if analysis.squares is not None else analysis.width


def together(analysis: Analysis[Any], windows: int, reports: int) -> Together | None:
    """Return the error of a metric's share or mean that is pooled over several windows.

    Return None if there are no reports, or if the command ``report`` never pools this figure.
    """
    variances = variances_of(analysis)
    if variances is None or reports == 0:
        return None
    return Together(windows, width_of(analysis) * math.sqrt(variances.over(windows, reports) / reports))


def needed_together(analysis: Analysis[Any], windows: int, error: float) -> int:
    """Return the number of reports per window at which the pooled figure has a given error.

    If the command ``report`` never pools the metric's windows, the error is for one window.
    """
    variances = variances_of(analysis)
    if variances is None:
        return reports_needed(unit_variance(analysis.metric), error)
    scale = width_of(analysis) ** 2
    too_few, enough = 0, reports_needed(scale * variances.over(1, 1), error)
    while enough - too_few > 1:  # the variance itself depends on the number of reports
        reports = (too_few + enough) // 2
        if reports_needed(scale * variances.over(windows, reports), error) > reports:
            too_few = reports
        else:
            enough = reports
    return enough


def seen_changes(
    analysis: Analysis[Any], reports: int, comparisons: int, paid: int | None = None
) -> tuple[SeenChange, ...]:
    """Return the smallest detectable change for each period. Return () if changes are not tested.

    Two adjacent periods are compared. A period is left out if the ceilings do not pay for all
    answers in both periods. ``comparisons`` is the divisor of the significance level (see the
    function `comparisons`), or 0 if changes are not tested. ``paid`` is the number of windows that
    the ceilings pay for, or None for all.
    """
    variances = variances_of(analysis)
    if variances is None or comparisons == 0:
        return ()
    errors = z_of(comparisons) + Z_OF_POWER
    seen = []
    for period, windows in PERIODS[analysis.metric.window].items():
        if paid is not None and 2 * windows > paid:
            break
        variance = variances.of_change(windows, reports) / reports if reports >= EXACT_BELOW else math.inf
        smallest = errors * math.sqrt(variance)
        seen.append(SeenChange(period, windows, width_of(analysis) * smallest if smallest <= 1 else None))
    return tuple(seen)


def comparisons(registry: Registry, today: date) -> dict[str, int]:
    """Return, for each metric, the number by which the significance level of a figure is divided.

    Every metric and every stratum receives an equal part of the significance level. This part is
    divided equally among the figures of the metric or stratum. For example, if there are two
    metrics and no strata, the divisor for a metric with 3 figures is 6.
    """
    asked = [metric for metric in registry.metrics.values() if windows_left(metric, today) != 0]
    tests = {metric.name: _tests(metric, today) for metric in asked}
    metrics = sum(1 + len(registry.metrics[name].strata) for name, number in tests.items() if number)
    return {name: metrics * number for name, number in tests.items()}


def _tests(metric: Metric, today: date) -> int:
    window, nothing = Window.on(metric.window, today), [0] * metric.channel.symbols
    estimated = estimate(metric, Tally(metric.name, metric.edition, window, closed=True, reports=0, counts=nothing))
    return sum(len(group.figures) for group in estimated.followed) - estimated.is_pair
