"""Shares within groups, as ratios of two estimated shares, with intervals and covariances.

Each device is in one *group* and has one *outcome*. For instance, the groups are operating systems,
and the outcomes are "yes" and "no". The share of an outcome within a group is a ratio. The
numerator is the share of people with this group and outcome. The denominator is the share of the
group.

Sources:

* Fieller 1954, "Some problems in interval estimation": the interval of one ratio.
* Waudby-Smith & Ramdas 2024, "Estimating means of bounded random variables by betting": the
  interval of a ratio that depends on few people.
* Zou & Donner 2008, "Construction of confidence limits about effect measures: a general approach",
  section 2.2: the interval of the difference of two ratios.

The p-value of a difference is 1 minus the largest confidence at which the interval excludes 0.
P-value and interval therefore never contradict each other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from estimator.decoders.decoder import Inverse
from estimator.results.estimate import Estimate
from estimator.statistics.arrays import Counts, Floats, nearest_shares
from estimator.statistics.confidence import FEW, Z
from estimator.statistics.intervals import betting_ratios

MOST_VALUES = 256
"""The maximum number of a metric's values for which a covariance matrix is computed."""

MOST_STEPS: Final = 100
"""The maximum number of steps in the search for the z-score of a p-value."""

SETTLED: Final = 1e-9
"""The relative change of the z-score at which the search ends."""

Places = NDArray[np.intp]
"""The indices of groups or outcomes."""

Place = int | Places


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """A tally, with the scores that estimate its shares.

    Attributes:
        scores: for each share, the score of each symbol, shape (k, m). The mean score of the
            reports is the unbiased estimate of the share.
        counts: the count of each symbol, shape (m,).
    """

    scores: Floats
    counts: Counts

    @classmethod
    def from_counts(cls, inverse: Inverse, counts: Counts) -> Sample:
        """Return the sample of a tally, with scores for the shares of the channel's k inputs."""
        inputs = inverse.shares(counts, 1).size
        return cls(np.array([inverse.contrast(unit) for unit in np.eye(inputs)]), counts)

    @property
    def reports(self) -> int:
        """The number of reports."""
        return int(self.counts.sum())

    def covariance(self, inverse: Inverse) -> Floats:
        """Return the covariance of the unbiased estimates of the shares, shape (k, k).

        The people who report are assumed to be a random sample of a population. The population's
        shares are assumed to be the valid shares (at least 0, with sum 1) that are nearest to the
        unbiased estimates.
        """
        law = inverse.symbol_law(nearest_shares(inverse.shares(self.counts, self.reports)))
        means = self.scores @ law
        covariance: Floats = ((self.scores * law) @ self.scores.T - np.outer(means, means)) / self.reports
        return covariance


class Distances(NamedTuple):
    """A difference's standard error, and the distances to the ends of the difference's interval."""

    down: float
    up: float
    error: float


