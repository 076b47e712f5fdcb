"""The mean of vectors from a tally, with intervals for coordinates and for weighted sums.

With the mechanism `rotated-axes`, a device rotates its vector by one of B public random rotations.
In D dimensions, there are 2D signed coordinate axes. The device reports one axis. The s axes
nearest to the rotated vector are more likely than the other axes, and are called favored.

Standard errors come from the delete-a-group jackknife, to first order (Wolter 2007, "Introduction
to Variance Estimation", section 4.2). Each block of rotations gives a separate estimate of the
mean. The differences between blocks reflect the choice of people, the noise, and the finite number
of rotations. Standard errors are at least as large as the mechanism's noise in a random direction.

Rehearsals draw the tally of many devices at once. In a rehearsal, each report names either a random
axis or a random favored axis. Rotated vectors are exact, because their coordinates are integers
below 2**53, stored as floats.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar, cast

import numpy as np

from client_sdk.protocol.channel import COIN_SCALE
from client_sdk.protocol.mechanisms.rotated_axes import ROUNDS, RotatedAxes
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.vector import Ball
from client_sdk.protocol.window import Window
from estimator.analyses.analysis import Analysis, Draws, InputLaw
from estimator.decoders.rotated_axes import (
    block_reports,
    block_sums,
    gain_of,
    hadamard,
    largest_sum,
    offsets_of,
    signs_of,
    square_along,
)
from estimator.errors import RequestError
from estimator.results.estimate import Estimate, Figures
from estimator.results.group import FigureGroup
from estimator.results.metric import Fakes, MetricEstimate, Move, RangeTest
from estimator.results.report import Request
from estimator.statistics.arrays import Counts, Floats
from estimator.statistics.confidence import EXACT_BELOW, chi_square_tail, student_of
from estimator.tallies import Tally

AT_ONCE: Final = 2**20
"""The maximum number of coordinates in a batch. The arrays then take a few megabytes."""


def sampled_tally(channel: RotatedAxes, vectors: Floats, counts: Counts, generator: np.random.Generator) -> Counts:
    """Return a random tally, shape (B * 2D,), for B rotations in D dimensions.

    Args:
        channel: the channel, with the rotations of the tally's window.
        vectors: the distinct vectors of the devices, as whole numbers, shape (vectors, D).
        counts: the number of devices with each vector, shape (vectors,).
        generator: the source of random numbers.
    """
    axes, others = 2 * channel.dimension, 2 * channel.dimension - channel.favoured
    of_any = generator.binomial(counts, axes * (1 - channel.keep_numerator / COIN_SCALE) / others)
    tally: Counts = _evenly(np.array([of_any.sum()]), channel.symbols, generator)[0]
    owners, rotations, devices = _pairs(counts - of_any, channel.rotations, generator)
    order = np.argsort(rotations, kind="stable")  # puts the same rotations, which have the same signs, side by side
    at_once = max(1, AT_ONCE // channel.dimension)
    for first in range(0, len(order), at_once):
        part = order[first : first + at_once]
        symbols = 2 * channel.dimension * rotations[part, np.newaxis] + _favoured(
            channel, vectors[owners[part]], rotations[part]
        )
        np.add.at(tally, symbols, _evenly(devices[part], channel.favoured, generator))
    return tally


def _pairs(counts: Counts, rotations: int, generator: np.random.Generator) -> tuple[Counts, Counts, Counts]:
    """Draw a rotation for each device, and count the devices with each pair of vector and rotation.

    Return three arrays of shape (pairs,): the index of the vector, the index of the rotation, and
    the number of devices.
    """
    many = np.flatnonzero(counts >= rotations)
    of_many = generator.multinomial(counts[many], np.full(rotations, 1 / rotations))
    few = np.repeat(np.arange(len(counts)), np.where(counts < rotations, counts, 0))
    owners = np.concatenate([np.repeat(many, rotations), few])
    drawn = np.concatenate([np.tile(np.arange(rotations), len(many)), generator.integers(rotations, size=len(few))])
    devices = np.concatenate([of_many.ravel(), np.ones(len(few), np.int64)])
    return owners, drawn, devices


def _evenly(counts: Counts, places: int, generator: np.random.Generator) -> Counts:
    """Assign each device to a random place, and return the number of devices at each place.

    All places are equally likely. ``counts`` contains the number of devices in each row, shape
    (rows,). The result has shape (rows, places).
    """
    if counts.max(initial=0) > places:
        by_place: Counts = generator.multinomial(counts, np.full(places, 1 / places))
        return by_place
    rows = np.repeat(np.arange(len(counts)), counts)
    cells = rows * places + generator.integers(places, size=len(rows))
    drawn: Counts = np.bincount(cells, minlength=len(counts) * places).reshape(len(counts), places)
    return drawn


def _favoured(channel: RotatedAxes, vectors: Floats, rotations: Counts) -> Counts:
    """Return the indices of the s favored axes of each rotated vector, shape (vectors, s)."""
    distinct, at = np.unique(rotations, return_inverse=True)
    turned = vectors
    for step in range(ROUNDS):
        turned = hadamard(turned * signs_of(channel, distinct, step)[at])
    turned = turned + offsets_of(channel, distinct)[at]
    places = largest(turned, channel.favoured)
    favoured: Counts = 2 * places + (np.take_along_axis(turned, places, axis=1) < 0)
    return favoured


def largest(turned: Floats, number: int) -> Counts:
    """Return the indices of the coordinates with the largest absolute values.

    The result has shape (vectors, number). The largest coordinate comes first. Coordinates of equal
    size are ordered by their index. For speed, only the largest coordinates are sorted, except
    where a tie makes the choice of these coordinates ambiguous.

    >>> largest(np.array([[1.0, -3.0, 0.0, 2.0, 2.0]]), 2).tolist()
    [[1, 3]]
    """
    sizes = -np.abs(turned)
    if number < turned.shape[1]:
        parted = np.argpartition(sizes, number, axis=1)
        places = np.sort(parted[:, :number], axis=1)
        chosen, next_one = (np.take_along_axis(sizes, at, axis=1) for at in (places, parted[:, number : number + 1]))
        if (chosen < next_one).all():
            order = np.argsort(chosen, axis=1, kind="stable")
            return np.take_along_axis(places, order, axis=1)
    return np.argsort(sizes, axis=1, kind="stable")[:, :number]


MADE_UP: Final = 1e-6
"""The p-value of `even_test` below which real devices cannot have produced a tally."""

LEAST_OF_BLOCK: Final = 5
"""The minimum number of expected reports in each part that `even_test` compares.

