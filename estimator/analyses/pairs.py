"""Two questions answered together: shares within groups, differences, and independence.

The shares of pairs are estimated like the shares of a category. All figures in this module are
derived from these shares and their covariance.

* A share within a group is a ratio of estimates. Its interval is Fieller's (1954, "Some problems in
  interval estimation"), which is unbounded if the group could be empty. If the share depends on few
  people, the interval is widened to remain valid.
* The interval of a difference combines the intervals of its two terms, by the distances from each
  estimate to the ends of its interval (Zou & Donner 2008, "Construction of confidence limits about
  effect measures: a general approach", section 2.2, with the correlation). The combined interval is
  also valid if the estimates have skewed distributions.
* The p-value of a difference is the smallest level at which the interval excludes 0, so p-value and
  interval never disagree.
* Independence is tested with Wald's statistic of all f_ij - f_i. f_.j, using the covariance of the
  estimates, which includes the noise of the mechanism. (Pearson's test on debiased counts rejects
  far too often.) If a share depends on few people, the statistic is far from normal. The p-value of
  the test is then at least the smallest p-value of any difference, after correction for the number
  of differences.
* The area under the curve (AUC) measures how well a scale ranks yes above no. It is a ratio. The
  numerator is the sum of f(i, yes) f(j, no) over all steps i above j, plus half of the sum over i =
  j. The denominator is f(yes) f(no). Numerator and denominator are quadratic in the estimates. On
  average, each of them exceeds its true value by a covariance, which is subtracted. Like the
  interval of a difference, the AUC's interval combines the intervals of two ratios. One is how
  often people who say yes are at higher steps than people who say no. The other is how often they
  are at lower steps. The interval is 0..1 if either group could be empty. Each point of the curve
  belongs to a step. It consists of two shares of people at or above this step: the share among
  those who say no, and the share among those who say yes.
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
    """Pairs of two answers from one device: shares within groups, differences, independence."""

    @property
    def points(self) -> Floats | None:
        """The coordinates of pairs. Answers without an order are all equally far apart."""
        if self.metric.has_no_answer:
            return None
        first, second = _coordinates(self.kind.first), _coordinates(self.kind.second)
        return np.array([[*x, *y] for x in first for y in second])

    @property
    def more_intervals(self) -> int:
        """The number of intervals of shares within groups, and of differences."""
        return intervals_of(self.kind)

    def is_joint(self, request: Request) -> bool:
        """Return whether figures derived from pairs are requested."""
        return request.joint

    def with_joint(self, estimated: MetricEstimate, covariance: Floats, sample: Sample, family: int) -> MetricEstimate:
        """Return the estimates with shares within groups, differences and the test result."""
        unbiased = estimated.figures("share").unbiased
        joint = joint_of(self.kind, unbiased, covariance, sample, family)
        groups = (*estimated.groups, *joint.groups)
        return replace(estimated, groups=groups, names=self.kind.names, independence=joint.independence)

    def shares_of_groups(self, shares: Floats, reports: int) -> tuple[Floats, Floats]:
        """Return the share of each pair's group and its standard error, each of shape (pairs,)."""
        law = self.inverse.symbol_law(nearest_shares(shares))
        members = np.repeat(np.eye(self.kind.first.size), self.kind.second.size, axis=1)
        scores = np.array([self.inverse.contrast(of_group) for of_group in members])
        errors = np.sqrt((scores**2 @ law - (scores @ law) ** 2) / reports)
        return members.T @ (members @ shares), members.T @ errors


def intervals_of(cross: Cross) -> int:
    """Return the number of intervals of shares within groups, of differences and of the AUC."""
    groups, outcomes = cross.first.size, cross.second.size
    of_ranking = 1 + outcomes * (groups - 1) if _is_ranking(cross) else 0
    return groups * outcomes + math.comb(groups, 2) * outcomes + of_ranking


def _is_ranking(cross: Cross) -> bool:
    """Return whether the pair is a scale and a boolean, so that an AUC is estimated."""
    return isinstance(cross.first, Ordinal) and isinstance(cross.second, Boolean)


