"""The shares of devices that were used on at least a given number of the last days."""

from __future__ import annotations

from client_sdk.protocol.kinds.number import Activity
from estimator.decoders.protocol import Inverse
from estimator.estimates.means import Contrast, mean_of
from estimator.results.estimate import Figure, Figures
from estimator.results.group import SHARES, FigureGroup
from estimator.statistics.arrays import Counts, Floats


def thresholds(kind: Activity) -> tuple[int, ...]:
    """Return the numbers of days whose shares a report has: one, a quarter, half and all."""
    days = int(kind.high)
    return (1, -(-days // 4), -(-days // 2), days)


def at_least(kind: Activity, inverse: Inverse, counts: Counts, likeliest: Floats, family: int = 1) -> FigureGroup:
    """Return the share at or above each threshold.

    It is a mean of answers that are worth 1 from the threshold on, and 0 below.

    Args:
        kind: the days.
        inverse: of the channel of their numbers.
        counts: of each symbol, shape (m,).
        likeliest: the maximum-likelihood shares of the numbers of days; empty without reports.
        family: the number of intervals of the tally that are to hold together.

    """
    shares = []
    for least in thresholds(kind):
        worth = tuple(float(days >= least) for days in kind.labels)
        mean = mean_of(Contrast.remembered(inverse, worth), counts, int(counts.sum()), family)
        likely = min(1.0, float(likeliest[least:].sum())) if likeliest.size else None
        shares.append(Figure(*mean, maximum_likelihood=likely, value=least))
    return FigureGroup("share_at_least", Figures.from_rows(shares), "", SHARES)