With fewer reports, the chi-square distribution is inaccurate for p-values as small as `MADE_UP`.
"""

B = TypeVar("B", bound=Ball)


@dataclass(frozen=True, slots=True, eq=False)
class VectorMean:
    """The mean of the vectors of one tally.

    Attributes:
        norm: the maximum length of a device's vector.
        coordinates: the unbiased estimate of each coordinate, shape (d,).
        deviations: the contribution of each block of rotations to the mean, minus the contribution
            expected from the block's number of reports, shape (blocks, d).
        noise: the standard error of the mechanism's noise in a random direction.
        reports: the number of reports in the tally. With fewer than `EXACT_BELOW` reports,
            intervals cover the whole range, because so few reports do not show how much people
            differ.
    """

    norm: float
    coordinates: Floats
    deviations: Floats
    noise: float
    reports: int

    def linear(self, weights: Floats, family: int = 1) -> Estimate:
        """Return the estimated weighted sum of the mean's coordinates, with its interval.

        ``family`` is the number of simultaneous 95% intervals.
        """
        length = float(np.linalg.norm(weights))
        error = self._error(self.deviations @ weights, length * self.noise)
        estimate, reach = float(weights @ self.coordinates), self._errors_within(family) * float(error)
        most = length * self.norm
        return Estimate(estimate, float(error), max(-most, estimate - reach), min(most, estimate + reach))

    def shares(self, family: int = 1) -> Figures:
        """Return the estimate of each coordinate, labeled 0, 1, and so on."""
        errors = self._error(self.deviations, self.noise)
        reaches = self._errors_within(family) * errors
        lows, highs = (np.clip(self.coordinates + side * reaches, -self.norm, self.norm) for side in (-1, 1))
        return Figures(range(len(self.coordinates)), lows, highs, self.coordinates, errors)

    def _errors_within(self, family: int) -> float:
        return student_of(family, len(self.deviations) - 1) if self.reports >= EXACT_BELOW else math.inf

    def _error(self, deviations: Floats, noise: float) -> Floats:
        blocks = len(deviations)
        variance = (deviations**2).sum(axis=0) * blocks / (blocks - 1)
        least: Floats = np.sqrt(np.maximum(variance, noise**2))
        return least


class Vectors(Analysis[B]):
    """Metrics about vectors of limited length, reported with the mechanism `rotated-axes`."""

    mean_name = "coordinate mean"

    @property
    def channel(self) -> RotatedAxes:
        """The metric's channel, without the rotations of a particular window."""
        return cast("RotatedAxes", self.metric.channel)

    def in_window(self, window: str) -> RotatedAxes:
        """Return the channel, with the rotations of the given window."""
        return cast("RotatedAxes", self.metric.channel.in_window(window))

    @property
    def ends(self) -> tuple[float, float]:
        """The smallest and the largest possible coordinate."""
        return -float(self.kind.norm), float(self.kind.norm)

    def mean(self, tally: Tally) -> VectorMean:
        """Return the mean vector of a tally that has at least one report."""
        channel = self.in_window(tally.window.text)
        counts = tally.dense(channel.symbols)
        norm, scale = float(self.kind.norm), float(self.kind.norm) / (gain_of(channel) * tally.reports)
        sums = scale * block_sums(channel, counts)[:, : self.kind.length]
        mean = sums.sum(axis=0)
        shares = block_reports(channel, counts) / tally.reports
        deviations, noise = sums - shares[:, np.newaxis] * mean, self.noise / math.sqrt(tally.reports)
        return VectorMean(norm, mean, deviations, noise, tally.reports)

    def estimates(self, tallies: Sequence[Tally], request: Request) -> Iterator[MetricEstimate]:
        """Yield the estimated coordinates of each tally."""
        for tally in tallies:
            self.check(tally)
            yield self._estimate(tally, request)

    def _estimate(self, tally: Tally, request: Request) -> MetricEstimate:
        mean = self.mean(tally) if tally.reports else None
        if mean is None:
            coordinates = Figures.unknown(range(self.kind.length), *self.ends)
        else:
            coordinates = mean.shares(self.kind.length if request.simultaneous else 1)
        fakes = None
        if mean is not None and request.fakes is not None:
            length, test = self.length_moved(tally, mean, request.fakes)
            fakes = Fakes(fraction=request.fakes, moves=(Move("coordinate", length, length),), test=test)
        return self._estimated(tally, groups=(FigureGroup("coordinate", coordinates, "", self.ends),), fakes=fakes)

    def length_moved(self, tally: Tally, mean: VectorMean, fraction: float) -> tuple[float, RangeTest]:
        """Return how far fabricated reports could have moved the mean, and a test of the tally.

        The test checks whether the reports are spread evenly over the blocks of rotations. The
        bound is as in the module `poisoning`, because a single report estimates a vector with the
        length norm / gain. The tally must have at least one report.
        """
        reach = mean.norm / gain_of(self.channel) + float(np.linalg.norm(mean.coordinates))
        even = even_test(block_reports(self.channel, tally.dense(self.channel.symbols)))
        return fraction / (1 - fraction) * reach, even

    @property
    def noise(self) -> float:
        """The standard error, in a random direction, of a mean estimated from one report.

        A reported axis is a vector of length 1. The estimator divides this vector by the gain (see
        the module `decoders.rotated_axes`) and multiplies the result by the maximum length.
        """
        return float(self.kind.norm) / (gain_of(self.channel) * math.sqrt(self.channel.dimension))

    @property
    def least_noise(self) -> float:
        """The minimum variance that the mechanism adds to a coordinate of one report.

        The minimum is either along the answered vector or perpendicular to this vector.
        """
        gained, along = gain_of(self.channel) ** 2, square_along(self.channel)
        across = (1 - along) / (self.channel.dimension - 1)
        return float(self.kind.norm) ** 2 * min(across / gained, along / gained - 1)

    @property
    def rotation_error(self) -> float | None:
        """The error that remains with any number of reports if all vectors are identical.

        The cause is the finite number of rotations in a window. The unit is the vectors' length.
        """
        along = largest_sum(self.channel.dimension, self.channel.favoured)
        excess = max(0.0, self.channel.favoured / along**2 - 1)
        return math.sqrt(excess / self.channel.rotations * self.kind.length / self.channel.dimension)

    @property
    def mean_variance(self) -> float | None:
        """The variance of a coordinate estimated from one report, divided by its squared range."""
        return (self.noise / self.width) ** 2

    def draws(self, laws: Sequence[InputLaw]) -> Draws:
        """Return a function that draws tallies. Each answer is encoded as exactly one vector."""
        vectors = np.array([law[0][0] for law in laws], dtype=np.float64).reshape(len(laws), self.channel.inputs)

        def drawn(counts: Counts, window: Window, generator: np.random.Generator) -> Counts:
            return sampled_tally(self.in_window(window.text), vectors, counts, generator)

        return drawn


