"""Naive Bayes: the log-odds of "yes" in each cell of each feature, with intervals.

A cell is a value of a feature, or one of the equal parts of a feature's range. A device draws one
of the model's features at random. The device reports its cell of this feature together with the
label, "yes" or "no".

The reports about a feature form a separate tally. The share of "yes" within a cell is a ratio of
two estimated shares, and the module `ratios` computes its interval.

The model gives each cell a weight, which is added to the log-odds of "yes". The weights are the
most likely ones, given the reports and a prior distribution. In this prior, a weight is the sum of
a trend along the cells and an independent part for each cell. The prior shrinks weights toward 0,
so noise has little effect.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from client_sdk.protocol.kinds.kind import word
from client_sdk.protocol.mechanisms.crosses import Crosses
from client_sdk.protocol.model import ModelFeature
from estimator.analyses.models.products import input_of
from estimator.analyses.models.skill import LEAST_SHARE, possible_share
from estimator.analyses.ratios import Ratios, Sample
from estimator.analyses.vectors import even_test
from estimator.decoders.inversions import inverse_of
from estimator.results.estimate import Figures
from estimator.results.metric import Fakes, LearnedModel, Move
from estimator.statistics.arrays import Counts, Floats, nearest_shares
from estimator.statistics.confidence import EXACT_BELOW, z_of
from estimator.tallies import Tally

MOST_LOG_ODDS: Final = math.log(1 / LEAST_SHARE - 1)
"""The largest log-odds. An unbounded interval ends at plus or minus this number."""

TREND: Final = 2.0
"""The prior standard deviation of the trend's rise from the middle to the last cell.

docs/research/models.md lists the alternatives that were tried.
"""

APART: Final = 0.5
"""The prior standard deviation of each cell's weight around the trend."""

MOST_WEIGHT: Final = 6.0
"""The maximum absolute weight of a cell. A cell changes odds by a factor of at most about 400."""

STEPS: Final = 20
"""The number of steps in the search for the weights. Ten are usually enough."""

YES: Final = 1
"""The index of "yes" among the two labels, "no" and "yes"."""

EVERYTHING: Final = (0.0, 1.0)
"""The interval of a completely unknown share."""


class CellShares(NamedTuple):
    """For one feature, the estimated share of people with each pair of a cell and a label.

    Only the reports about this feature are used.

    Attributes:
        feature: the feature.
        no: for each cell, the unbiased estimate of the share of people who are in this cell and
            have the label "no", shape (cells,).
        yes: for each cell, the unbiased estimate of the share of people who are in this cell and
            have the label "yes", shape (cells,).
        covariance: the covariance of the shares, shape (2 cells, 2 cells). Each cell has two rows,
            first "no" and then "yes".
        sample: the tally of the reports about the feature, with scores in the order of the
            covariance.
    """

    feature: ModelFeature
    no: Floats
    yes: Floats
    covariance: Floats
    sample: Sample

    @property
    def error(self) -> float:
        """The root mean square of the shares' standard errors."""
        return math.sqrt(float(np.diagonal(self.covariance).mean()))


def cells_of(features: Sequence[ModelFeature], channel: Crosses, counts: Counts) -> Iterator[CellShares]:
    """Yield the shares of the cells of each feature that has reports.

    ``channel`` contains a channel for each feature.
    """
    parts = np.split(counts, channel.firsts[1:])
    for feature, own, of_feature in zip(features, channel.features, parts, strict=True):
        reports = int(of_feature.sum())
        inverse = inverse_of(own)
        if reports:
            shares = inverse.shares(of_feature, reports)
            sample = Sample.from_counts(inverse, of_feature)
            yield CellShares(feature, shares[::2], shares[1::2], sample.covariance(inverse), sample)


def fakes_of_crosses(channel: Crosses, tally: Tally, fraction: float) -> Fakes:
    """Return how far fabricated reports could have moved the share of any cell-label pair.

    In the worst case, all fabricated reports are about the same feature. If all reports about the
    feature could be fabricated, the estimate could lie anywhere between the smallest and the
    largest score.
    """
    parts = np.split(tally.dense(channel.symbols), channel.firsts[1:])
    downs, ups = [0.0], [0.0]
    for own, counts in zip(channel.features, parts, strict=True):
        reports = int(counts.sum())
        if not reports:
            continue
        inverse = inverse_of(own)
        shares, (least, most) = inverse.shares(counts, reports), inverse.extremes()
        made_up = fraction * tally.reports / reports
        lowered, raised = most - shares, shares - least
        if made_up < 1:
            odds = made_up / (1 - made_up)
            lowered, raised = np.minimum(odds * raised, lowered), np.minimum(odds * lowered, raised)
        downs.append(float(lowered.max()))
        ups.append(float(raised.max()))
    test = even_test(np.array([counts.sum() for counts in parts]))
    return Fakes(fraction=fraction, moves=(Move("cell_share", max(downs), max(ups)),), test=test)


def base_rate(of_features: list[CellShares]) -> float:
    """Return the share of people with the label "yes", estimated from the reports on all features.

    Noise cannot make the result 0 or 1 (see `possible_share`).
    """
    reports = np.array([cells.sample.reports for cells in of_features], dtype=float)
    shares = [cells.yes.sum() / (cells.yes.sum() + cells.no.sum()) for cells in of_features]
    variances = [float(cells.covariance[1::2, 1::2].sum()) for cells in of_features]
    parts = reports / reports.sum()
    error = math.sqrt(max(0.0, float(parts**2 @ variances)))
    return possible_share(float(parts @ shares), max(error, 1 / reports.sum()))  # a tally may lack "yes" by chance


