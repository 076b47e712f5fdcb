"""The shares and the mean of each tally of one metric, with their uncertainty.

Arrays have one row for each tally: numpy takes about as long for a hundred rows as for one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from client_sdk.protocol.kinds.cross import MeanByGroup
from client_sdk.protocol.kinds.grid import Grid
from client_sdk.protocol.kinds.kind import Label
from client_sdk.protocol.kinds.set import Subset
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.texts.text import Text
from estimator.decoders.inversions import decoder_of, inverse_of
from estimator.decoders.protocol import Inverse
from estimator.estimates.group_means import group_shares
from estimator.estimates.mean_scale import positions_of
from estimator.estimates.means import Contrast, means_of
from estimator.estimates.shrinkage import FEWEST, shrunken_shares
from estimator.likelihood.shares import maximum_likelihood
from estimator.results.estimate import Estimate, Figures
from estimator.statistics.arrays import Counts, Floats

SharesAndMean = tuple[Figures | None, Estimate | None]


def shares_and_means(metric: Metric, counts: Counts, reports: Counts, family: int = 1) -> Iterator[SharesAndMean]:
    """Yield the shares and the mean of each tally, or None if its answers have none.

    Args:
        metric: the question.
        counts: of each symbol, shape (tallies, m).
        reports: n, their sum, shape (tallies, 1); without reports everything is possible.
        family: the number of intervals of each tally that are to hold together.

    """
    has_reports = reports[:, 0] > 0
    figures = (_of_values if has_shares(metric) else _of_number)(
        metric, counts[has_reports], reports[has_reports], family
    )
    for is_known in has_reports.tolist():
        yield next(figures) if is_known else _unknown(metric)


def has_shares(metric: Metric) -> bool:
    """Whether each input of the channel stands for an answer, not for a point of a range."""
    is_number = isinstance(metric.kind, Grid) and metric.kind.size is None
    return not is_number and not isinstance(metric.kind, Text) and decoder_of(metric.channel) is None


def labels_of(metric: Metric) -> Sequence[Label]:
    """Return the answers whose shares a report has, in its order; () without any.

    Of a number by group they are the groups.
    """
    if isinstance(metric.kind, MeanByGroup):
        return metric.kind.first.labels
    return metric.labels if has_shares(metric) else ()


def _unknown(metric: Metric) -> SharesAndMean:
    domain = metric.kind
    if isinstance(domain, Grid) and not has_shares(metric):
        return None, Estimate(None, None, float(domain.low), float(domain.high), None)
    positions = positions_of(metric)
    mean = None if positions is None else Estimate(None, None, float(positions.min()), float(positions.max()), None)
    return Figures.unknown(labels_of(metric)), mean


def _of_number(metric: Metric, counts: Counts, reports: Counts, family: int) -> Iterator[SharesAndMean]:
    domain, decoder = metric.kind, decoder_of(metric.channel)
    assert isinstance(domain, Grid)  # noqa: S101 only numbers have no shares
    if decoder is None:
        ends = _shares((0, 1), inverse_of(metric.channel), counts, reports, family)
        means: list[Estimate] = [high for _, high in ends]
    else:
        means = [Estimate(*figures, maximum_likelihood=None) for figures in means_of(decoder, counts, reports, family)]
    for mean in means:
        yield None, mean.between(float(domain.low), float(domain.high))


def _of_values(metric: Metric, counts: Counts, reports: Counts, family: int) -> Iterator[SharesAndMean]:
    domain, positions, inverse = metric.kind, positions_of(metric), inverse_of(metric.channel)
    if isinstance(domain, MeanByGroup):
        yield from ((shares, None) for shares in group_shares(domain, inverse, counts, reports, family))
        return
    of_tallies = _shares(metric.labels, inverse, counts, reports, family)
    means = (
        [None] * len(of_tallies)
        if positions is None
        else _means(positions, inverse, of_tallies, counts, reports, family)
    )
    for shares, mean in zip(of_tallies, means, strict=True):
        yield (shares.of_members(domain.labels, domain.max_items) if isinstance(domain, Subset) else shares), mean


def _shares(labels: Sequence[Label], inverse: Inverse, counts: Counts, reports: Counts, family: int) -> list[Figures]:
    lows, highs = inverse.intervals(counts, reports, family)
    unbiased, errors = inverse.shares(counts, reports), inverse.standard_errors(counts, reports)
    likeliest = maximum_likelihood(inverse, counts)
    shrunken = shrunken_shares(unbiased, errors) if unbiased.shape[-1] >= FEWEST else np.zeros((len(counts), 0))
    return [
        Figures(labels, *columns) for columns in zip(lows, highs, unbiased, errors, likeliest, shrunken, strict=True)
    ]


def _means(  # noqa: PLR0913, PLR0917 what shares were estimated from
    positions: Floats, inverse: Inverse, shares: Sequence[Figures], counts: Counts, reports: Counts, family: int
) -> list[Estimate]:
    least, greatest = float(positions.min()), float(positions.max())
    weights = (positions - least) / (greatest - least)
    contrast = Contrast.remembered(inverse, tuple(weights.tolist()))
    means = means_of(contrast, counts, reports, family)
    return [
        Estimate(*mean, maximum_likelihood=float(weights @ of_tally.maximum_likelihood)).between(least, greatest)
        for mean, of_tally in zip(means, shares, strict=True)
    ]
