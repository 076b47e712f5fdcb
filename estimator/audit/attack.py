"""An attack that tells two answers apart, and thereby proves a lower bound on epsilon.

An *observation* consists of the bytes that a simulated device sends, in one window or in several.
Both answers have the same number of observations. A *score* is a function that maps an observation
to a number. The larger the number, the stronger the evidence for the first answer. An *event* is a
statement such as "the score is at least 1.5". If an event is far more likely for the first answer
than for the second, epsilon must be large (see `provable`).

Each answer's observations are divided into three parts:

* The first quarter is for learning scores.
* The second quarter is for choosing the event with the largest provable epsilon.
* The last half is for bounds on the event's probability for each answer. The bounds are valid
  because this half did not influence the choice of the event.

The result is a lower bound on the true epsilon, whatever causes the privacy loss. The probability
that at least one bound of an audit is wrong is at most `FALSE_ACCUSATION` (Bonferroni's
inequality). The probability that an audit refutes a true claim is therefore at most
`FALSE_ACCUSATION`.

Each bound on a probability is the end of a one-sided interval (Clopper & Pearson 1934). The *level*
of a bound is the maximum probability that the bound is wrong.

Sources: Ding, Wang, Wang, Zhang & Kifer 2018, "Detecting violations of differential privacy",
section 4; Jagielski, Ullman & Oprea 2020, "Auditing differentially private machine learning",
section 3; Arcolezi & Gambs 2023, "Revealing the true cost of locally differentially private
protocols: an auditing perspective", section 3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from estimator.audit.distinguishers import ObservationTable, Score, scores
from estimator.statistics.arrays import Floats
from estimator.statistics.confidence import binomial_chance

GIVEN_AWAY = 0.02
"""The fraction by which each level is reduced before a bound is computed. The reduction compensates
for rounding errors, which are far smaller.
"""

MEDIAN_AHEAD = 2 / 3
"""The amount added to k in this theorem: a Poisson count with an expectation of at most k + 2/3 has
a median of at most k.