class Fitted(NamedTuple):
    """The shares and weights of the cells, for all features that have reports.

    Attributes:
        of_features: the shares of each feature's cells.
        share: the share of people with the label "yes".
        weights: the weights of each feature's cells, from `weights_of`.
    """

    of_features: list[CellShares]
    share: float
    weights: list[Floats]

    @classmethod
    def from_cells(cls, of_features: list[CellShares]) -> Fitted:
        """Fit the weights of every feature to the shares of its cells."""
        share = base_rate(of_features) if of_features else 0.5
        return cls(of_features, share, [weights_of(cells, share) for cells in of_features])


def learned_crosses(features: Sequence[ModelFeature], fitted: Fitted) -> LearnedModel:
    """Return the learned model. If a feature has no reports, its weights are 0."""
    known = {cells.feature.name: each for cells, each in zip(fitted.of_features, fitted.weights, strict=True)}
    return LearnedModel(
        mechanism=Crosses.name,
        norm=None,
        penalty=None,
        intercept=logit(fitted.share),
        inputs=tuple(input_of(each, known.get(each.name, np.zeros(each.cells))) for each in features),
    )


def weights_of(cells: CellShares, share: float) -> Floats:
    """Return the weight of each cell, which is added to the log-odds of "yes", shape (cells,).

    Let t be the share of people in a cell, and p the fraction of them whose label is "yes".
    The weight w determines p. The share of all people who are in the cell and have the label "yes"
    is p t. The estimate of this share, minus p times the estimate of t, has expectation 0 and a
    known covariance. To first order, this difference falls by p (1 - p) t if w rises by 1. Each
    step of the search solves a linear approximation for w (Gauss-Newton method).

    The estimated variance may be nearly 0 if a cell has no "yes". Each variance is therefore raised
    to at least t p (1 - p) / n, which would be the variance for n people without randomization.
    With fewer than `EXACT_BELOW` reports, all weights are 0.
    """
    if cells.sample.reports < EXACT_BELOW:
        return np.zeros(len(cells.yes))
    places = np.linspace(-1, 1, len(cells.yes))
    prior = TREND**2 * np.outer(places, places) + APART**2 * np.eye(len(places))
    sizes = nearest_shares(cells.yes + cells.no)
    of_yes, of_both = np.kron(np.eye(len(places)), [[0, 1]]), np.kron(np.eye(len(places)), [[1, 1]])
    weights, start = np.zeros(len(places)), logit(share)
    for _ in range(STEPS):
        rates = 1 / (1 + np.exp(-start - weights))
        slopes = sizes * rates * (1 - rates)
        contrast = of_yes - rates[:, np.newaxis] * of_both
        noise = contrast @ cells.covariance @ contrast.T
        noise.flat[:: len(places) + 1] = np.maximum(noise.diagonal(), slopes / cells.sample.reports)
        misfit = cells.yes - rates * (cells.yes + cells.no) + slopes * weights
        weights = prior * slopes @ np.linalg.solve(slopes[:, np.newaxis] * prior * slopes + noise, misfit)
        weights = np.clip(weights, -MOST_WEIGHT, MOST_WEIGHT)
    return weights


def logit(share: float) -> float:
    """Return the log-odds of a share."""
    return math.log(share / (1 - share))


def log_odds(features: Sequence[ModelFeature], fitted: Fitted, family: int = 1) -> Figures:
    """Return the log-odds of "yes" in each cell of each feature.

    An estimate is the log-odds of "yes" among all people, plus the cell's weight. If any feature
    has no reports, no cell has an estimate, and all intervals are unbounded.
    """
    names = [f"{each.name} = {word(cell)}" for each in features for cell in each.labels]
    if len(fitted.of_features) < len(features):
        ends = np.full(len(names), MOST_LOG_ODDS)
        return Figures(names, -ends, ends)
    lows, highs = (
        np.concatenate(ends) for ends in zip(*(odds_ends(each, family) for each in fitted.of_features), strict=True)
    )
    estimates = logit(fitted.share) + np.concatenate(fitted.weights)
    errors = (highs - lows) / (2 * z_of(family))
    return Figures(names, lows, highs, np.clip(estimates, lows, highs), errors)


def odds_ends(cells: CellShares, family: int) -> tuple[Floats, Floats]:
    """Return the low and the high ends of the cells' intervals of log-odds, each of shape (cells,).

    An interval is unbounded (up to `MOST_LOG_ODDS`) if the feature has few reports, if the cell
    could be empty, or if the interval of the share of "yes" lies entirely outside 0..1.
    """
    shares = np.column_stack([cells.no, cells.yes])
    table = Ratios.from_shares(shares.ravel(), cells.covariance, len(shares), 2).widened(cells.sample)
    z = z_of(family) if cells.sample.reports >= EXACT_BELOW else math.inf
    limits = [table.limits(cell, YES, z) or EVERYTHING for cell in range(len(shares))]
    possible = [EVERYTHING if high <= 0 or low >= 1 else (low, high) for low, high in limits]
    ends = np.clip(np.array(possible), LEAST_SHARE, 1 - LEAST_SHARE)
    lows, highs = np.log(ends / (1 - ends)).T
    return lows, highs
