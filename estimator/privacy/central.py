"""What the tallies of a report reveal if nothing else is published, as `estimator.privacy.amplification` assumes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from client_sdk.protocol import Metric
from client_sdk.protocol.epsilon import as_float
from estimator.privacy.amplification import composed, shuffled_epsilon
from estimator.privacy.clones import ROUNDING
from estimator.results.central import Central


def central_of(metric: Metric, reports: int, delta: float, *, closed: bool) -> Central | None:
    """Return what a tally of the metric reveals at a delta, or none where there is nothing to say.

    That is so while its window is open, because the tally is looked at again; without any report; and for a channel
    with a delta of its own, of which no amplification is shown here: what holds for each report is in the registry.
    """
    if not closed or reports == 0 or metric.delta > 0:
        return None
    return Central(delta, shuffled_epsilon(reports, as_float(metric.epsilon_nanos), delta))


def together(tallies: Sequence[tuple[Metric, int]], delta: float) -> Central | None:
    """Return what closed tallies, each a metric and its reports, reveal together of a device that is in all of them.

    A channel with a delta of its own counts with what it promises for each report. If those deltas use up the one that
    is given, there is nothing to say.
    """
    counted = [(metric, reports) for metric, reports in tallies if reports > 0]
    pure = [(reports, as_float(metric.epsilon_nanos)) for metric, reports in counted if not metric.delta]
    unamplified = [metric for metric, _ in counted if metric.delta]
    left = Fraction(delta) - sum(metric.delta for metric in unamplified)
    if not counted or left <= 0:
        return None
    parts = [composed(pure, float(left)), *(as_float(metric.epsilon_nanos) for metric in unamplified)]
    return Central(delta, math.fsum(parts) * ROUNDING)