Source: Choi 1994, theorem 2.
"""


@lru_cache(maxsize=2**12)
def lower_bound(successes: int, n: int, level: float) -> float:
    """Return a lower bound on the probability of an event with ``successes`` in n observations.

    The bound is wrong with a probability of at most ``level``.
    """
    return float(binomial_chance(np.array([successes]), n, level * (1 - GIVEN_AWAY))[0])


def upper_bound(successes: int, n: int, level: float) -> float:
    """Return an upper bound on the probability of an event with ``successes`` in n observations.

    The bound is wrong with a probability of at most ``level``.
    """
    return 1 - lower_bound(n - successes, n, level)


def provable(successes: int, others: int, n: int, level: float, delta: float = 0.0) -> float:
    """Return the lower bound on epsilon that an event proves. The result is never negative.

    Let p and p' be the probabilities of the event for the first and the second answer. With
    (epsilon, delta)-differential privacy, p is at most e**epsilon p' + delta (Dwork & Roth 2014,
    definition 2.4). Epsilon is therefore at least ln((p - delta) / p'). The proof replaces p by its
    lower bound, and p' by its upper bound (Jagielski, Ullman & Oprea 2020, section 3).

    Args:
        successes: the number of observations of the first answer in which the event occurred.
        others: the number of observations of the second answer in which the event occurred.
        n: the number of observations of each answer.
        level: the maximum probability that each bound is wrong.
        delta: the delta of the claim.
    """
    certain = lower_bound(successes, n, level) - delta
    return max(0.0, math.log(certain / upper_bound(others, n, level))) if certain > 0 else 0.0


def detectable(successes: int, n: int, level: float, epsilon: float, delta: float) -> float | None:
    """Return the excess over a claimed epsilon at which about half of all audits refute the claim.

    The event's probability for the first answer is assumed to be its observed frequency. If epsilon
    exceeds the claim by the excess, the event's probability for the second answer is e**excess
    times smaller than the minimum that the claim allows.

    Returns:
        The excess of the true epsilon over the claim. None if n observations cannot prove any
        excess.
    """
    few, many = -1, n
    while many - few > 1:
        middle = (few + many) // 2
        if provable(successes, middle, n, level, delta) > epsilon:
            few = middle
        else:
            many = middle
    if few < 0:
        return None
    return max(0.0, math.log((successes - n * delta) / (few + MEDIAN_AHEAD)) - epsilon)


FALSE_ACCUSATION = 1e-6
"""The maximum probability that an audit refutes a claim of a correct SDK."""

BOUNDS = 4
"""The number of bounds in an attack: one per answer, for each of two events."""

LEAST_OBSERVATIONS = 4
"""The minimum number of observations of each answer.

The attack needs one observation to learn scores, one to choose an event, and two for the proof.
"""


@dataclass(frozen=True, slots=True)
class PrivacyClaim:
    """The claim that no event distinguishes two answers by more than epsilon and delta.

    For any event, let p and p' be its probabilities for the two answers. The claim is that p is at
    most e**epsilon p' + delta.

    Attributes:
        epsilon: the claimed epsilon, rounded up.
        delta: the claimed delta, rounded up; 0 for most mechanisms.
    """

    epsilon: float
    delta: float = 0.0


@dataclass(frozen=True, slots=True)
class LowerBound:
    """The result of an attack that tries to tell two answers apart.

    Attributes:
        claim: the attacked claim.
        epsilon: a lower bound on the true epsilon.
        detectable: the excess over the claimed epsilon at which about half of all audits refute the
            claim. None if no excess is provable.
        observations: n, the number of observations of each answer.
        at_best: the largest lower bound that n observations of each answer can prove.
    """

    claim: PrivacyClaim
    epsilon: float
    detectable: float | None
    observations: int
    at_best: float

    @property
    def excess(self) -> float:
        """The lower bound ``epsilon`` minus the claimed epsilon, or 0 if the claim is larger."""
        return max(0.0, self.epsilon - self.claim.epsilon)


def level_of(attacks: int) -> float:
    """Return the level of each bound in an audit of several attacks.

    With this level, the probability that at least one bound of the audit is wrong is at most
    `FALSE_ACCUSATION`.
    """
    return FALSE_ACCUSATION / (BOUNDS * attacks)


def attack(table: ObservationTable, claim: PrivacyClaim, level: float) -> LowerBound:
    """Look for an event that is more likely for one of two answers than a claim allows.

    Args:
        table: at least `LEAST_OBSERVATIONS` independent observations of each answer. The order of
            the observations must not depend on their content.
        claim: the claim about the two answers.
        level: the maximum probability that each bound is wrong, from `level_of`.
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
    hits, others = (int((score.evaluate(rows) >= threshold).sum()) for rows in (proving.first, proving.second))
    excess = detectable(hits, m, level, claim.epsilon, claim.delta)
    at_best = provable(m, 0, m, level, claim.delta)
    return LowerBound(claim, provable(hits, others, m, level, claim.delta), excess, n, at_best)


def _choose(
    learning: ObservationTable, choosing: ObservationTable, m: int, claim: PrivacyClaim, level: float
) -> tuple[Score, float]:
    """Return the score and the threshold that promise the largest bound on epsilon.

    ``m`` is the number of new observations for the proof.

    The event is that the score of an observation is at least the threshold.
    """
    z = NormalDist().inv_cdf(1 - level)
    best: tuple[float, Score, float] | None = None
    for score in scores(learning):
        first, second = np.sort(score.evaluate(choosing.first)), np.sort(score.evaluate(choosing.second))
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
    """Return an approximation of `lower_bound` that is quick to compute (Wilson 1927)."""
    center = frequencies + z * z / (2 * n)
    half_width = z * np.sqrt(frequencies * (1 - frequencies) / n + (z / (2 * n)) ** 2)
    lower: Floats = (center - half_width) / (1 + z * z / n)
    return lower
