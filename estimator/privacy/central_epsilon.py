"""What the tallies of a report reveal if nothing else is published.

For the assumptions see `estimator.privacy.amplification`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from client_sdk.protocol.epsilon import as_float
from client_sdk.protocol.metric import Metric
from estimator.privacy.amplification import composed, shuffled_epsilon
from estimator.privacy.clones import ROUNDING
from estimator.results.extras import Central


def central_of(metric: Metric, reports: int, delta: float, *, closed: bool) -> Central | None:
    """Return what a tally of the metric reveals at a delta.

    Returns:
        The epsilon, or None if there is none to show: while the window is open, because the tally
        is read again; without reports; and for a channel with a delta of its own, for which no
        amplification is shown here. Its promise for each report is in the registry.

    """
    if not closed or reports == 0 or metric.delta > 0:
        return None
    return Central(delta, shuffled_epsilon(reports, as_float(metric.epsilon_nanos), delta))


def together(tallies: Sequence[tuple[Metric, int]], delta: float) -> Central | None:
    """Return what closed tallies reveal together about a device that is in all of them.

    A channel with a delta of its own counts with its promise for each report.

    Args:
        tallies: the metric and the number of reports of each.
        delta: of all of them together.

    Returns:
        The epsilon, or None if the channels' own deltas use up the given one.

    """
    counted = [(metric, reports) for metric, reports in tallies if reports > 0]
    pure = [(reports, as_float(metric.epsilon_nanos)) for metric, reports in counted if not metric.delta]
    unamplified = [metric for metric, _ in counted if metric.delta]
    left = Fraction(delta) - sum(metric.delta for metric in unamplified)
    if not counted or left <= 0:
        return None
    parts = [composed(pure, float(left)), *(as_float(metric.epsilon_nanos) for metric in unamplified)]
    return Central(delta, math.fsum(parts) * ROUNDING)
