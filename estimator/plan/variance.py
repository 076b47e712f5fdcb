"""How precise an estimate will be: exact variances of the report's own estimates.

What one report adds to the estimate of a share has a mean square that depends on its sender's
answer. The variance in any population follows from these, and so does that in the worst one. All
variances are those of one report; n reports have an n-th of it. A report of a permanent answer goes
through two channels. The estimate of the second channel's shares is mapped to the first one's,
which are their mixture (Arcolezi et al. 2023, section 3).
"""

from __future__ import annotations

import numpy as np

from client_sdk.protocol.channel import Channel
from client_sdk.protocol.kinds.cross import MeanByGroup
from client_sdk.protocol.kinds.grid import Grid
from client_sdk.protocol.kinds.set import Subset
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.models.crosses import Crosses
from client_sdk.protocol.models.model import CrossedModel
from client_sdk.protocol.texts.grouped_geometry import GroupedGeometry
from client_sdk.protocol.texts.groups import CONFIRMING
from client_sdk.protocol.texts.text import Text
from client_sdk.protocol.vectors.vector import Ball
from estimator.decoders.inversions import decoder_of, has_inverse, inverse_of
from estimator.decoders.squares import Squares
from estimator.estimates.mean_scale import positions_of
from estimator.estimates.vectors import noise_of
from estimator.statistics.arrays import Floats
from estimator.statistics.confidence import BISECTIONS


def squares_of(channel: Channel) -> Squares | None:
    """Return the mean squares of shares. None for channels of grids, vectors, texts or features."""
    return inverse_of(channel).squares(channel.inputs) if has_inverse(channel) else None


def mean_variance(metric: Metric) -> float | None:
    """Return the variance of the mean in the worst population, on a range of length 1.

    Of vectors it is that of a coordinate, of crosses that of a cell's share. None without a mean.
    """
    if metric.channel.turns:
        return (noise_of(metric) / mean_range(metric)) ** 2
    if isinstance(metric.channel, Crosses):
        return _worst_cell(metric.channel)
    decoder = decoder_of(metric.channel)
    if decoder is not None:
        return _worst_mean(np.linspace(0.0, 1.0, decoder.squares.size), decoder.squares)
    if isinstance(metric.kind, Grid) and metric.kind.size is None:
        ends = squares_of(metric.channel)
        return None if ends is None else ends.worst
    positions = positions_of(metric)
    if positions is None:
        return None
    places = (positions - positions.min()) / np.ptp(positions)
    inverse = inverse_of(metric.channel)
    return _worst_mean(places, inverse.expectations(inverse.contrast(places) ** 2))


def text_variance(metric: Metric) -> float | None:
    """Return the variance of a named text's share, in the worst population.

    The text has the most letters, and only the confirming groups speak of it. None for other kinds.
    """
    channel, domain = metric.channel, metric.kind
    if not isinstance(channel, GroupedGeometry) or not isinstance(domain, Text):
        return None
    of_cell = inverse_of(channel.geometry).squares(channel.inputs).worst
    return domain.max_items**2 * of_cell * sum(channel.weights) / sum(channel.weights[-CONFIRMING:])


def mean_range(metric: Metric) -> float:
    """Return the length of the range of a mean, or of a coordinate of vectors, in its units."""
    domain = metric.kind
    if isinstance(domain, MeanByGroup):
        domain = domain.second
    if isinstance(domain, Grid):
        return float(domain.high - domain.low)
    if isinstance(domain, Ball):
        return 2 * float(domain.norm)
    if isinstance(domain, CrossedModel):
        return 1.0
    positions = positions_of(metric)
    return 1.0 if positions is None else float(np.ptp(positions))


def _worst_cell(channel: Crosses) -> float:
    """Return the worst variance of the share of a cell with a label.

    One report in ``channel.inputs`` is of its feature.
    """
    of_features = (inverse_of(feature).squares(feature.inputs) for feature in channel.features)
    return channel.inputs * max(squares.worst for squares in of_features)


def share_factor(metric: Metric) -> float:
    """Return the factor from the share of an input to that of a value.

    Of a set, one of several places is drawn.
    """
    return float(metric.kind.max_items) if isinstance(metric.kind, Subset) else 1.0


def _worst_mean(places: Floats, squares: Floats) -> float:
    """Return the largest mean of squares less the square of the mean place, over all populations.

    The square of a mean m is the largest 2 t m - t**2 over t. So the variance is the least value of
    a convex function of t, because the order of the two extremes may be exchanged (von Neumann's
    minimax theorem). Thirds find it.
    """

    def bound(t: float) -> float:
        return float((squares - 2 * t * places).max()) + t * t

    low, high = 0.0, 1.0
    for _ in range(2 * BISECTIONS):
        third = (high - low) / 3
        if bound(low + third) <= bound(high - third):
            high -= third
        else:
            low += third
    return bound((low + high) / 2)
