"""The privacy loss of a report for users who trust the collector to publish only tallies.

The *local* epsilon of a report limits what a reader of this report can learn. If the collector
publishes only the tally of a closed window, the other reports in the tally help to hide this
report. This effect is called amplification. The published tally then satisfies (epsilon,
delta)-differential privacy with an epsilon far below the local epsilon. This epsilon is called
*central*. The central epsilon is valid only under the following assumptions, which cannot be
checked from the tally:

* The collector, and everyone who can read its store, publish only tallies of closed windows. Two
  versions of an open window's tally would differ by only a few reports, which would hardly hide
  each other.
* The reports in the tally are honest: the channel randomized each report with coins that only the
  device knows. An attacker can subtract fabricated reports from the tally, so the argument
  ``dishonest`` must count all fabricated reports.
* Only the answers of one device are protected. The tally may reveal whether the device reports, and
  how often. A person with several devices has a larger loss than one device.

All results are for one window. The losses of a device in several windows add up, as in `composed`.
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
"""The maximum number of steps in `_enclosed`. If these steps are not enough, bisection takes over.
With 1,000 or more reports, eight steps are usual.
"""


def shuffled_epsilon(reports: int, blanket: Blanket, delta: float, *, dishonest: int = 0) -> float:
    """Return the central epsilon, rounded up, of a tally for a given delta.

    The result never exceeds the local epsilon. The proof is in `estimator.plan.blanket`.

    Args:
        reports: the number of reports in the tally, at least 1.
        blanket: the privacy blanket of the channel that randomized the reports.
        delta: the delta, from 0 to 1. If delta is 2**-100 or less, no amplification can be proved.
        dishonest: the number of reports that may be fabricated or known to an attacker. The report
            of the protected device is assumed to be honest.

    Raises:
        ValueError: if an argument is out of range.

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
    """Return an epsilon that is too small for the delta, and a slightly larger, valid epsilon.

    ``at_zero``, the delta at epsilon 0, must exceed ``delta``. The logarithm of delta is nearly
    linear in the square of epsilon. The search therefore uses false position (the Illinois method,
    Dowell & Jarratt 1971, "A modified regula falsi method"). Bisection needs two to three times as
    many steps.
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
    """Return the total epsilon, rounded up, of several tallies for a given total delta.

    ``tallies`` contains each tally's number of honest reports and channel blanket. Each metric has
    a separate tally, so the reports on different metrics are shuffled separately. The losses of a
    device add up over all tallies (Dwork & Roth 2014, theorem 3.16). The result is valid no matter
    which of the metrics the device answered. Each tally gets an equal part of delta.

    If whole uploads were shuffled instead, the epsilons in an upload would add up *before* the
    amplification. The total would be ``shuffled_epsilon(uploads, Blanket.of_epsilon(sum), delta)``.
    This total is usually much larger than the result of `composed`.
    """
    parts = [shuffled_epsilon(reports, blanket, delta / len(tallies) / ROUNDING) for reports, blanket in tallies]
    return math.fsum(parts) * ROUNDING


def sampled(epsilon: float, delta: float, rate: float) -> tuple[float, float]:
    """Return a tally's epsilon and delta, rounded up, for a secret random sample of devices.

    ``epsilon`` and ``delta`` are the values for an attacker who knows the selected devices.
    ``rate`` is the fraction of selected devices. Raise `ValueError` if the rate is not between 0
    and 1.

    The epsilon is ln(1 + rate (e^epsilon - 1)), and the delta is rate * delta (Balle, Barthe &
    Gaboardi 2018, "Privacy amplification by subsampling", theorem 9). The theorem assumes a sample
    of fixed size, drawn without replacement, and data sets that differ in one answer. The theorem
    applies here if each device tosses a secret coin, and the probability of selection does not
    depend on the answers. All sets of devices of the same size are then equally likely to be
    selected.
    """
    if not 0 <= rate <= 1:
        raise ValueError(f"rate must be from 0 to 1, not {rate}")
    if epsilon <= MOST_EPSILON:
        epsilon = min(epsilon, math.log1p(rate * math.expm1(epsilon)) * ROUNDING)
    return epsilon, min(delta, rate * delta * ROUNDING)


def shuffled_law(reports: int, blanket: Blanket, dishonest: int = 0, tail: float = TAIL) -> Shuffled:
    """Return the distribution from which a tally's delta can be computed for any epsilon.

    The other arguments are those of `shuffled_epsilon`. ``tail`` is the total probability that is
    ignored at each end of the distributions of K and G (see `Shuffled`). The ignored probability is
    added to delta. Raise `ValueError` if an argument is out of range.
    """
    if reports < 1 or dishonest < 0:
        raise ValueError(f"reports must be at least 1, and dishonest at least 0; not {reports} and {dishonest}")
    if not 0 < blanket.local_epsilon < math.inf:
        raise ValueError(f"the epsilon of one report must be above 0 and finite, not {blanket.local_epsilon}")
    return Shuffled.among(max(1, reports - dishonest), blanket, tail)


def central_of(metric: Metric, reports: int, delta: float, *, closed: bool) -> Central | None:
    """Return the central privacy loss from a metric's tally for a given delta.

    Return None in three cases:

    * There are no reports.
    * The window is open, so its tally will be read again.
    * The channel has its own delta. No amplification is proved for such channels.
    """
    if not closed or reports == 0 or metric.delta > 0:
        return None
    return Central(delta, _epsilon_of_tally(reports, Blanket.of_channel(metric.channel), delta))


@lru_cache(maxsize=2**12)
def _epsilon_of_tally(reports: int, blanket: Blanket, delta: float) -> float:
    """Return `shuffled_epsilon`.

    Results are cached, because the same windows are often shown again.
    """
    return shuffled_epsilon(reports, blanket, delta)


def together(tallies: Sequence[tuple[Metric, int]], delta: float) -> Central | None:
    """Return the total privacy loss of a device with a report in each of several closed tallies.

    ``tallies`` contains each tally's metric and number of reports. A report from a channel with its
    own delta counts with its full epsilon and delta, without amplification. The result is None if
    there are no reports, or if the channels' own deltas add up to at least ``delta``.
    """
    counted = [(metric, reports) for metric, reports in tallies if reports > 0]
    pure = [(reports, Blanket.of_channel(metric.channel)) for metric, reports in counted if not metric.delta]
    unamplified = [metric for metric, _ in counted if metric.delta]
    left = Fraction(delta) - sum(metric.delta for metric in unamplified)
    if not counted or left <= 0:
        return None
    parts = [composed(pure, float(left)), *(as_float(metric.epsilon_nanos) for metric in unamplified)]
    return Central(delta, math.fsum(parts) * ROUNDING)
