"""Which alerts fire: where the whole interval of a figure is beyond a bound.

If the figure is not beyond the bound, an alert fires only if the interval misses the figure on one
side. So its rate of false alarms is at most the rate at which intervals miss.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from estimator.results.alert import Alert, JudgedAlert, Operator
from estimator.results.metric import MetricEstimate
from estimator.statistics.confidence import EXACT_BELOW


def judged(alerts: Sequence[Alert], estimates: Iterable[MetricEstimate]) -> list[JudgedAlert]:
    """Judge alerts in every closed window of their metric, in the order of the estimates.

    A window that is still open is left out: it would be judged again and again.

    Args:
        alerts: in any order.
        estimates: of any metrics and windows.

    """
    return [
        _judged(alert, estimated)
        for estimated in estimates
        if estimated.closed
        for alert in alerts
        if alert.metric == estimated.metric
    ]


def _judged(alert: Alert, estimated: MetricEstimate) -> JudgedAlert:
    figure = estimated.figure(alert.key)
    estimate, low, high = (None, None, None) if figure is None else (figure.estimate, figure.low, figure.high)
    is_outside = low is not None and high is not None and is_beyond(alert, low, high)
    return JudgedAlert(
        metric=alert.metric,
        window=estimated.window,
        figure=alert.figure,
        operator=alert.operator.value,
        bound=alert.bound,
        estimate=estimate,
        low=low,
        high=high,
        reports=estimated.reports,
        fired=is_outside and estimated.reports >= EXACT_BELOW,
    )


def is_beyond(alert: Alert, low: float, high: float) -> bool:
    """Whether a whole interval is beyond the bound of an alert."""
    match alert.operator:
        case Operator.ABOVE:
            return low > alert.bound
        case Operator.AT_LEAST:
            return low >= alert.bound
        case Operator.BELOW:
            return high < alert.bound
        case Operator.AT_MOST:
            return high <= alert.bound
