"""The shares and the mean that tallies of one metric tell, each with its uncertainty; all of them side by side.

Arrays have a row a tally: what numpy does for one row and for a hundred takes about as long.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from client_sdk.protocol import Label, Metric, Number, Subset
from estimator.estimates.mean_scale import positions_of
from estimator.estimates.means import Contrast, means_of
from estimator.estimates.shrinkage import FEWEST, shrunken_shares
from estimator.inverse import inverse_of
from estimator.inverse.decoders import decoder_of
from estimator.inverse.protocol import Inverse
from estimator.likelihood.shares import maximum_likelihood
from estimator.results.estimate import Estimate, Shares
from estimator.statistics.arrays import Counts, Floats

Figures = tuple[Shares | None, Estimate | None]


def shares_and_means(metric: Metric, counts: Counts, reports: Counts, family: int = 1) -> Iterator[Figures]:
    """Yield the shares and the mean of each tally, where its answers have such.

    Args:
        metric: the question.
        counts: of each symbol, shape (tallies, m).
        reports: n, their sum, shape (tallies, 1); with 0 everything is possible.
        family: how many intervals of each tally shall hold together.

    """
    is_told = reports[:, 0] > 0
    told = (_of_values if has_shares(metric) else _of_number)(metric, counts[is_told], reports[is_told], family)
    for one in is_told.tolist():
        yield next(told) if one else _unknown(metric)


def has_shares(metric: Metric) -> bool:
    """Whether each input of the channel stands for an answer, and no more than its range is known of a number."""
    is_number = isinstance(metric.domain, Number) and metric.domain.size is None
    return not is_number and decoder_of(metric.channel) is None


def _unknown(metric: Metric) -> Figures:
    domain = metric.domain
    if isinstance(domain, Number) and not has_shares(metric):
        return None, Estimate(None, None, float(domain.low), float(domain.high), None)
    positions = positions_of(metric)
    mean = None if positions is None else Estimate(None, None, float(positions.min()), float(positions.max()), None)
    return Shares.unknown(domain.labels), mean


def _of_number(metric: Metric, counts: Counts, reports: Counts, family: int) -> Iterator[Figures]:
    domain, decoder = metric.domain, decoder_of(metric.channel)
    assert isinstance(domain, Number)  # noqa: S101 only numbers have no shares
    if decoder is None:
        ends = _shares((0, 1), inverse_of(metric.channel), counts, reports, family)
        means = [high for _, (_, high) in ends]
    else:
        means = [Estimate(*one, likeliest=None) for one in means_of(decoder, counts, reports, family)]
    for mean in means:
        yield None, mean.between(float(domain.low), float(domain.high))


def _of_values(metric: Metric, counts: Counts, reports: Counts, family: int) -> Iterator[Figures]:
    domain, positions, inverse = metric.domain, positions_of(metric), inverse_of(metric.channel)
    found = _shares(domain.labels, inverse, counts, reports, family)
    means = [None] * len(found) if positions is None else _means(positions, inverse, found, counts, reports, family)
    for shares, mean in zip(found, means, strict=True):
        yield (shares.of_members(domain.labels, domain.max_items) if isinstance(domain, Subset) else shares), mean


def _shares(labels: Sequence[Label], inverse: Inverse, counts: Counts, reports: Counts, family: int) -> list[Shares]:
    lows, highs = inverse.intervals(counts, reports, family)
    unbiased, errors = inverse.shares(counts, reports), inverse.standard_errors(counts, reports)
    likeliest = maximum_likelihood(inverse, counts)
    shrunken = shrunken_shares(unbiased, errors) if unbiased.shape[-1] >= FEWEST else np.zeros((len(counts), 0))
    return [Shares(labels, *one) for one in zip(lows, highs, unbiased, errors, likeliest, shrunken, strict=True)]


def _means(  # noqa: PLR0913, PLR0917 what shares were estimated from
    positions: Floats, inverse: Inverse, shares: Sequence[Shares], counts: Counts, reports: Counts, family: int
) -> list[Estimate]:
    least, greatest = float(positions.min()), float(positions.max())
    weights = (positions - least) / (greatest - least)
    contrast = Contrast.remembered(inverse, tuple(weights.tolist()))
    means = means_of(contrast, counts, reports, family)
    return [
        Estimate(*mean, likeliest=float(weights @ one.likeliest)).between(least, greatest)
        for mean, one in zip(means, shares, strict=True)
    ]
