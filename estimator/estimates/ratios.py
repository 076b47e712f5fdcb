"""Shares of pairs within groups: ratios of estimates, with intervals that know that the denominator is one, too.

Sources: Fieller 1954, "Some problems in interval estimation" (one ratio); Zou & Donner 2008, "Construction of
confidence limits about effect measures: a general approach", section 2.2 (the difference of two).

The p-value of a difference is that of its interval: the least level at which the interval does not hold 0. So the two
never disagree, also where a ratio is skewed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from estimator.results.estimate import Estimate
from estimator.statistics.arrays import Floats
from estimator.statistics.confidence import Z

MOST_STEPS: Final = 100
"""Towards a score; a few are enough, but where a group is hardly told from an empty one."""

SETTLED: Final = 1e-9
"""Part of a score by which a last step may change it: more digits than anybody reads."""

Places = NDArray[np.intp]
"""Positions of groups or outcomes."""

Place = int | Places


@dataclass(frozen=True, slots=True, eq=False)
class Ratios:
    """Shares of pairs and of groups with their covariances.

    Attributes:
        pairs: shape (groups, outcomes).
        sums: of the groups, shape (groups,).
        of_pairs: covariance of the pairs, shape (groups, outcomes, groups, outcomes).
        of_sums: of the groups, shape (groups, groups).
        of_both: of pairs and groups, shape (groups, outcomes, groups).

    """

    pairs: Floats
    sums: Floats
    of_pairs: Floats
    of_sums: Floats
    of_both: Floats

    @classmethod
    def of(cls, shares: Floats, covariance: Floats, groups: int, outcomes: int) -> Ratios:
        """Add up the pairs of each group."""
        pairs, blocks = shares.reshape(groups, outcomes), covariance.reshape(groups, outcomes, groups, outcomes)
        of_both = blocks.sum(axis=3)
        return cls(pairs, pairs.sum(axis=1), blocks, of_both.sum(axis=1), of_both)

    def limits(self, group: int, outcome: int, z: float) -> tuple[float, float] | None:
        """Return the interval of Fieller, not clipped, or none if the group could be empty."""
        if not self.sums[group] > z * math.sqrt(self.of_sums[group, group]):
            return None
        low, high = self._fieller(group, outcome, z)
        return float(low), float(high)

    def estimate(self, group: int, outcome: int, z: float) -> Estimate:
        """Return the share of an outcome within a group."""
        limits = self.limits(group, outcome, z)
        if limits is None:
            return Estimate(None, None, 0.0, 1.0, None)
        ratio = float(self.pairs[group, outcome] / self.sums[group])
        low, high = (min(1.0, max(0.0, limit)) for limit in limits)
        return Estimate(ratio, math.sqrt(self._covariance(group, group, outcome)), low, high, None)

    def difference(self, one: int, other: int, outcome: int, z: float) -> Estimate:
        """Return by how much an outcome is more common in one group than in another."""
        limits, other_limits = self.limits(one, outcome, z), self.limits(other, outcome, z)
        if limits is None or other_limits is None:
            return Estimate(None, None, -1.0, 1.0, None)
        ratio, other_ratio = (float(self.pairs[group, outcome] / self.sums[group]) for group in (one, other))
        variance, other_variance = (float(self._covariance(group, group, outcome)) for group in (one, other))
        between = float(self._covariance(one, other, outcome))
        correlation = between / math.sqrt(variance * other_variance)
        difference = ratio - other_ratio
        down = _combined(ratio - limits[0], other_limits[1] - other_ratio, correlation)
        up = _combined(limits[1] - ratio, other_ratio - other_limits[0], correlation)
        error = math.sqrt(variance + other_variance - 2 * between)
        low, high = (min(1.0, max(-1.0, float(end))) for end in (difference - down, difference + up))
        return Estimate(difference, error, low, high, None)

    def p_values(self, one: Places, other: Places, outcome: Places) -> list[float]:
        """Return for differences the least levels at which their intervals do not hold 0.

        Args:
            one: the first groups, none of which could be empty by the 95 % interval.
            other: the second groups, likewise.
            outcome: the outcomes.

        """
        is_more = self._ratio(one, outcome) >= self._ratio(other, outcome)
        more, less = np.where(is_more, one, other), np.where(is_more, other, one)
        share, less_share = self._ratio(more, outcome), self._ratio(less, outcome)
        distance = np.maximum(share - less_share, np.finfo(float).eps)
        variance, less_variance = (self._covariance(group, group, outcome) for group in (more, less))
        correlation = self._covariance(more, less, outcome) / np.sqrt(variance * less_variance)
        emptiest = np.minimum(self._emptiest(more), self._emptiest(less))
        low, high = np.zeros(distance.size), np.maximum(Z, (1 - SETTLED) * emptiest)  # at it an interval has no ends
        z = np.full(distance.size, Z)  # first, so that p-value and interval lie on the same side of their level
        for _ in range(MOST_STEPS):
            down, up = share - self._fieller(more, outcome, z)[0], self._fieller(less, outcome, z)[1] - less_share
            reach = np.maximum(_combined(down, up, correlation), np.finfo(float).eps)
            low, high = np.where(reach >= distance, low, z), np.where(reach >= distance, z, high)
            guess = z * distance / reach  # which is nearly proportional to z
            last, z = z, np.where((low < guess) & (guess < high), guess, (low + high) / 2)
            if np.all(np.abs(z - last) <= SETTLED * z):
                break
        return [math.erfc(one / math.sqrt(2)) for one in z.tolist()]

    def _ratio(self, group: Places, outcome: Places) -> Floats:
        ratio: Floats = self.pairs[group, outcome] / self.sums[group]
        return ratio

    def _emptiest(self, group: Places) -> Floats:
        """Return from which z on a group could be empty."""
        z: Floats = self.sums[group] / np.sqrt(self.of_sums[group, group])
        return z

    def _fieller(self, group: Place, outcome: Place, z: Floats | float) -> tuple[Floats, Floats]:
        """Return both ends of intervals for groups that could not be empty."""
        share, total = self.pairs[group, outcome], self.sums[group]
        square = total**2 - z**2 * self.of_sums[group, group]
        middle = share * total - z**2 * self.of_both[group, outcome, group]
        rest = share**2 - z**2 * self.of_pairs[group, outcome, group, outcome]
        reach = np.sqrt(np.maximum(0.0, middle**2 - square * rest))
        return (middle - reach) / square, (middle + reach) / square

    def _covariance(self, one: Place, other: Place, outcome: Place) -> Floats:
        """Return the covariance of two groups' shares of an outcome, to the first order."""
        ratio, other_ratio = (self.pairs[group, outcome] / self.sums[group] for group in (one, other))
        numerator = (
            self.of_pairs[one, outcome, other, outcome]
            - ratio * self.of_both[other, outcome, one]
            - other_ratio * self.of_both[one, outcome, other]
            + ratio * other_ratio * self.of_sums[one, other]
        )
        covariance: Floats = numerator / (self.sums[one] * self.sums[other])
        return covariance


def _combined(one: Floats | float, other: Floats | float, correlation: Floats | float) -> Floats:
    distance: Floats = np.sqrt(np.maximum(0.0, one**2 + other**2 - 2 * correlation * one * other))
    return distance
