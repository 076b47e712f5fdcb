"""What two questions asked together tell: shares within groups, differences between groups, and whether they depend.

The pairs' shares are estimated as those of a category. Everything here follows from them and their covariance.

* A share within a group is a ratio of estimates; its interval is that of Fieller 1954, "Some problems in interval
  estimation", which is everything where the group could be empty.
* The interval of a difference is made of the distances of two intervals to their estimates (Zou & Donner 2008,
  "Construction of confidence limits about effect measures: a general approach", section 2.2, with the correlation), so
  that it is right where ratios are skewed.
* The p-value of a difference is the least level at which its interval does not hold 0, so that they never disagree.
* Independence is tested by Wald's statistic of all f_ij - f_i. f_.j with the covariance of the estimates, noise of the
  mechanism included. (A test of Pearson on counts that were debiased rejects far too often.)
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations

import numpy as np

from client_sdk.protocol import Cross
from estimator.estimates.ratios import Ratios
from estimator.results.joint import Difference, Group, Independence, Joint
from estimator.statistics.arrays import Floats
from estimator.statistics.chi_square import survival
from estimator.statistics.confidence import EXACT_BELOW, z_of
from estimator.statistics.holm import PAIR


def intervals_of(cross: Cross) -> int:
    """Return how many intervals a joint question has beside those of its pairs."""
    groups, outcomes = cross.first.size, cross.second.size
    return groups * outcomes + math.comb(groups, 2) * outcomes


def joint_of(cross: Cross, shares: Floats, covariance: Floats, reports: int, family: int = 1) -> Joint:
    """Return what the estimated shares of pairs tell.

    Args:
        cross: the two questions.
        shares: of the pairs, unbiased, shape (k,).
        covariance: of these, shape (k, k).
        reports: n.
        family: how many intervals shall hold together.

    """
    z = z_of(family) if reports >= EXACT_BELOW else math.inf
    outcomes = cross.second.size
    table = Ratios.of(shares, covariance, cross.first.size, outcomes)
    groups = tuple(
        Group(label, tuple((value, table.estimate(row, j, z)) for j, value in enumerate(cross.second.labels)))
        for row, label in enumerate(cross.first.labels)
    )
    independence = _independence(table) if reports >= EXACT_BELOW else None
    return Joint(groups, tuple(_differences(cross, table, z)), independence)


def _differences(cross: Cross, table: Ratios, z: float) -> Iterator[Difference]:
    """Yield every two groups compared; of two outcomes both have the p-value of the first."""
    labels, outcomes = cross.first.labels, cross.second.labels
    places = [(*pair, j) for pair in combinations(range(len(labels)), 2) for j in range(len(outcomes))]
    found = [table.difference(*place, z) for place in places]
    known = np.array([one.unbiased is not None for one in found])
    p_values = np.full(len(places), np.nan)
    p_values[known] = table.p_values(*np.array(places)[known].T)
    if len(outcomes) == PAIR:
        p_values[1::PAIR] = p_values[::PAIR]
    for (one, other, j), estimate, p_value in zip(places, found, p_values.tolist(), strict=True):
        told = None if estimate.unbiased is None else p_value
        yield Difference((labels[one], labels[other]), outcomes[j], estimate, told)


def _independence(table: Ratios) -> Independence:
    """Test all f_ij - f_i. f_.j but those of the last group and outcome, which follow from the others.

    The product of two estimates is too large by their covariance, on average, which is taken away.
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
    return Independence(statistic, tested.size, survival(statistic, tested.size))
