"""The privacy loss of one report from a published tally, if not only the device is trusted.

By itself a report is (local epsilon)-private against any reader. If the holder of the reports
publishes only the tally of a closed window, the report also hides among the others in that tally:
the tally is (epsilon, delta)-private with a far smaller epsilon (*central*). This assumes all of
the following, and a tally cannot show whether the assumptions are true:

* The collector, the store, and everybody who can read them publish only tallies of closed windows.
  If a tally is read while it grows, it can be subtracted from the next reading, which leaves only a
  few reports.
* The counted reports are honest: randomized by the channel, with coins that nobody else knows. An
  attacker can subtract fabricated ones, so do not count as many reports as may be fabricated.
* The answers of one device are hidden; the fact that it reports, and the number of its reports, are
  not. A person with several devices loses more.

The figures are for one window. A device that reports in several windows loses the sum, as with
`composed`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from client_sdk.protocol.epsilon import as_float
from client_sdk.protocol.metric import Metric
from estimator.plan.blanket import MOST_EPSILON, ROUNDING, TAIL, UNDERFLOW, Blanket, Shuffled
from estimator.results.metric import Central

STEP = 2.0**-20
"""The relative excess that the search for epsilon may leave."""

MOST_STEPS = 20
"""After this many steps, bisection takes over. From a thousand reports on, eight are usual."""


def shuffled_epsilon(reports: int, blanket: Blanket, delta: float, *, dishonest: int = 0) -> float:
    """Return the epsilon of a tally at a delta, rounded up; never above that of one report.

    See `estimator.plan.blanket`.

    Args:
        reports: the number of reports in the tally, at least 1.
        blanket: the blanket of the channel of every report.
        delta: from 0 to 1. At 2**-100 and below, no amplification can be shown.
        dishonest: the number of reports that may be made up, or otherwise known. The victim's
            report is always honest.

    Raises:
        ValueError: naming the argument that is out of range.

    """
    if not 0 <= delta <= 1:
        raise ValueError(f"delta must be from 0 to 1, not {delta}")
    shuffled = shuffled_law(reports, blanket, dishonest)
    at_zero = shuffled.delta(0.0)
    if at_zero <= delta:
        return 0.0
    short, enough = _enclosed(shuffled, delta, at_zero)
    low, high = 0.0, blanket.local_epsilon
    while high - low > STEP * high:
        middle = (low + high) / 2
        if middle >= enough or (middle > short and shuffled.delta(middle) <= delta):
            high = middle
        else:
            low = middle
    return high


def _enclosed(shuffled: Shuffled, delta: float, at_zero: float) -> tuple[float, float]:
    """Return an epsilon whose delta is too large, and one close to it whose delta is not.

    The logarithm of delta is nearly a straight line against the square of epsilon, so this uses
    false position (Dowell & Jarratt 1971, "A modified regula falsi method", the Illinois method).
    Bisection would need two or three times as many steps.

    Args:
        shuffled: the law.
        delta: from 0 to 1.
        at_zero: the delta of an epsilon of 0, which is too large.

    """
    target = math.log(max(delta, UNDERFLOW))
    short, enough = 0.0, shuffled.blanket.local_epsilon
    excess, lack = math.log(at_zero) - target, math.log(UNDERFLOW) - target - 1
    last = None
    for _ in range(MOST_STEPS):
        epsilon = enough * math.sqrt(((short / enough) ** 2 * lack - excess) / (lack - excess))
        if enough - short <= STEP * enough or not short < epsilon < enough:
            break
        at_epsilon = shuffled.delta(epsilon)
        above = math.log(at_epsilon) - target
        if at_epsilon <= delta:
            enough, lack = epsilon, min(above, -STEP)  # below 0, so that no difference is 0
            excess /= 2 if last == "enough" else 1
            last = "enough"
        else:
            short, excess = epsilon, above
            lack /= 2 if last == "short" else 1
            last = "short"
    return short, enough


def composed(tallies: Sequence[tuple[int, Blanket]], delta: float) -> float:
    """Return the epsilon of several tallies together at a delta, rounded up.

    The tallies may be those of the metrics in one upload. Each metric is tallied separately, and so
    its reports are shuffled separately. A device loses the sum over all tallies (Dwork & Roth 2014,
    theorem 3.16), whichever metrics it answered. Each tally gets an equal part of delta.

    If whole uploads were published in random order instead, one message would consist of all
    symbols of an upload. Their local epsilons would add up *before* the amplification,
    ``shuffled_epsilon(uploads, Blanket.of_epsilon(sum), delta)``, usually to much more.

    Args:
        tallies: the number of honest reports and the blanket of each.
        delta: the delta of all of them together.

    """
    parts = [shuffled_epsilon(reports, blanket, delta / len(tallies) / ROUNDING) for reports, blanket in tallies]
    return math.fsum(parts) * ROUNDING


def sampled(epsilon: float, delta: float, rate: float) -> tuple[float, float]:
    """Return epsilon and delta if nobody knows which devices took part, rounded up.

    They are ln(1 + rate (e^epsilon - 1)) and rate * delta: Balle, Barthe & Gaboardi 2018, "Privacy
    amplification by subsampling", theorem 9 (a sample of fixed size without replacement; one answer
    changes). This applies if a secret coin decides whether a device takes part, with a bias that
    does not depend on its answers: given their number, those who took part are a random subset.

    Args:
        epsilon: the epsilon of the tally of those who took part.
        delta: the delta of that tally.
        rate: the number of those who took part over that of all who tossed the coin, from 0 to 1;
            approximately the coin's bias.

    Raises:
        ValueError: if the rate is not from 0 to 1.

    """
    if not 0 <= rate <= 1:
        raise ValueError(f"rate must be from 0 to 1, not {rate}")
    if epsilon <= MOST_EPSILON:
        epsilon = min(epsilon, math.log1p(rate * math.expm1(epsilon)) * ROUNDING)
    return epsilon, min(delta, rate * delta * ROUNDING)


def shuffled_law(reports: int, blanket: Blanket, dishonest: int = 0, tail: float = TAIL) -> Shuffled:
    """Return the law of a tally, whose delta at an epsilon is rounded up.

    Args:
        reports: as for `shuffled_epsilon`.
        blanket: as for `shuffled_epsilon`.
        dishonest: as for `shuffled_epsilon`.
        tail: a probability cut off on each side of a sum over all reports, and added to delta.

    Raises:
        ValueError: naming the argument that is out of range.

    """
    if reports < 1 or dishonest < 0:
        raise ValueError(f"reports must be at least 1, and of them 0 or more dishonest; not {reports} and {dishonest}")
    if not 0 < blanket.local_epsilon < math.inf:
        raise ValueError(f"the epsilon of one report must be above 0 and finite, not {blanket.local_epsilon}")
    return Shuffled.among(max(1, reports - dishonest), blanket, tail)


def central_of(metric: Metric, reports: int, delta: float, *, closed: bool) -> Central | None:
    """Return the central loss of a tally of the metric at a delta.

    Returns:
        The epsilon, or None if there is none to show: while the window is open, because the tally
        will be read again; if there are no reports; and for a channel with its own delta, for which
        no amplification is shown here. The registry states its promise for each report.

    """
    if not closed or reports == 0 or metric.delta > 0:
        return None
    return Central(delta, _epsilon_of_tally(reports, Blanket.of_channel(metric.channel), delta))


@lru_cache(maxsize=2**12)
def _epsilon_of_tally(reports: int, blanket: Blanket, delta: float) -> float:
    """Return the epsilon of a tally; it is cached for windows that are shown again."""
    return shuffled_epsilon(reports, blanket, delta)


def together(tallies: Sequence[tuple[Metric, int]], delta: float) -> Central | None:
    """Return the total loss of a device that is in all of these closed tallies.

    For a channel with its own delta, its promise for each report is counted.

    Args:
        tallies: the metric and the number of reports of each.
        delta: the delta of all of them together.

    Returns:
        The epsilon, or None if the channels' own deltas use up the given one.

    """
    counted = [(metric, reports) for metric, reports in tallies if reports > 0]
    pure = [(reports, Blanket.of_channel(metric.channel)) for metric, reports in counted if not metric.delta]
    unamplified = [metric for metric, _ in counted if metric.delta]
    left = Fraction(delta) - sum(metric.delta for metric in unamplified)
    if not counted or left <= 0:
        return None
    parts = [composed(pure, float(left)), *(as_float(metric.epsilon_nanos) for metric in unamplified)]
    return Central(delta, math.fsum(parts) * ROUNDING)
