"""Naive Bayes from crosses: the log-odds of yes in each cell of each feature, with intervals.

The reports about a feature form a separate tally of cells and labels. The share of yes within a
cell is a ratio of two unbiased shares. The module `ratios` computes its interval, which is also
valid if the ratio depends on few people. The interval is unbounded if any ratio is compatible with
the reports. The model's weights are shrunk because of the noise. They are the most likely weights
under a prior that consists of a trend along the cells and an independent part for each cell.
Differences that noise could explain have little effect, and a trend across all cells has more
effect than a single cell.
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
"""The value at which unbounded intervals of log-odds are cut off."""

TREND: Final = 2.0
"""The prior standard deviation of the trend, from the middle to the last cell. Weights often rise
or fall along a range, or along values in their listed order. docs/research/models.md lists the
alternatives that were tried.
"""

APART: Final = 0.5
"""The prior standard deviation of a cell's weight around the trend."""

MOST_WEIGHT: Final = 6.0
"""The maximum absolute weight of a cell. It limits a single cell to odds of 400 to 1."""

STEPS: Final = 20
"""The number of steps in the search for weights. After ten steps, weights usually no longer change.
"""

YES: Final = 1
"""The index of yes among the labels of a cell."""

EVERYTHING: Final = (0.0, 1.0)
"""The interval of a completely unknown share."""


class CellShares(NamedTuple):
    """The shares of a feature's cells in the population, from the reports about this feature.

    Attributes:
        feature: the feature.
        no: the unbiased share of people with each cell and the label no, shape (cells,).
        yes: the unbiased share of people with each cell and the label yes, shape (cells,).
        covariance: the covariance of the shares, shape (2 cells, 2 cells). The order is: the first
            cell's no and yes, the second cell's no and yes, and so on.
        sample: the reports about the feature, with scores in the same order.

    """

    feature: ModelFeature
    no: Floats
    yes: Floats
    covariance: Floats
    sample: Sample

    @property
    def error(self) -> float:
        """The standard error of a share, averaged over the shares as a root mean square."""
        return math.sqrt(float(np.diagonal(self.covariance).mean()))


def cells_of(features: Sequence[ModelFeature], channel: Crosses, counts: Counts) -> Iterator[CellShares]:
    """Yield the shares of the cells of each feature that has reports.

    Args:
        features: the features of the model.
        channel: the model's channel, which contains a channel for each feature.
        counts: the count of each symbol, shape (m,).

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
    """Return how far fabricated reports could at most have moved the share of a cell and label.

    In the worst case, all fabricated reports concern one feature, so they are a larger fraction of
    the reports on this feature. If all reports on the feature could be fabricated, the share may
    have moved by the distance from the estimate to the smallest or the largest score.
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
    """Return the share of people with the label yes, from the reports of all features."""
    reports = np.array([cells.sample.reports for cells in of_features], dtype=float)
    shares = [cells.yes.sum() / (cells.yes.sum() + cells.no.sum()) for cells in of_features]
    variances = [float(cells.covariance[1::2, 1::2].sum()) for cells in of_features]
    parts = reports / reports.sum()
    error = math.sqrt(max(0.0, float(parts**2 @ variances)))
    return possible_share(float(parts @ shares), max(error, 1 / reports.sum()))  # a sample without yes may be chance


class Fitted(NamedTuple):
    """The features with reports, and the weights of their cells.

    Attributes:
        of_features: the shares of each feature's cells.
        share: the share of people with the label yes.
        weights: the weights of each feature's cells, as `weights_of` returns them.

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
    """Return the learned model of a tally. A feature without reports has weights of 0."""
    known = {cells.feature.name: each for cells, each in zip(fitted.of_features, fitted.weights, strict=True)}
    return LearnedModel(
        mechanism=Crosses.name,
        norm=None,
        penalty=None,
        intercept=logit(fitted.share),
        inputs=tuple(input_of(each, known.get(each.name, np.zeros(each.cells))) for each in features),
    )


def weights_of(cells: CellShares, share: float) -> Floats:
    """Return the most likely weight of each cell for the log-odds of yes, shape (cells,).

    Let w be the weights, p the rates of yes that follow from them, and t the shares of the cells.
    Then yes - p t has the expectation 0, the slope p (1 - p) t in w, and a known covariance. Each
    step solves a linear approximation for w (Gauss-Newton method). If nobody in a cell happens to
    say yes, the estimated variance of the cell is 0. Each variance is therefore raised to at least
    t p (1 - p) / n, the variance for n people without noise. With few reports, the covariance is
    unknown, and all weights are 0.
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
    """Return the log-odds of yes in each cell of each feature.

    The estimates are shrunk toward the log-odds of all people, as in the model. If any feature has
    no reports, there are no estimates, and all intervals are unbounded.
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
    """Return the ends of the intervals of the log-odds of each cell, each of shape (cells,).

    The log-odds follow from the share of yes within the cell, whose interval the module `ratios`
    computes. The interval is unbounded if the feature has few reports, if the cell could be empty,
    or if no share explains the reports.
    """
    shares = np.column_stack([cells.no, cells.yes])
    table = Ratios.from_shares(shares.ravel(), cells.covariance, len(shares), 2).widened(cells.sample)
    z = z_of(family) if cells.sample.reports >= EXACT_BELOW else math.inf
    limits = [table.limits(cell, YES, z) or EVERYTHING for cell in range(len(shares))]
    possible = [EVERYTHING if high <= 0 or low >= 1 else (low, high) for low, high in limits]
    ends = np.clip(np.array(possible), LEAST_SHARE, 1 - LEAST_SHARE)
    lows, highs = np.log(ends / (1 - ends)).T
    return lows, highs