def linear_estimate(metric: Metric, tally: Tally, weights: Sequence[float]) -> Estimate:
    """Return the estimated mean of a weighted sum of a vector's coordinates.

    For instance, the weights (1, -1) give the mean difference of two coordinates.

    Args:
        metric: a metric of kind ``vector``.
        tally: a tally of the metric's edition, with at least one report.
        weights: the weight of each coordinate.

    Raises:
        RequestError: if answers are not vectors with one coordinate for each weight, or if the
            tally has no reports.
        UnfitTallyError: if the tally counts symbols that the channel does not have.
    """
    if not isinstance(metric.kind, Ball) or len(weights) != metric.kind.length:
        raise RequestError(f"{metric.name} is not a vector of {len(weights)} numbers; give one weight per coordinate")
    if not tally.reports:
        raise RequestError(f"nobody has reported {metric.name} in {tally.window.text}; choose another window")
    return Vectors[Ball](metric).mean(tally).linear(np.array(weights, dtype=float))


def even_test(reports: Counts) -> RangeTest:
    """Test whether the numbers of reports in several parts differ only by chance (Pearson 1900).

    A part is a block of rotations, or a feature of a model. Real devices draw all parts with the
    same probability, so a very uneven tally contains fabricated reports.
    """
    expected = float(reports.mean())
    statistic = float(((reports - expected) ** 2).sum() / expected)
    p_value = float(chi_square_tail(statistic, len(reports) - 1)) if expected >= LEAST_OF_BLOCK else 1.0
    return RangeTest(statistic, p_value, 0, impossible=p_value < MADE_UP)
