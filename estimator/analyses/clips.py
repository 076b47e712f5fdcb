"""The best clip of a number: the upper end of its range that gives the mean the smallest error.

Answers above the clip are replaced by the clip, which biases the mean. The noise of the mean grows
with the width of the range. For a skewed distribution, clipping therefore often gives a smaller
total error. The search for the best clip needs the distribution of answers, for example from a
pilot window.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from decimal import ROUND_CEILING, Context, Decimal
from typing import Annotated, Final, NamedTuple

import numpy as np
from msgspec.structs import replace

from estimator.decoders.decoder import Decoder
from estimator.results.estimate import Record, says
from estimator.statistics.arrays import Floats
from estimator.statistics.confidence import Z_OF_POWER, Z, bisected

STEP: Final = 1.1
"""The ratio between the lengths of neighboring candidate ranges, before rounding to two digits."""

LEAST_SHARE: Final = 0.5
"""The smallest candidate for the clip, as a quantile of the answers.

If more than half of the answers were clipped, the mean would say little about the numbers.
"""

SHOWN_SHARES: Final = (0.9, 0.95, 0.98, 0.99)
"""For each of these quantiles, the candidate range that ends nearest to the quantile is shown."""

MOST_CHANGE: Final = 10.0
"""The largest relative rise of the numbers that `clip_at` considers.

A rise of 10 multiplies each number by 11.
"""

WORTH: Final = 0.9
"""The maximum error of a suggested clip, as a fraction of the full range's error."""

BODY, TAIL = 0.5, 0.97
"""Two quantiles of a pilot window, which determine the extrapolated tail of the distribution.

Beyond ``TAIL``, the estimated distribution is mostly noise, which would make the suggested range
far too wide. There, the distribution is assumed to fall exponentially instead, at the same rate as
between the two quantiles.
"""

ROUND: Final = Context(prec=2, rounding=ROUND_CEILING)


class Clip(Record, frozen=True):
    """A candidate range for a number, and the error of the mean of numbers clipped to this range.

    The error is the deviation from the mean of the unclipped numbers.
    """

    high: Annotated[float, says("the largest answer; larger numbers are counted as this number.")]
    bias: Annotated[float, says("the mean of the numbers clipped at high, minus the mean of all numbers.")]
    noise: Annotated[float, says("the standard error of the mean of the clipped numbers.")]
    error: Annotated[float, says("the total error: the square root of bias² + noise².")]
    smallest_change: Annotated[
        float | None,
        says(
            "the smallest relative rise of the numbers that is detected between two windows in "
            "8 of 10 draws. None if no rise would be detected."
        ),
    ]
    is_best: Annotated[bool, says("whether this range has the smallest total error, and is therefore recommended.")] = (
        False
    )


class Numbers(NamedTuple):
    """The distribution of people's answers, before any clip.

    Attributes:
        values: the possible answers in rising order, shape (values,).
        weights: the share of people with each answer, with sum 1, shape (values,).
    """

    values: Floats
    weights: Floats


def clips_of(ends: tuple[float, float], people: Numbers, decoder: Decoder, reports: int) -> tuple[Clip, ...]:
    """Return the range that gives a number's mean the smallest error, and other ranges to compare.

    Return () if the smallest error is more than `WORTH` times the error with the full range.
    ``ends`` are the ends of the full range, and ``reports`` is the expected number of reports in a
    window.
    """
    low, own = ends
    highs = sorted({own, *_ladder(low, quantile(people, LEAST_SHARE), float(people.values[-1]))})
    tried = {high: clip_at(low, high, people, decoder, reports) for high in highs}
    best = min(highs, key=lambda high: tried[high].error)
    if tried[best].error > WORTH * tried[own].error:
        return ()
    shown = {min(highs, key=lambda high: abs(high - quantile(people, share))) for share in SHOWN_SHARES}
    return tuple(replace(tried[high], is_best=high == best) for high in highs if high in {*shown, best, own})


def quantile(people: Numbers, share: float) -> float:
    """Return the smallest value v for which at least ``share`` of the answers are at most v."""
    reached = int(np.searchsorted(np.cumsum(people.weights), share))
    return float(people.values[min(people.values.size - 1, reached)])


def with_exponential_tail(people: Numbers) -> Numbers:
    """Replace the distribution beyond the quantile `TAIL` with an exponential tail.

    The values must be evenly spaced.
    """
    start, middle = quantile(people, TAIL), quantile(people, BODY)
    distance = float(people.values[1] - people.values[0])
    scale = max((start - middle) / math.log((1 - BODY) / (1 - TAIL)), distance)
    is_tail = people.values >= start
    falling = np.where(is_tail, np.exp(-np.maximum(people.values - start, 0.0) / scale), 0.0)
    rest = 1 - float(people.weights[~is_tail].sum())
    return Numbers(people.values, np.where(is_tail, rest * falling / falling.sum(), people.weights))


def _ladder(low: float, least: float, most: float) -> Iterator[float]:
    length = max(least - low, (most - low) / 1e6)
    last = -math.inf
    while length > 0 and last < most:
        high = low + float(ROUND.create_decimal(Decimal(length)))
        if high > last:
            yield high
        last, length = high, length * STEP


def clip_at(low: float, high: float, people: Numbers, decoder: Decoder, reports: int) -> Clip:
    """Return the bias, noise and total error of the range that ends at ``high``."""
    numbers, weights = people
    clipped = np.clip(numbers, low, high)
    places = (clipped - low) / (high - low)
    mean = float(weights @ places)
    squares = np.interp(places, np.linspace(0.0, 1.0, decoder.squares.size), decoder.squares)
    noise = (high - low) * math.sqrt((float(weights @ squares) - mean**2) / reports)
    bias = low + (high - low) * mean - float(weights @ numbers)

    def rise(part: float) -> float:
        return float(weights @ (np.clip(numbers * (1 + part), low, high) - clipped))

    return Clip(high, bias, noise, math.hypot(bias, noise), _least(rise, (Z + Z_OF_POWER) * math.sqrt(2) * noise))


def _least(rise: Callable[[float], float], wanted: float) -> float | None:
    return None if rise(MOST_CHANGE) < wanted else bisected(lambda part: rise(part) >= wanted, 0.0, MOST_CHANGE)
