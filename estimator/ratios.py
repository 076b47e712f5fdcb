"""Shares of pairs within groups: ratios of estimates, with intervals that know that the denominator is one, too.

Sources: Fieller 1954, "Some problems in interval estimation" (one ratio); Zou & Donner 2008, "Construction of
confidence limits about effect measures: a general approach", section 2.2 (the difference of two).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from estimator.figure import Estimate
from estimator.intervals import Floats


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
        share, total = self.pairs[group, outcome], self.sums[group]
        if not total > z * math.sqrt(self.of_sums[group, group]):
            return None
        square = total**2 - z**2 * self.of_sums[group, group]
        middle = share * total - z**2 * self.of_both[group, outcome, group]
        rest = share**2 - z**2 * self.of_pairs[group, outcome, group, outcome]
        reach = math.sqrt(max(0.0, middle**2 - square * rest))
        return (middle - reach) / square, (middle + reach) / square

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
        variance, other_variance = (self._covariance(group, group, outcome) for group in (one, other))
        between = self._covariance(one, other, outcome)
        correlation = between / math.sqrt(variance * other_variance)
        difference = ratio - other_ratio
        down = _combined(ratio - limits[0], other_limits[1] - other_ratio, correlation)
        up = _combined(limits[1] - ratio, other_ratio - other_limits[0], correlation)
        error = math.sqrt(variance + other_variance - 2 * between)
        low, high = (min(1.0, max(-1.0, end)) for end in (difference - down, difference + up))
        return Estimate(difference, error, low, high, None)

    def _covariance(self, one: int, other: int, outcome: int) -> float:
        """Return the covariance of two groups' shares of an outcome, to the first order."""
        ratio, other_ratio = (self.pairs[group, outcome] / self.sums[group] for group in (one, other))
        numerator = (
            self.of_pairs[one, outcome, other, outcome]
            - ratio * self.of_both[other, outcome, one]
            - other_ratio * self.of_both[one, outcome, other]
            + ratio * other_ratio * self.of_sums[one, other]
        )
        return float(numerator / (self.sums[one] * self.sums[other]))


def _combined(one: float, other: float, correlation: float) -> float:
    return math.sqrt(max(0.0, one**2 + other**2 - 2 * correlation * one * other))