@dataclass(frozen=True, slots=True, eq=False)
class Ratios:
    """The estimated shares of pairs (group and outcome) and of groups, with their covariances.

    Attributes:
        pairs: the share of each pair, shape (groups, outcomes).
        sums: the share of each group, shape (groups,).
        of_pairs: the covariance of the pairs' shares, shape (groups, outcomes, groups, outcomes).
        of_sums: the covariance of the groups' shares, shape (groups, groups).
        of_both: the covariance of each pair's share with each group's share, shape (groups,
            outcomes, groups).
        widening: the factors, at least 1, that lengthen Fieller's interval below and above each
            ratio, shape (2, groups, outcomes).
    """

    pairs: Floats
    sums: Floats
    of_pairs: Floats
    of_sums: Floats
    of_both: Floats
    widening: Floats

    @classmethod
    def from_shares(cls, shares: Floats, covariance: Floats, groups: int, outcomes: int) -> Ratios:
        """Return the ratios for estimated shares of pairs.

        ``shares`` are ordered by group and then by outcome, and ``covariance`` is their covariance
        matrix.
        """
        pairs, blocks = shares.reshape(groups, outcomes), covariance.reshape(groups, outcomes, groups, outcomes)
        of_both = blocks.sum(axis=3)
        widening = np.ones((2, groups, outcomes))
        return cls(pairs, pairs.sum(axis=1), blocks, of_both.sum(axis=1), of_both, widening)

    def widened(self, sample: Sample) -> Ratios:
        """Return the same ratios, with wider intervals for ratios that depend on few people.

        A ratio depends on few people if there is little noise, and if nearly all or nearly none of
        the group have the outcome. A tally may contain none of the few exceptions. The 95% interval
        is therefore widened to include the interval from `betting_ratios`. Intervals with another
        confidence level are widened by the same factors.
        """
        groups, outcomes = self.pairs.shape
        can_be_empty = self.sums <= Z * np.sqrt(np.einsum("gg->g", self.of_sums))
        places = np.indices((groups, outcomes))
        of_sums = self._variance(*places) * sample.reports**2
        group, outcome = few = np.nonzero((of_sums < FEW) & ~can_be_empty[:, np.newaxis])
        if group.size == 0:
            return self
        scores = sample.scores[: groups * outcomes].reshape(groups, outcomes, -1)
        ends = betting_ratios(scores[few], scores.sum(axis=1)[group], sample.counts)
        ratio, (low, high) = self._ratio(group, outcome), self._fieller(group, outcome, Z)
        widening = self.widening.copy()
        widening[0][few] = np.maximum(1, (ratio - ends[0]) / (ratio - low))
        widening[1][few] = np.maximum(1, (ends[1] - ratio) / (high - ratio))
        return replace(self, widening=widening)

    @property
    def is_widened(self) -> bool:
        """Whether `widened` changed some interval."""
        return bool((self.widening > 1).any())

    def limits(self, group: int, outcome: int, z: float) -> tuple[float, float] | None:
        """Return both ends of a ratio's interval, not clipped to 0..1.

        Return None if the group could be empty. ``z`` is the half-width of a normal interval with
        the same confidence, in standard errors.
        """
        if not self.sums[group] > z * math.sqrt(self.of_sums[group, group]):
            return None
        low, high = self._fieller(group, outcome, z)
        return float(low), float(high)

    def estimate(self, group: int, outcome: int, z: float) -> Estimate:
        """Return the share of an outcome within a group, with its interval."""
        limits = self.limits(group, outcome, z)
        if limits is None:
            return Estimate(None, None, 0.0, 1.0, None)
        ratio = float(self.pairs[group, outcome] / self.sums[group])
        low, high = (min(1.0, max(0.0, limit)) for limit in limits)
        return Estimate(ratio, math.sqrt(self._covariance(group, group, outcome)), low, high, None)

    def difference(self, first: int, second: int, outcome: int, z: float) -> Estimate:
        """Return an outcome's share in the first group minus its share in the second group."""
        reach = self.reach(first, second, outcome, z)
        if reach is None:
            return Estimate(None, None, -1.0, 1.0, None)
        ratio, second_ratio = (float(self.pairs[group, outcome] / self.sums[group]) for group in (first, second))
        difference = ratio - second_ratio
        low, high = (min(1.0, max(-1.0, end)) for end in (difference - reach.down, difference + reach.up))
        return Estimate(difference, reach.error, low, high, None)

    def reach(self, first: int, second: int, outcome: int, z: float) -> Distances | None:
        """Return the distances from a difference between two groups to the ends of its interval.

        Return None if one of the groups could be empty.
        """
        limits, second_limits = self.limits(first, outcome, z), self.limits(second, outcome, z)
        if limits is None or second_limits is None:
            return None
        ratio, second_ratio = (float(self.pairs[group, outcome] / self.sums[group]) for group in (first, second))
        variance, second_variance = (float(self._covariance(group, group, outcome)) for group in (first, second))
        between = float(self._covariance(first, second, outcome))
        correlation = between / math.sqrt(variance * second_variance)
        down = _combined(ratio - limits[0], second_limits[1] - second_ratio, correlation)
        up = _combined(limits[1] - ratio, second_ratio - second_limits[0], correlation)
        return Distances(float(down), float(up), math.sqrt(variance + second_variance - 2 * between))

    def p_values(self, first: Places, second: Places, outcome: Places) -> list[float]:
        """Return the p-value of each difference between two groups' shares of an outcome.

        For each of these groups, the 95% interval of the group's share must exclude 0.
        """
        is_more = self._ratio(first, outcome) >= self._ratio(second, outcome)
        more, less = np.where(is_more, first, second), np.where(is_more, second, first)
        share, less_share = self._ratio(more, outcome), self._ratio(less, outcome)
        distance = np.maximum(share - less_share, np.finfo(float).eps)
        variance, less_variance = (self._covariance(group, group, outcome) for group in (more, less))
        correlation = self._covariance(more, less, outcome) / np.sqrt(variance * less_variance)
        emptiest = np.minimum(self._emptiest(more), self._emptiest(less))
        low, high = np.zeros(distance.size), np.maximum(Z, (1 - SETTLED) * emptiest)  # an interval is unbounded at high
        z = np.full(distance.size, Z)  # the p-value is then below 0.05 only if the 95% interval excludes 0
        for _ in range(MOST_STEPS):
            down, up = share - self._fieller(more, outcome, z)[0], self._fieller(less, outcome, z)[1] - less_share
            reach = np.maximum(_combined(down, up, correlation), np.finfo(float).eps)
            low, high = np.where(reach >= distance, low, z), np.where(reach >= distance, z, high)
            guess = z * distance / reach  # the distances are nearly proportional to z
            last, z = z, np.where((low < guess) & (guess < high), guess, (low + high) / 2)
            if np.all(np.abs(z - last) <= SETTLED * z):
                break
        return [math.erfc(score / math.sqrt(2)) for score in z.tolist()]

    def _ratio(self, group: Places, outcome: Places) -> Floats:
        ratio: Floats = self.pairs[group, outcome] / self.sums[group]
        return ratio

    def _emptiest(self, group: Places) -> Floats:
        z: Floats = self.sums[group] / np.sqrt(self.of_sums[group, group])
        return z

    def _variance(self, group: Place, outcome: Place) -> Floats:
        """Return the variance of (pair's share - r * group's share), for the estimated ratio r."""
        ratio = np.clip(self.pairs[group, outcome] / self.sums[group], 0.0, 1.0)
        variance: Floats = (
            self.of_pairs[group, outcome, group, outcome]
            - 2 * ratio * self.of_both[group, outcome, group]
            + ratio**2 * self.of_sums[group, group]
        )
        return variance

    def _fieller(self, group: Place, outcome: Place, z: Floats | float) -> tuple[Floats, Floats]:
        """Return both ends of Fieller's intervals, after widening them.

        With the half-width z, the interval of each group's share must exclude 0.
        """
        share, total = self.pairs[group, outcome], self.sums[group]
        square = total**2 - z**2 * self.of_sums[group, group]
        middle = share * total - z**2 * self.of_both[group, outcome, group]
        rest = share**2 - z**2 * self.of_pairs[group, outcome, group, outcome]
        reach = np.sqrt(np.maximum(0.0, middle**2 - square * rest))
        ratio, (down, up) = share / total, self.widening[:, group, outcome]
        low, high = (middle - reach) / square, (middle + reach) / square
        return ratio - down * (ratio - low), ratio + up * (high - ratio)

    def _covariance(self, first: Place, second: Place, outcome: Place) -> Floats:
        """Return the covariance of an outcome's shares within two groups, to first order."""
        ratio, second_ratio = (self.pairs[group, outcome] / self.sums[group] for group in (first, second))
        numerator = (
            self.of_pairs[first, outcome, second, outcome]
            - ratio * self.of_both[second, outcome, first]
            - second_ratio * self.of_both[first, outcome, second]
            + ratio * second_ratio * self.of_sums[first, second]
        )
        covariance: Floats = numerator / (self.sums[first] * self.sums[second])
        return covariance


def _combined(distance: Floats | float, other_distance: Floats | float, correlation: Floats | float) -> Floats:
    combined: Floats = np.sqrt(
        np.maximum(0.0, distance**2 + other_distance**2 - 2 * correlation * distance * other_distance)
    )
    return combined