@dataclass(frozen=True, slots=True)
class Joint(Figured):
    """Figures derived from pairs of answers, and the result of the test of independence."""

    groups: tuple[FigureGroup, ...]
    independence: Independence | None = None


def joint_of(cross: Cross, shares: Floats, covariance: Floats, sample: Sample, family: int = 1) -> Joint:
    """Return the figures derived from the estimated shares of pairs, and the test.

    With fewer than `EXACT_BELOW` reports, no group has an estimate and there is no test.

    Args:
        cross: the two questions.
        shares: the unbiased shares of the pairs, shape (k,).
        covariance: the covariance of the shares, shape (k, k).
        sample: the tally.
        family: the number of intervals that must be valid simultaneously.

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
    """Yield the difference between every two groups, for each outcome.

    If there are only two outcomes, both outcomes have the p-value of the first outcome.
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
    """Test whether all f_ij - f_i. f_.j are 0, with Wald's statistic.

    The terms of the last group and of the last outcome are left out, because the other terms
    determine them. On average, the product of two estimates exceeds the true product by their
    covariance, which is subtracted.
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
    """Return a more cautious test if a difference depends on few people.

    Its p-value is at least the smallest p-value of any difference, with Bonferroni's correction.
    """
    if not table.is_widened:
        return independence
    p_values = [1.0 if each.p_value is None else each.p_value for each in differences]
    comparisons = len(p_values) // PAIR if table.pairs.shape[1] == PAIR else len(p_values)
    least = min(1.0, comparisons * min(p_values))
    return msgspec.structs.replace(independence, p_value=max(independence.p_value, least))


def roc_of_pairs(cross: Cross, shares: Floats, covariance: Floats, sample: Sample, z: float) -> Iterator[Figure]:
    """Yield, for each step except the first, the shares of people at this step or above.

    There are two shares for each step: one among those who say no, one among those who say yes.
    """
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
    """Return how often a random yes is at a higher step than a random no. Ties count half.

    Args:
        shares: the unbiased shares of the pairs, ordered by step, with "no" before "yes" in each
            step, shape (2 steps,).
        covariance: the covariance of the shares, shape (2 steps, 2 steps).
        sample: the tally.
        z: the half-width of a normal interval, in standard errors; infinite with too few reports.

    """
    no, yes = shares.reshape(-1, PAIR).T
    steps = np.arange(yes.size)
    wins = (1 + np.sign(np.subtract.outer(steps, steps))) / 2  # wins of a yes (row) over a no (column)
    reach = _reach_of_auc(wins, shares, covariance, sample, z)
    if reach is None:
        return Estimate(None, None, 0.0, 1.0)
    couples = np.outer(yes, no) - covariance[1::PAIR, ::PAIR]
    auc = float(np.sum(wins * couples) / np.sum(couples))
    estimate, low, high = (min(max(each, 0.0), 1.0) for each in (auc, auc - reach.down, auc + reach.up))
    return Estimate(estimate, reach.error, low, high)


def _reach_of_auc(wins: Floats, shares: Floats, covariance: Floats, sample: Sample, z: float) -> Distances | None:
    """Return the distances from the AUC to its interval's ends, or None if a group could be empty.

    The two groups are those who say yes and those who say no. Somebody wins against a member of the
    other group by being at a higher step. For each group, the frequency of wins is a ratio within
    this group. The error of the AUC is the error of the difference of the two groups' ratios.
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
    """Return the ratios of two groups with two outcomes each, from weighted sums of shares."""
    table = Ratios.from_shares(added @ shares, added @ covariance @ added.T, PAIR, PAIR)
    if not math.isfinite(z):
        return table
    return table.widened(Sample(added @ sample.scores[: shares.size], sample.counts))


def _coordinates(kind: Boolean | Category) -> Floats:
    """Return the positions of the answers to one of two questions, shape (k, d).

    The distance between two answers is at most 1. Answers on a scale lie on a line. Answers without
    an order are all equally far apart.
    """
    if isinstance(kind, Boolean | Ordinal):
        return np.linspace(0.0, 1.0, kind.size)[:, np.newaxis]
    corners: Floats = np.eye(kind.size) / np.sqrt(2)
    return corners
