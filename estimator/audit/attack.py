"""An attack tells two answers apart and so proves how large epsilon must be at least.

The first half of the observations chooses an event: one quarter teaches scores, the other decides
which score and which threshold would prove most. The second half bounds the event's two
probabilities. The choice has not seen the second half, so the bounds hold however the event was
chosen. Bonferroni's inequality lets all bounds of an audit hold together. The result is a lower
bound of the true epsilon, whatever the loss comes from. A correct device is accused with a
probability of at most `FALSE_ACCUSATION`.

Sources: Ding, Wang, Wang, Zhang & Kifer 2018, "Detecting violations of differential privacy",
section 4; Jagielski, Ullman & Oprea 2020, "Auditing differentially private machine learning",
section 3; Arcolezi & Gambs 2023, "Revealing the true cost of locally differentially private
protocols: an auditing perspective", section 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from estimator.audit.bounds import detectable, provable
from estimator.audit.distinguishers import Score, scores
from estimator.audit.features import ObservationTable
from estimator.statistics.arrays import Floats

FALSE_ACCUSATION = 1e-6
"""The largest probability with which all bounds of an audit together accuse a correct device."""

BOUNDS = 4
"""How many bounds an attack makes: two probabilities in each of two directions."""

LEAST_OBSERVATIONS = 4
"""One observation to learn from, one to choose by, and two for the proof."""


@dataclass(frozen=True, slots=True)
class PrivacyClaim:
    """The claim on two answers: p is at most e**epsilon p' + delta for every event.

    Attributes:
        epsilon: rounded up.
        delta: rounded up; 0 for most mechanisms.

    """

    epsilon: float
    delta: float = 0.0


@dataclass(frozen=True, slots=True)
class LowerBound:
    """What an attack proved.

    Attributes:
        claim: the claim it attacked.
        epsilon: a lower bound of the true epsilon.
        detectable: the least excess over the claim that would be proved about every other time.
            None if there is none.
        observations: n, the number of observations of each answer.
        at_best: the bound that n observations prove of a device that always gives the answer away.
            No device can be proved to reveal more.

    """

    claim: PrivacyClaim
    epsilon: float
    detectable: float | None
    observations: int
    at_best: float

    @property
    def excess(self) -> float:
        """By how much the bound exceeds the claim; 0 if it does not."""
        return max(0.0, self.epsilon - self.claim.epsilon)


def level_of(attacks: int) -> float:
    """Return the probability with which each bound of several attacks may fail (Bonferroni)."""
    return FALSE_ACCUSATION / (BOUNDS * attacks)


def attack(table: ObservationTable, claim: PrivacyClaim, level: float) -> LowerBound:
    """Attack a claim in both directions.

    Args:
        table: at least `LEAST_OBSERVATIONS` of each answer, independent and in an uninformative
            order.
        claim: what the device promises.
        level: the probability with which each bound may fail.

    """
    n = len(table.first)
    sides = (_one_sided(table, claim, level), _one_sided(table.swapped(), claim, level))
    excesses = [side.detectable for side in sides if side.detectable is not None]
    return LowerBound(claim, max(side.epsilon for side in sides), min(excesses, default=None), n, sides[0].at_best)


def _one_sided(table: ObservationTable, claim: PrivacyClaim, level: float) -> LowerBound:
    n = len(table.first)
    learning, choosing, proving = table.part(0, n // 4), table.part(n // 4, n // 2), table.part(n // 2, n)
    m = len(proving.first)
    score, threshold = _choose(learning, choosing, m, claim, level)
    hits, others = (int((score.of(rows) >= threshold).sum()) for rows in (proving.first, proving.second))
    excess = detectable(hits, m, level, claim.epsilon, claim.delta)
    at_best = provable(m, 0, m, level, claim.delta)
    return LowerBound(claim, provable(hits, others, m, level, claim.delta), excess, n, at_best)


def _choose(
    learning: ObservationTable, choosing: ObservationTable, m: int, claim: PrivacyClaim, level: float
) -> tuple[Score, float]:
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
    """Return a quick approximation of the lower bound (Wilson 1927). It is only for choosing."""
    centre = frequencies + z * z / (2 * n)
    half_width = z * np.sqrt(frequencies * (1 - frequencies) / n + (z / (2 * n)) ** 2)
    lower: Floats = (centre - half_width) / (1 + z * z / n)
    return lower
