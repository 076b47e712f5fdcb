"""What a published tally reveals of one report, where more is trusted than the device alone.

By itself a report is (local epsilon)-private, whoever reads it. If whoever holds the reports publishes nothing but the
tally of a closed window, then it also hides among the others in that tally: the tally is (epsilon, delta)-private with
an epsilon that is far smaller (*central*). All of this is assumed, and none of it can be checked from a tally:

* Collector, store and whoever can read them publish tallies of closed windows only. A tally that is looked at while it
  grows can be subtracted from the next look, and what is left is a few reports.
* The reports that are counted are honest: perturbed by the channel, with coins that nobody else knows. Whoever made
  some up can subtract them; take away as many as there may be.
* Hidden is what one device answers. That it reports, and how many do, is not; a person with several devices loses more.

The figures are of one window. Who reports in several of them loses the sum, as with `composed`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from estimator.privacy.clones import MOST_EPSILON, ROUNDING, TAIL, Clones

STEP = 2.0**-20
"""How much of epsilon the search for it may leave on top."""


def shuffled_epsilon(reports: int, local_epsilon: float, delta: float, *, dishonest: int = 0) -> float:
    """Return the epsilon of the tally of so many reports at a delta, rounded up; never above that of one report.

    Feldman, McMillan & Talwar: see `estimator.privacy.clones`. It holds for every channel whose own delta is 0.

    Args:
        reports: in the tally, at least 1.
        local_epsilon: lambda of one report, above 0.
        delta: from 0 to 1. No amplification can be shown at 2**-100 and below.
        dishonest: how many of the reports may be made up, or known otherwise. The report in question is always honest.

    Raises:
        ValueError: saying which argument is out of its range.

    """
    if not 0 <= delta <= 1:
        raise ValueError(f"delta must be from 0 to 1, not {delta}")
    clones = _clones(reports, local_epsilon, dishonest)
    if clones.delta(0.0) <= delta:
        return 0.0
    low, high = 0.0, local_epsilon
    while high - low > STEP * high:
        middle = (low + high) / 2
        if clones.delta(middle) <= delta:
            high = middle
        else:
            low = middle
    return high


def shuffled_delta(
    reports: int, local_epsilon: float, epsilon: float, *, dishonest: int = 0, tail: float = TAIL
) -> float:
    """Return the delta of the tally of so many reports at an epsilon, rounded up.

    Args:
        reports: as for `shuffled_epsilon`.
        local_epsilon: likewise.
        epsilon: of the tally, from 0 up.
        dishonest: as for `shuffled_epsilon`.
        tail: a probability that may be given up, and is added to delta, on each side of the number of clones.

    Raises:
        ValueError: saying which argument is out of its range.

    """
    if not epsilon >= 0:
        raise ValueError(f"epsilon must be at least 0, not {epsilon}")
    return _clones(reports, local_epsilon, dishonest, tail).delta(epsilon)


def composed(tallies: Sequence[tuple[int, float]], delta: float) -> float:
    """Return the epsilon of several tallies together at a delta, rounded up: those of the metrics of one upload, say.

    Each metric is tallied by itself, which shuffles its reports apart from the others; what a device loses by all of
    them is the sum (Dwork & Roth 2014, theorem 3.16), whichever it answered. Each gets an equal part of delta.

    If whole uploads were published instead, in random order, one message would be all symbols of an upload. Their local
    epsilons would add up *before* the amplification, ``shuffled_epsilon(uploads, sum, delta)``, usually to much more.

    Args:
        tallies: honest reports and local epsilon of each.
        delta: of all of them together.

    """
    parts = [shuffled_epsilon(reports, local, delta / len(tallies) / ROUNDING) for reports, local in tallies]
    return math.fsum(parts) * ROUNDING


def sampled(epsilon: float, delta: float, rate: float) -> tuple[float, float]:
    """Return epsilon and delta where nobody knows which devices took part, rounded up.

    ln(1 + rate (e^epsilon - 1)) and rate * delta: Balle, Barthe & Gaboardi 2018, "Privacy amplification by
    subsampling", theorem 9 (a sample of a fixed size without replacement; one answer changes). It fits devices that
    take part by a secret coin each, of the same bias whatever their answers: given how many did, they are a random
    subset.

    Args:
        epsilon: of the tally of those who took part.
        delta: of it, too.
        rate: those who took part over all who threw the coin, from 0 to 1; the coin's bias is about that.

    Raises:
        ValueError: if it is no such share.

    """
    if not 0 <= rate <= 1:
        raise ValueError(f"rate must be from 0 to 1, not {rate}")
    if epsilon <= MOST_EPSILON:
        epsilon = min(epsilon, math.log1p(rate * math.expm1(epsilon)) * ROUNDING)
    return epsilon, min(delta, rate * delta * ROUNDING)


def _clones(reports: int, local_epsilon: float, dishonest: int, tail: float = TAIL) -> Clones:
    if reports < 1 or dishonest < 0:
        raise ValueError(f"reports must be at least 1, and of them 0 or more dishonest; not {reports} and {dishonest}")
    if not 0 < local_epsilon < math.inf:
        raise ValueError(f"the epsilon of one report must be above 0 and finite, not {local_epsilon}")
    return Clones.of(max(1, reports - dishonest), local_epsilon, tail)
