"""An attack: tell two answers apart by what a device sent, and prove by it how large epsilon must at least be.

On the first half of the observations an event is chosen: a quarter teaches scores, another decides which score and
which threshold would prove most. On the second half the event's two probabilities are bounded. The choice has not seen
the second half, so that the bounds hold however the choice was made; Bonferroni lets all bounds of an audit hold
together. Whatever a privacy loss is made of, the lower bound is one of the true epsilon: a right device is accused with
a chance of at most `FALSE_ACCUSATION`.

Sources: Ding, Wang, Wang, Zhang & Kifer 2018, "Detecting violations of differential privacy", section 4; Jagielski,
Ullman & Oprea 2020, "Auditing differentially private machine learning", section 3; Arcolezi & Gambs 2023, "Revealing
the true cost of locally differentially private protocols: an auditing perspective", section 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from estimator.audit.bounds import detectable, provable
from estimator.audit.distinguishers import Score, scores
from estimator.audit.features import Table
from estimator.statistics.arrays import Floats

FALSE_ACCUSATION = 1e-6
"""How often a right device may be accused at most, by all bounds of an audit together."""

BOUNDS = 4
"""Of an attack: two directions, and two probabilities each."""

LEAST_OBSERVATIONS = 4
"""One to learn, one to choose, two to prove."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What is claimed of two answers: no event is likelier than e**epsilon times as likely, plus delta.

    Attributes:
        epsilon: rounded up.
        delta: rounded up; 0 for most.

    """

    epsilon: float
    delta: float = 0.0


@dataclass(frozen=True, slots=True)
class Proof:
    """What an attack proved.

    Attributes:
        claim: of the device.
        epsilon: the true one is at least that.
        detectable: the least excess over the claim that would have been proved about every other time, or none.
        observations: n, of each answer.

    """

    claim: Claim
    epsilon: float
    detectable: float | None
    observations: int

    @property
    def excess(self) -> float:
        """By how much the claim is refuted; 0 if it is not."""
        return max(0.0, self.epsilon - self.claim.epsilon)


def level_of(attacks: int) -> float:
    """Return the chance that one bound of so many attacks may fail (Bonferroni)."""
    return FALSE_ACCUSATION / (BOUNDS * attacks)


def attack(table: Table, claim: Claim, level: float) -> Proof:
    """Attack a claim in both directions.

    Args:
        table: observations of both answers, independent, in an order that tells nothing; at least
            `LEAST_OBSERVATIONS` of each.
        claim: what the device promises of them.
        level: the chance that one bound may fail.

    """
    n = len(table.first)
    sides = (_one_sided(table, claim, level), _one_sided(table.swapped(), claim, level))
    excesses = [side.detectable for side in sides if side.detectable is not None]
    return Proof(claim, max(side.epsilon for side in sides), min(excesses, default=None), n)


def _one_sided(table: Table, claim: Claim, level: float) -> Proof:
    n = len(table.first)
    learning, choosing, proving = table.part(0, n // 4), table.part(n // 4, n // 2), table.part(n // 2, n)
    m = len(proving.first)
    score, threshold = _choose(learning, choosing, m, claim, level)
    hits, others = (int((score.of(rows) >= threshold).sum()) for rows in (proving.first, proving.second))
    excess = detectable(hits, m, level, claim.epsilon, claim.delta)
    return Proof(claim, provable(hits, others, m, level, claim.delta), excess, n)


def _choose(learning: Table, choosing: Table, m: int, claim: Claim, level: float) -> tuple[Score, float]:
    """Return the score and the threshold that would prove most with ``m`` observations."""
    z = NormalDist().inv_cdf(1 - level)
    best: tuple[float, Score, float] | None = None
    for score in scores(learning):
        first, second = np.sort(score.of(choosing.first)), np.sort(score.of(choosing.second))
        thresholds = np.unique(first)
        hits, others = (1 - np.searchsorted(side, thresholds) / side.size for side in (first, second))
        certain = np.maximum(_lower(hits, m, z) - claim.delta, np.finfo(np.float64).tiny)
        promised = np.log(certain / (1 - _lower(1 - others, m, z)))
        at = int(np.argmax(promised))
        if best is None or promised[at] > best[0]:
            best = float(promised[at]), score, float(thresholds[at])
    assert best is not None  # noqa: S101 every table has a feature
    return best[1], best[2]


def _lower(frequencies: Floats, n: int, z: float) -> Floats:
    """Return about what will be the lower bound (Wilson 1927): quick, and only to choose by."""
    centre = frequencies + z * z / (2 * n)
    half_width = z * np.sqrt(frequencies * (1 - frequencies) / n + (z / (2 * n)) ** 2)
    lower: Floats = (centre - half_width) / (1 + z * z / n)
    return lower
