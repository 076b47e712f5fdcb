"""Pairs of answers to two metrics: shares within groups, differences, and independence.

Each device reports a pair of answers i and j. The answer i to the first metric defines a *group*,
and the answer j to the second metric is an *outcome*. The share f_ij of each pair is estimated like
the share of a category's value. The other statistics follow from these shares and their covariance:

* Share within a group: the share of the pair divided by the share of the group. Fieller's method
  (1954, "Some problems in interval estimation") gives the interval. The interval is 0..1 if the
  group could be empty, and is widened if the ratio depends on few people.
* Difference between an outcome's shares within two groups: its interval combines the intervals of
  both shares. Source: Zou & Donner 2008, "Construction of confidence limits about effect measures:
  a general approach", section 2.2.
* P-value of a difference: 1 minus the largest confidence at which the interval excludes 0. P-value
  and interval therefore never contradict each other.
* Independence: f_ij = f_i. f_.j, for the share f_i. of group i and the share f_.j of outcome j.
  Wald's statistic tests this equation, and takes the noise of the mechanism into account. Pearson's
  test would ignore this noise and reject far too often.
* Area under the ROC curve (AUC), for a scale and a yes-or-no metric: the probability that a random
  person who says "yes" is at a higher step than a random person who says "no". Two people at the
  same step count half. The AUC is a ratio. The numerator is the sum of f(i, yes) f(j, no) over all
  steps i > j, plus half of the sum over i = j. The denominator is f(yes) f(no). The covariance of
  two estimates biases their product, and is therefore subtracted.
* ROC curve: a point for each step. Its coordinates are two shares of people at or above this step:
  the share among the people who say "no", and the share among the people who say "yes".
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import msgspec
import numpy as np
from msgspec.structs import replace

from client_sdk.protocol.kinds.boolean import Boolean
from client_sdk.protocol.kinds.category import Category
from client_sdk.protocol.kinds.cross import Cross
from client_sdk.protocol.kinds.ordinal import Ordinal
from estimator.analyses.answers import OneOfLabels
from estimator.analyses.ratios import Distances, Ratios, Sample
from estimator.results.estimate import Estimate, Figure, Figures
from estimator.results.group import SHARES, Figured, FigureGroup
from estimator.results.metric import Independence, MetricEstimate
from estimator.results.report import Request
from estimator.statistics.arrays import Floats, nearest_shares
from estimator.statistics.confidence import EXACT_BELOW, PAIR, chi_square_tail, z_of


class PairOfAnswers(OneOfLabels[Cross]):
    """Pairs of answers from one device: shares within groups, differences, and independence."""

    @property
    def points(self) -> Floats | None:
        """The coordinates of the pairs for clustering."""
        if self.metric.has_no_answer:
            return None
        first, second = _coordinates(self.kind.first), _coordinates(self.kind.second)
        return np.array([[*x, *y] for x in first for y in second])

    @property
    def more_intervals(self) -> int:
        """The number of intervals for shares within groups, differences, AUC and ROC curve."""
        return intervals_of(self.kind)

    def is_joint(self, request: Request) -> bool:
        """Return whether shares within groups, and differences between groups, are requested."""
        return request.joint

    def with_joint(self, estimated: MetricEstimate, covariance: Floats, sample: Sample, family: int) -> MetricEstimate:
        """Add shares within groups, differences, and the test of independence."""
        unbiased = estimated.figures("share").unbiased
        joint = joint_of(self.kind, unbiased, covariance, sample, family)
        groups = (*estimated.groups, *joint.groups)
        return replace(estimated, groups=groups, names=self.kind.names, independence=joint.independence)

    def shares_of_groups(self, shares: Floats, reports: int) -> tuple[Floats, Floats]:
        """Return, for each pair, the share of its group and the standard error of this share."""
        law = self.inverse.symbol_law(nearest_shares(shares))
        members = np.repeat(np.eye(self.kind.first.size), self.kind.second.size, axis=1)
        scores = np.array([self.inverse.contrast(of_group) for of_group in members])
        errors = np.sqrt((scores**2 @ law - (scores @ law) ** 2) / reports)
        return members.T @ (members @ shares), members.T @ errors


def intervals_of(cross: Cross) -> int:
    """Return the number of intervals for shares within groups, differences, AUC and ROC curve."""
    groups, outcomes = cross.first.size, cross.second.size
    of_ranking = 1 + outcomes * (groups - 1) if _is_ranking(cross) else 0
    return groups * outcomes + math.comb(groups, 2) * outcomes + of_ranking


def _is_ranking(cross: Cross) -> bool:
    return isinstance(cross.first, Ordinal) and isinstance(cross.second, Boolean)


@dataclass(frozen=True, slots=True)
class Joint(Figured):
    """The statistics derived from the shares of pairs, and the test of independence."""

    groups: tuple[FigureGroup, ...]
    independence: Independence | None = None


def joint_of(cross: Cross, shares: Floats, covariance: Floats, sample: Sample, family: int = 1) -> Joint:
    """Return the statistics derived from the shares of pairs, and the test of independence.

    With fewer than `EXACT_BELOW` reports, there are no estimates and no test.

    Args:
        cross: the two metrics.
        shares: the unbiased estimates of the pairs' shares, shape (k,).
        covariance: the covariance of the shares, shape (k, k).
        sample: the tally, with the scores of its symbols.
        family: the number of simultaneous 95% intervals.
    """
    is_enough = sample.reports >= EXACT_BELOW
    z = z_of(family) if is_enough else math.inf
    table = Ratios.from_shares(shares, covariance, cross.first.size, cross.second.size)
    table = table.widened(sample) if is_enough else table
    within = [
        table.estimate(row, j, z).labeled((group, value))
        for row, group in enumerate(cross.first.labels)
        for j, value in enumerate(cross.second.labels)
    ]
    differences = list(_differences(cross, table, z))
    independence = _cautious(_independence(table), table, differences) if is_enough else None
    groups = [FigureGroup("share_within", Figures.from_rows(within), "", SHARES)]
    if _is_ranking(cross):
        auc, roc = auc_of_pairs(shares, covariance, sample, z), roc_of_pairs(cross, shares, covariance, sample, z)
        groups.append(FigureGroup("auc_of_steps", Figures.from_rows([auc.labeled()]), "", SHARES))
        groups.append(FigureGroup("share_from", Figures.from_rows(roc), "", SHARES))
    groups.append(FigureGroup("difference", Figures.from_rows(differences), "", (-1.0, 1.0)))
    return Joint(tuple(groups), independence)


def _differences(cross: Cross, table: Ratios, z: float) -> Iterator[Figure]:
    """Yield, for every two groups, the difference between the shares of each outcome within them.

    If there are only two outcomes, the differences for both are equal except for the sign, so both
    get the same p-value.
    """
    labels, outcomes = cross.first.labels, cross.second.labels
    places = [(*pair, j) for pair in combinations(range(len(labels)), 2) for j in range(len(outcomes))]
    differences = [table.difference(*place, z) for place in places]
    is_known = np.array([difference.estimate is not None for difference in differences])
    p_values = np.full(len(places), np.nan)
    p_values[is_known] = table.p_values(*np.array(places)[is_known].T)
    if len(outcomes) == PAIR:
        p_values[1::PAIR] = p_values[::PAIR]
    for (first, second, j), each, p_value in zip(places, differences, p_values.tolist(), strict=True):
        yield Figure(
            *(each.estimate, each.standard_error, each.low, each.high),
            value=(outcomes[j], labels[first], labels[second]),
            p_value=None if each.estimate is None else p_value,
        )


def _independence(table: Ratios) -> Independence:
    """Test with Wald's statistic whether group and outcome are independent.

    The statistic leaves out the pairs with the last group or the last outcome, because their
    deviations from independence follow from those of the other pairs. The covariance of two
    estimates biases their product, and is therefore subtracted.
    """
    groups, outcomes = table.pairs.shape
    columns = table.pairs.sum(axis=0)
    of_rows_and_columns = table.of_pairs.sum(axis=(1, 2))
    excess = table.pairs - np.outer(table.sums, columns) + of_rows_and_columns
    identity_rows, identity_columns = np.eye(groups), np.eye(outcomes)
    slopes = (
        np.einsum("ia,jb->ijab", identity_rows, identity_columns)
        - np.einsum("ia,j,b->ijab", identity_rows, columns, np.ones(outcomes))
        - np.einsum("jb,i,a->ijab", identity_columns, table.sums, np.ones(groups))
    )[: groups - 1, : outcomes - 1].reshape(-1, groups * outcomes)
    tested = excess[: groups - 1, : outcomes - 1].ravel()
    spread = slopes @ table.of_pairs.reshape(groups * outcomes, -1) @ slopes.T
    statistic = float(tested @ np.linalg.solve(spread, tested))
    return Independence(statistic, tested.size, float(chi_square_tail(statistic, tested.size)))


def _cautious(independence: Independence, table: Ratios, differences: Sequence[Figure]) -> Independence:
    """Raise the p-value of the test if some share within a group depends on few people.

    The p-value is then at least the smallest corrected p-value of any difference (Bonferroni).
    """
    if not table.is_widened:
        return independence
    p_values = [1.0 if each.p_value is None else each.p_value for each in differences]
    comparisons = len(p_values) // PAIR if table.pairs.shape[1] == PAIR else len(p_values)
    least = min(1.0, comparisons * min(p_values))
    return msgspec.structs.replace(independence, p_value=max(independence.p_value, least))


def roc_of_pairs(cross: Cross, shares: Floats, covariance: Floats, sample: Sample, z: float) -> Iterator[Figure]:
    """Yield the point of the ROC curve for each step except the first."""
    steps = cross.first.size
    for step in range(1, steps):
        is_above = np.repeat(np.arange(steps) >= step, PAIR)
        is_yes = np.tile([False, True], steps)
        quarters = [(is_yes == yes) & (is_above == above) for yes in (False, True) for above in (False, True)]
        added = np.array(quarters, dtype=np.float64)
        table = _added_up(added, shares, covariance, sample, z)
        for row, said in enumerate((False, True)):
            yield table.estimate(row, 1, z).labeled((said, cross.first.labels[step]))


def auc_of_pairs(shares: Floats, covariance: Floats, sample: Sample, z: float) -> Estimate:
    """Return the area under the ROC curve (AUC).

    The AUC is the probability that a random person who says "yes" is at a higher step than a random
    person who says "no". Two people at the same step count half.

    Args:
        shares: the unbiased estimates of the pairs' shares, shape (2 steps,). The order is by step,
            with "no" before "yes" in each step.
        covariance: the covariance of the shares, shape (2 steps, 2 steps).
        sample: the tally, with the scores of its symbols.
        z: the half-width of a normal interval in standard errors, such as 1.96. z is infinite if
            there are too few reports.
    """
    no, yes = shares.reshape(-1, PAIR).T
    steps = np.arange(yes.size)
    wins = (1 + np.sign(np.subtract.outer(steps, steps))) / 2  # whether a "yes" (row) beats a "no" (column)
    reach = _reach_of_auc(wins, shares, covariance, sample, z)
    if reach is None:
        return Estimate(None, None, 0.0, 1.0)
    couples = np.outer(yes, no) - covariance[1::PAIR, ::PAIR]
    auc = float(np.sum(wins * couples) / np.sum(couples))
    estimate, low, high = (min(max(each, 0.0), 1.0) for each in (auc, auc - reach.down, auc + reach.up))
    return Estimate(estimate, reach.error, low, high)


def _reach_of_auc(wins: Floats, shares: Floats, covariance: Floats, sample: Sample, z: float) -> Distances | None:
    """Return the distances from the AUC to the ends of its interval.

    Returns None if the share of "yes" or the share of "no" could be 0.

    The two groups are the people who say "yes" and those who say "no". A person wins against a
    member of the other group by being at a higher step. If the shares of one group are fixed, the
    other group's win rate is a ratio of shares. The error of the AUC is, to first order, the error
    of the difference between the two win rates.

    ``wins`` has one row for each step of a person who says "yes", and one column for each step of a
    person who says "no". An entry is 1 if the row's step is higher, 0.5 if the steps are equal, and
    0 if the row's step is lower. The other arguments are as for `auc_of_pairs`.
    """
    no, yes = shares.reshape(-1, PAIR).T
    if min(no.sum(), yes.sum()) <= 0:
        return None
    yes_wins, no_wins = wins @ nearest_shares(no / no.sum()), 1 - nearest_shares(yes / yes.sum()) @ wins
    added = np.zeros((2 * PAIR, shares.size))
    added[:PAIR, 1::PAIR] = 1 - yes_wins, yes_wins
    added[PAIR:, ::PAIR] = 1 - no_wins, no_wins
    return _added_up(added, shares, covariance, sample, z).reach(0, 1, 1, z)


def _added_up(added: Floats, shares: Floats, covariance: Floats, sample: Sample, z: float) -> Ratios:
    """Return the ratios of two groups with two outcomes each.

    Each row of ``added`` contains a weight for each of the given shares. The weighted sum is the
    share of one pair of group and outcome.
    """
    table = Ratios.from_shares(added @ shares, added @ covariance @ added.T, PAIR, PAIR)
    if not math.isfinite(z):
        return table
    return table.widened(Sample(added @ sample.scores[: shares.size], sample.counts))


def _coordinates(kind: Boolean | Category) -> Floats:
    """Return the coordinates of the answers to one of the two metrics, shape (answers, d).

    Steps of a scale lie on a line from 0 to 1. Answers without order are 1 apart from each other.
    """
    if isinstance(kind, Boolean | Ordinal):
        return np.linspace(0.0, 1.0, kind.size)[:, np.newaxis]
    corners: Floats = np.eye(kind.size) / np.sqrt(2)
    return corners
