"""The privacy loss of one report if only the tally is published, and users trust the collector.

The *local* epsilon of a report limits what any reader of this report can learn. If the collector
publishes only the tally of a closed window, the report also hides among the other reports in the
tally; this is called amplification. The tally is then (epsilon, delta)-private with a far smaller
epsilon, called *central*. This is true only under the following assumptions, which the tally cannot
show:

* The collector, the store, and everybody who can read them publish only tallies of closed windows.
  If a growing tally is read twice, the difference between the readings contains only a few reports.
* The counted reports are honest: randomized by the channel, with coins that nobody else knows. An
  attacker can subtract fabricated reports from the tally. Therefore, subtract the number of
  possibly fabricated reports from the count.
* Only the answers of one device are protected. The fact that the device reports, and the number of
  its reports, are not protected. The loss of a person with several devices is larger.

The figures apply to one window. If a device reports in several windows, its losses add up, as in
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
"""The maximum relative excess of `shuffled_epsilon` over the smallest valid epsilon."""

MOST_STEPS = 20
"""The maximum number of steps of false position (see `_enclosed`) before bisection takes over.
Eight are usual for 1,000 or more reports.
"""


def shuffled_epsilon(reports: int, blanket: Blanket, delta: float, *, dishonest: int = 0) -> float:
    """Return the central epsilon of a tally at a delta, rounded up.

    The result is never above the local epsilon. `estimator.plan.blanket` has the proof.

    Args:
        reports: the number of reports in the tally, at least 1.
        blanket: the privacy blanket of the channel of the reports.
        delta: the delta, from 0 to 1. At 2**-100 and below, no amplification can be proved.
        dishonest: the number of reports that may be fabricated or otherwise known to an attacker.
            The victim's own report is assumed to be honest.

    Raises:
        ValueError: if an argument is out of range. The message names the argument.

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
    """Return two close epsilons: one at which delta is too large, and one at which it is not.

    As a function of the square of epsilon, the logarithm of delta is nearly a straight line, so
    this uses false position (Dowell & Jarratt 1971, "A modified regula falsi method", the Illinois
    method). Bisection would need two or three times as many steps.

    Args:
        shuffled: the distribution of the tally, which implies a delta for each epsilon.
        delta: the requested delta, from 0 to 1.
        at_zero: the delta at an epsilon of 0, which is larger than the requested one.

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
            enough, lack = epsilon, min(above, -STEP)  # below 0, so that subtracting it from the excess cannot give 0
            excess /= 2 if last == "enough" else 1
            last = "enough"
        else:
            short, excess = epsilon, above
            lack /= 2 if last == "short" else 1
            last = "short"
    return short, enough


def composed(tallies: Sequence[tuple[int, Blanket]], delta: float) -> float:
    """Return the epsilon of several tallies together at a delta, rounded up.

    The tallies may, for example, belong to the metrics in one upload. Each metric is tallied
    separately, so its reports are also shuffled separately. The losses of a device add up over all
    tallies (Dwork & Roth 2014, theorem 3.16), regardless of which metrics the device answered. Each
    tally gets an equal part of delta.

    Publishing whole uploads in random order would reveal more. The local epsilons in an upload
    would then add up *before* the amplification. The result, ``shuffled_epsilon(uploads,
    Blanket.of_epsilon(sum), delta)``, is usually much larger.

    Args:
        tallies: for each tally, the number of honest reports and the blanket of its channel.
        delta: the delta of all tallies together.

    """
    parts = [shuffled_epsilon(reports, blanket, delta / len(tallies) / ROUNDING) for reports, blanket in tallies]
    return math.fsum(parts) * ROUNDING


def sampled(epsilon: float, delta: float, rate: float) -> tuple[float, float]:
    """Return a tally's epsilon and delta, rounded up, if nobody knows who was selected to report.

    The results are ln(1 + rate (e^epsilon - 1)) and rate * delta: Balle, Barthe & Gaboardi 2018,
    "Privacy amplification by subsampling", theorem 9 (a sample of fixed size without replacement;
    one answer changes). The theorem applies if a secret coin selects each device with a probability
    that does not depend on the device's answers. Every set of devices of the same size is then
    equally likely.

    Args:
        epsilon: the epsilon of the tally of the selected devices.
        delta: the delta of this tally.
        rate: the number of selected devices divided by the number of devices that tossed the coin,
            from 0 to 1. This is approximately the coin's probability of selecting a device.

    Raises:
        ValueError: if the rate is not between 0 and 1.

    """
    if not 0 <= rate <= 1:
        raise ValueError(f"rate must be from 0 to 1, not {rate}")
    if epsilon <= MOST_EPSILON:
        epsilon = min(epsilon, math.log1p(rate * math.expm1(epsilon)) * ROUNDING)
    return epsilon, min(delta, rate * delta * ROUNDING)


def shuffled_law(reports: int, blanket: Blanket, dishonest: int = 0, tail: float = TAIL) -> Shuffled:
    """Return the distribution from which a tally's delta at each epsilon is computed.

    Args:
        reports: as for `shuffled_epsilon`.
        blanket: as for `shuffled_epsilon`.
        dishonest: as for `shuffled_epsilon`.
        tail: the probability of the values that are ignored at each end of a sum over all reports.
            It is added to delta.

    Raises:
        ValueError: if an argument is out of range. The message names the argument.

    """
    if reports < 1 or dishonest < 0:
        raise ValueError(f"reports must be at least 1, and dishonest at least 0; not {reports} and {dishonest}")
    if not 0 < blanket.local_epsilon < math.inf:
        raise ValueError(f"the epsilon of one report must be above 0 and finite, not {blanket.local_epsilon}")
    return Shuffled.among(max(1, reports - dishonest), blanket, tail)


def central_of(metric: Metric, reports: int, delta: float, *, closed: bool) -> Central | None:
    """Return the central privacy loss from a tally of a metric at a delta.

    Returns:
        The central loss. None if there are no reports, or if the window is open, because the tally
        will be read again. Also None for a channel with its own delta, for which no amplification
        is proved.

    """
    if not closed or reports == 0 or metric.delta > 0:
        return None
    return Central(delta, _epsilon_of_tally(reports, Blanket.of_channel(metric.channel), delta))


@lru_cache(maxsize=2**12)
def _epsilon_of_tally(reports: int, blanket: Blanket, delta: float) -> float:
    """Return `shuffled_epsilon`. Results are cached, because windows are often shown again."""
    return shuffled_epsilon(reports, blanket, delta)


def together(tallies: Sequence[tuple[Metric, int]], delta: float) -> Central | None:
    """Return the total privacy loss of a device that is in all of these closed tallies.

    A channel with its own delta contributes the epsilon and delta of one report, without
    amplification.

    Args:
        tallies: the metric and the number of reports of each tally.
        delta: the delta of all tallies together.

    Returns:
        The total loss. None if the channels' own deltas add up to the given delta or more.

    """
    counted = [(metric, reports) for metric, reports in tallies if reports > 0]
    pure = [(reports, Blanket.of_channel(metric.channel)) for metric, reports in counted if not metric.delta]
    unamplified = [metric for metric, _ in counted if metric.delta]
    left = Fraction(delta) - sum(metric.delta for metric in unamplified)
    if not counted or left <= 0:
        return None
    parts = [composed(pure, float(left)), *(as_float(metric.epsilon_nanos) for metric in unamplified)]
    return Central(delta, math.fsum(parts) * ROUNDING)
