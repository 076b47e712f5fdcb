"""Gaussian noise on a grid, for numbers, with (epsilon, delta)-differential privacy.

The weights of the noise are integers, and negligible weights are cut off. The standard deviation
sigma is the smallest multiple of 1/8 grid step for which the exactly computed delta is at most the
requested delta. (The textbook's sigma = sqrt(2 ln(1.25 / delta)) / epsilon is valid only up to
epsilon 1.)

Delta is not the probability that a report reveals more than epsilon. That probability is at least
delta, and usually several times delta. `Gaussian.chance_beyond` computes that probability.

Sources: Canonne, Kamath & Steinke 2020, "The discrete Gaussian for differential privacy", section 2
(the distribution); Balle & Wang 2018, "Improving the Gaussian mechanism for differential privacy:
analytical calibration and optimal denoising", theorem 5 (delta is a hockey-stick divergence).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from client_sdk.protocol.channel import COIN_SCALE
from client_sdk.protocol.epsilon import exp_floor
from client_sdk.protocol.mechanisms.noise import AdditiveNoise
from client_sdk.protocol.requested_epsilon import RequestedEpsilon

if TYPE_CHECKING:
    from client_sdk.protocol.mechanisms.catalogue import ChannelRequest

POINTS = 33
"""The number of grid points to which numbers are rounded. The range consists of 32 grid steps.
Rounding adds less than 0.1% to the variance, because sigma is at least about as large as the range.
"""

STEPS_PER_CELL = 8
"""A grid step is the distance between neighboring grid points. Sigma is a multiple of 1/8 grid
step. Therefore sigma is at most half a percent larger than needed."""

MAX_REACH = 2**15
"""The maximum absolute value of the noise, in grid steps. The counters of all symbols then take
half a megabyte, and computing the weights takes a few tenths of a second."""

FARTHEST_STEPS = STEPS_PER_CELL * MAX_REACH // 4
"""The maximum sigma, in units of 1/8 grid step. The maximum noise is always above four sigma. A
larger sigma would therefore need noise above `MAX_REACH`."""

WORKING_BITS = 192
"""The precision of intermediate fractions, in bits. Only the final integers define the channel."""

CENTER_BITS = 46
"""The weight of noise 0 is 2**46. With at most 2**16 symbols, the sum of all weights stays below
2**64."""

NEGLIGIBLE = Fraction(1, 2**10)
"""A limit is chosen so that noise beyond the limit has a total probability of at most this share of
delta. The largest noise is the limit plus the length of the range."""


@dataclass(frozen=True, slots=True)
class Gaussian(AdditiveNoise):
    """The channel that adds Gaussian noise, with one symbol for each sum of input and noise.

    Attributes:
        odds: e**epsilon. ``delta`` is computed for this epsilon.
    """

    name: ClassVar[str] = "gaussian"

    odds: Fraction

    @classmethod
    def build(cls, request: ChannelRequest) -> Gaussian:
        """Return the channel for a request."""
        if request.delta is None:
            raise ValueError(
                "'gaussian' needs delta, such as 1e-9: how far a report's probability may exceed e^epsilon "
                "times that for another answer"
            )
        return cls.within(request.epsilon, request.delta)

    @staticmethod
    def within(epsilon: RequestedEpsilon, delta: Fraction, points: int = POINTS) -> Gaussian:
        """Return the channel with the smallest sigma that satisfies ``epsilon`` and ``delta``.

        Raises:
            ValueError: if the noise would exceed `MAX_REACH`, or if delta is too small for 64-bit
                weights.
        """
        if delta * 2**CENTER_BITS < 1 / NEGLIGIBLE:
            raise ValueError(f"delta {float(delta):g} is too small for noise with 64-bit probabilities; raise delta")

        # rounded down, so that its logarithm is not above epsilon
        odds = Fraction(int(epsilon.odds * COIN_SCALE), COIN_SCALE)

        def channel(steps: int) -> Gaussian:
            weights = _weights(Fraction(steps, STEPS_PER_CELL), delta, points - 1)
            return Gaussian(points, len(weights) - 1, weights, odds)

        too_few, enough = 0, points
        while channel(enough).exceeding(points - 1) > delta:
            too_few, enough = enough, 2 * enough
            if too_few > FARTHEST_STEPS:
                raise _too_far(too_few, points)
        while enough - too_few > 1:
            middle = (too_few + enough) // 2
            if channel(middle).exceeding(points - 1) > delta:
                too_few = middle
            else:
                enough = middle
        least_noise = channel(enough)
        if least_noise.reach > MAX_REACH:
            raise _too_far(enough, points)
        return least_noise

    @property
    def worst_ratio(self) -> Fraction:
        """The value e**epsilon. Some symbols exceed this ratio; `delta` limits their effect."""
        return self.odds

    @property
    def delta(self) -> Fraction:
        """The exact maximum hockey-stick divergence of all pairs of inputs (see `exceeding`)."""
        return max(self.exceeding(distance) for distance in range(1, self.inputs))

    def exceeding(self, distance: int) -> Fraction:
        """Return the hockey-stick divergence of two inputs that are ``distance`` grid steps apart.

        The divergence is the sum of P(symbol | first input) - ``odds`` * P(symbol | second input)
        over all symbols. Negative terms count as 0.
        """
        numerator, denominator = self.odds.as_integer_ratio()
        places = range(-self.reach, self.reach + 1)
        padded = dict(zip(places, (self.weights[abs(place)] for place in places), strict=True))
        surplus = (denominator * padded[place] - numerator * padded.get(place + distance, 0) for place in places)
        return Fraction(sum(excess for excess in surplus if excess > 0), denominator * self.total)

    def chance_beyond(self, ratio: Fraction) -> Fraction:
        """Return the maximum probability that a report shifts odds by a factor above ``ratio``.

        A report shifts the odds of two inputs this far if its symbol is more than ``ratio`` times
        as likely for one input as for the other. The result is exact. It also applies to answers
        that are rounded to an input at random.
        """
        numerator, denominator = ratio.as_integer_ratio()
        last = self.inputs - 1
        padded = (*self.weights, *[0] * last)
        places = range(-self.reach, last + self.reach + 1)
        beyond = [
            place
            for place in places
            if denominator * padded[max(0, -place, place - last)] > numerator * padded[max(place, last - place)]
        ]
        most = max(sum(padded[abs(place - given)] for place in beyond) for given in range(self.inputs))
        return Fraction(most, self.total)


def _too_far(steps: int, points: int) -> ValueError:
    ranges = steps / STEPS_PER_CELL / (points - 1)
    return ValueError(
        f"the noise would be at least {ranges:.3g} times the range, too large for a tally; raise epsilon or delta"
    )


def _weights(sigma: Fraction, delta: Fraction, cells: int) -> tuple[int, ...]:
    """Return the weights of noise 0, 1, … up to the largest noise; sigma is in grid steps.

    The weight of noise n is 2**46 e**(-n**2 / (2 sigma**2)), rounded down, but at least 1. The
    power of e is computed as a product of n factors, each of which is e**(-1 / sigma**2) times the
    previous factor.
    """
    unit = 1 << WORKING_BITS
    factor = int(exp_floor(-1 / (2 * sigma**2)) * unit)
    ratio = int(exp_floor(-1 / sigma**2) * unit)
    height, rounded = unit, list[int]()
    while (weight := height >> (WORKING_BITS - CENTER_BITS)) > 0:
        rounded.append(weight)
        height = height * factor >> WORKING_BITS
        factor = factor * ratio >> WORKING_BITS
    most_beyond = delta * NEGLIGIBLE * sum(rounded)
    beyond, kept = 0, len(rounded)
    while beyond + rounded[kept - 1] <= most_beyond:
        kept -= 1
        beyond += rounded[kept]
    a_range_more = rounded[kept:][:cells]
    return (*rounded[:kept], *a_range_more, *([1] * (cells - len(a_range_more))))
