"""Optimal mean: a report is more likely within a band of symbols that moves with the answer.

``docs/research/mechanisms.md`` derives the channel. A *band* consists of neighboring symbols.
Symbols in the band are e**epsilon times as likely as other symbols. Each symbol has a *score*, and
the estimated mean is the average score of the reports. Among all channels with at most this epsilon
and an unbiased average, this channel has the smallest worst-case variance. The variance is the same
for every answer. The scores and the positions of the bands are unevenly spaced. The N-output
mechanism (arXiv 2510.11116) and OGPM (arXiv 2505.15483) are related.

The inputs are the points of an evenly spaced grid. Band i consists of ``width`` symbols, starting
at symbol i. Each band belongs to a grid point, its *knot*. `steps` contains the distances between
successive knots, in grid points. An input between two knots gets the band of either knot, drawn at
random with exact probabilities. With suitable scores, the average is therefore exactly unbiased. In
a suitable unit, the score of symbol i + width exceeds the score of symbol i by step i.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from math import lcm
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple, Self

from client_sdk.protocol.channel import COIN_SCALE, Channel, Coins
from client_sdk.protocol.requested_epsilon import RequestedEpsilon

if TYPE_CHECKING:
    from client_sdk.protocol.mechanisms.catalogue import ChannelRequest


class Table(NamedTuple):
    """The bands that have the smallest worst-case variance for one epsilon.

    Attributes:
        milliodds: 1000 e**epsilon, rounded up.
        width: the number of symbols in a band.
        half: the steps in the lower half of the range. The upper half has the same steps in
            reverse.
        middle: the step in the middle of the range; 0 if there is no middle step.
    """

    milliodds: int
    width: int
    half: tuple[int, ...]
    middle: int

    @property
    def steps(self) -> tuple[int, ...]:
        """The steps of the whole range, in ascending order of the knots."""
        return (*self.half, *((self.middle,) if self.middle else ()), *reversed(self.half))


@dataclass(frozen=True, slots=True)
class OptimalMean(Channel):
    """The channel that prefers a band of symbols, which moves with the answer in uneven steps.

    Attributes:
        steps: the distances between successive knots, in grid points.
        width: the number of symbols in a band.
        light: the weight of a symbol outside the band, at least 1.
        heavy: the weight of a symbol in the band.
        knots: for each band, the input that always gets this band. Computed from the steps.
        resolution: the least common multiple of the steps. For an input between two knots, a random
            integer below the resolution selects the band.
    """

    name: ClassVar[str] = "optimal-mean"

    steps: tuple[int, ...]
    width: int
    light: int
    heavy: int
    knots: tuple[int, ...] = field(init=False, repr=False, compare=False)
    resolution: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "knots", tuple(accumulate(self.steps, initial=0)))
        object.__setattr__(self, "resolution", lcm(*self.steps))

    @classmethod
    def build(cls, request: ChannelRequest) -> Self:
        """Return the channel for a request."""
        return cls.within(request.epsilon)

    @classmethod
    def within(cls, epsilon: RequestedEpsilon) -> Self:
        """Return the channel whose steps and width follow from `TABLES` for an epsilon."""
        milliodds = epsilon.odds * 1000
        at = next((at for at, table in enumerate(TABLES) if milliodds <= table.milliodds), None)
        if at is None:
            return cls.of_total(TABLES[-1].steps, width_beyond(TABLES[-1], milliodds), epsilon.odds)
        return cls.of_total(
            steps_between(TABLES[max(0, at - 1)], TABLES[at], milliodds), TABLES[at].width, epsilon.odds
        )

    @classmethod
    def of_total(cls, steps: tuple[int, ...], width: int, odds: Fraction, most: int = COIN_SCALE) -> Self:
        """Return the channel with the largest integer weights that ``odds`` and ``most`` allow.

        ``heavy`` / ``light`` is at most ``odds``, and `band_total` is at most ``most``.
        """
        light = int(most / (width * odds + len(steps)))
        return cls(steps, width, light, int(light * odds))

    @property
    def inputs(self) -> int:
        """The number of grid points."""
        return self.knots[-1] + 1

    @property
    def symbols(self) -> int:
        """The number of symbols."""
        return len(self.steps) + self.width

    @property
    def band_total(self) -> int:
        """The sum of all symbols' weights for one band, which is the same for every band."""
        return self.width * self.heavy + len(self.steps) * self.light

    @property
    def total(self) -> int:
        """The sum of the weights of all symbols, which is the same for every input."""
        return self.band_total * self.resolution

    @property
    def integers(self) -> dict[str, int | tuple[int, ...]]:
        """The integers that define the channel, keyed by name."""
        return {"steps": self.steps, "width": self.width, "light": self.light, "heavy": self.heavy}

    @property
    def worst_ratio(self) -> Fraction:
        """The ratio ``heavy`` / ``light``, reached by symbol 0, which is only in the first band."""
        return Fraction(self.heavy, self.light)

    def weight(self, symbol: int, given: int) -> int:
        """Return ``total`` times the probability of ``symbol`` if the input is ``given``."""
        band, numerator = self.between(given)
        near = self.heavy if band <= symbol < band + self.width else self.light
        far = self.heavy if band < symbol <= band + self.width else self.light
        return near * (self.resolution - numerator) + far * numerator

    def probability(self, symbol: int, given: int) -> Fraction:
        """Return the probability of ``symbol`` if the input is ``given``."""
        return Fraction(self.weight(symbol, given), self.total)

    def between(self, given: int) -> tuple[int, int]:
        """Return the band of the knot at or below an input, and the numerator of a probability.

        The input gets the next band with probability numerator / `resolution`, and otherwise the
        returned band.
        """
        band = bisect_right(self.knots, given, hi=len(self.steps)) - 1
        return band, self.resolution // self.steps[band] * (given - self.knots[band])

    def likeliest(self, symbol: int) -> Sequence[int]:
        """Return the inputs that always get a band that contains the symbol."""
        first, last = (min(max(symbol + end, 0), len(self.steps)) for end in (1 - self.width, 0))
        return range(self.knots[first], self.knots[last] + 1)

    def perturb(self, value: int, coins: Coins) -> int:
        """Return a random symbol for the input ``value``; always draw two random numbers.

        The computation takes the same steps inside and outside the band. Otherwise, the duration
        would reveal whether the symbol is in the band.
        """
        band, numerator = self.between(value)
        band += coins.below(self.resolution) < numerator
        in_band = self.width * self.heavy
        drawn = coins.below(in_band + len(self.steps) * self.light)
        is_beyond = drawn >= in_band
        place = (drawn - is_beyond * in_band) // (self.light if is_beyond else self.heavy)
        within, beyond = band + place, place + self.width * (place >= band)
        return beyond if is_beyond else within


def steps_between(below: Table, above: Table, milliodds: Fraction) -> tuple[int, ...]:
    """Return the steps for an epsilon between the epsilons of two tables.

    If both tables have the same width and number of steps, the steps are interpolated. Otherwise,
    the upper table's steps are returned. ``milliodds`` is 1000 e**epsilon.
    """
    if below is above or (below.width, len(below.steps)) != (above.width, len(above.steps)):
        return above.steps
    rise, run = (milliodds - below.milliodds).as_integer_ratio()
    run *= above.milliodds - below.milliodds
    return tuple(
        _nearest(low * run + (high - low) * rise, run) for low, high in zip(below.steps, above.steps, strict=True)
    )


def width_beyond(table: Table, milliodds: Fraction) -> int:
    """Return the width of a band for an epsilon above a table's epsilon.

    The w symbols of the band contribute a variance proportional to w**2. The other symbols
    contribute a variance proportional to 1 / (w e**epsilon). Therefore the width with the smallest
    variance is proportional to e**(-epsilon / 3). ``milliodds`` is 1000 e**epsilon.
    """
    most = table.width**3 * table.milliodds
    return next(width for width in range(table.width, 0, -1) if width == 1 or width**3 * milliodds <= most)


def _nearest(numerator: int, denominator: int) -> int:
    at = bisect_right(STEPS, numerator // denominator, lo=1, hi=len(STEPS) - 1)
    low, high = STEPS[at - 1], STEPS[at]
    return low if 2 * numerator <= (low + high) * denominator else high


FINEST: Final = 300
"""The largest step of a table, in grid points."""

RESOLUTION: Final = 18235280659403808000
"""Of all numbers up to 2**64, the number whose divisors from 90 to `FINEST` are closest together.
The largest bound that `Coins.below` accepts is 2**64."""

STEPS: Final = tuple(step for step in range(1, FINEST + 1) if RESOLUTION % step == 0)
"""The possible steps: the divisors of `RESOLUTION` up to `FINEST`."""

# fmt: off
TABLES: Final = (
    Table(1198, 1, (), 1),
    Table(1198, 4, (300, 299), 0),
    Table(1717, 4, (300, 294), 0),
    Table(1717, 12, (300, 297, 294, 294, 294, 290), 0),
    Table(2248, 12, (300, 294, 290, 286, 285, 280), 0),
    Table(2248, 23, (180, 180, 300, 300, 300, 300, 299, 297, 297, 294, 294, 294), 294),
    Table(3371, 23, (200, 200, 300, 300, 300, 297, 294, 290, 288, 286, 285, 285), 285),
    Table(3371, 21, (174, 174, 174, 174, 174, 174, 300, 300, 300, 300, 300, 297, 297), 297),
    Table(4853, 21, (190, 189, 189, 189, 189, 192, 300, 300, 300, 299, 294, 290, 290), 290),
    Table(4853, 20, (174, 174, 175, 175, 175, 175, 176, 186, 300, 300, 300, 299, 297, 297), 0),
    Table(6054, 20, (184, 184, 182, 182, 182, 187, 192, 200, 300, 300, 300, 297, 294, 294), 0),
    Table(6054, 13, (156, 161, 164, 165, 171, 176, 192, 300, 300, 299), 0),
    Table(7790, 13, (174, 171, 171, 176, 187, 195, 208, 300, 299, 297), 0),
    Table(7790, 18, (140, 143, 143, 147, 150, 156, 164, 174, 180, 189, 192, 203, 300, 300, 300), 0),
    Table(11744, 18, (174, 170, 168, 174, 180, 187, 192, 198, 200, 208, 210, 221, 300, 300, 297), 0),
    Table(11744, 17, (124, 126, 128, 133, 145, 156, 165, 171, 180, 187, 195, 203, 207, 216, 300), 300),
    Table(16579, 17, (155, 152, 156, 165, 174, 182, 187, 192, 198, 203, 207, 216, 217, 228, 300), 300),
    Table(16579, 16, (155, 156, 156, 161, 168, 186, 203, 216, 228, 238, 248, 261, 270, 280, 288, 300), 0),
    Table(21954, 16, (180, 175, 174, 176, 195, 208, 220, 230, 240, 247, 255, 264, 272, 280, 288, 300), 0),
    Table(21954, 15, (145, 145, 145, 150, 154, 161, 180, 200, 217, 234, 248, 264, 276, 290, 300, 231), 228),
    Table(28108, 15, (171, 165, 164, 164, 165, 176, 200, 216, 231, 242, 255, 266, 276, 290, 300, 240), 234),
    Table(28108, 14, (125, 126, 128, 133, 138, 147, 160, 171, 192, 221, 242, 264, 280, 300, 242, 245, 248), 0),
    Table(39239, 14, (165, 160, 161, 171, 174, 176, 180, 189, 216, 234, 252, 270, 285, 300, 248, 250, 252), 0),
    Table(39239, 18, (140, 138, 138, 140, 147, 161, 168, 171, 176, 182, 190, 200, 210, 231, 252, 270, 285, 300, 247,
        250, 256, 260, 260), 0),
    Table(48903, 18, (168, 161, 156, 161, 171, 180, 189, 192, 192, 196, 200, 207, 221, 240, 256, 270, 286, 300, 250,
        253, 260, 260, 260), 0),
    Table(48903, 17, (150, 147, 147, 147, 150, 160, 174, 186, 196, 203, 210, 224, 238, 255, 275, 276, 300, 255, 264,
        276, 285, 290, 290), 294),
    Table(59402, 17, (174, 165, 164, 161, 168, 176, 189, 200, 210, 217, 224, 230, 240, 253, 270, 279, 300, 256, 266,
        276, 280, 287, 288), 290),
    Table(59402, 12, (143, 138, 138, 143, 150, 165, 187, 205, 224, 245, 273, 294, 232, 245, 270, 285, 297, 300), 0),
    Table(75898, 12, (176, 168, 161, 164, 174, 190, 205, 224, 240, 256, 275, 297, 238, 252, 275, 288, 297, 300), 0),
    Table(75898, 15, (130, 128, 128, 135, 143, 150, 156, 164, 174, 186, 200, 220, 240, 260, 279, 245, 250, 252, 255,
        266, 272, 280, 290, 299), 300),
    Table(98410, 15, (165, 156, 160, 168, 175, 182, 184, 186, 195, 205, 217, 234, 250, 270, 287, 252, 256, 260, 261,
        266, 272, 280, 294, 299), 300),
    Table(98410, 14, (136, 133, 130, 133, 140, 152, 164, 176, 186, 200, 217, 238, 264, 280, 230, 240, 260, 270, 280,
        288, 294, 300, 287, 285, 294), 0),
    Table(129605, 14, (180, 168, 164, 164, 171, 184, 195, 208, 217, 224, 234, 250, 272, 280, 245, 256, 270, 280, 290,
        294, 297, 300, 300, 294, 299), 0),
    Table(129605, 26, (125, 123, 121, 123, 125, 128, 130, 133, 136, 140, 144, 147, 152, 156, 161, 165, 174, 180, 189,
        198, 209, 221, 234, 248, 260, 270, 228, 228, 228, 230, 238, 242, 248, 253, 260, 264, 270, 276, 280, 286, 290,
        294, 297, 299, 300, 299, 299, 290, 279, 270, 270), 0),
    Table(173532, 26, (170, 161, 160, 160, 164, 168, 168, 171, 174, 174, 176, 180, 182, 186, 190, 195, 200, 205, 210,
        217, 225, 238, 248, 264, 273, 285, 240, 240, 242, 245, 248, 250, 255, 260, 264, 270, 275, 280, 285, 288, 294,
        294, 297, 299, 300, 299, 299, 294, 280, 272, 270), 0),
    Table(173532, 24, (126, 123, 120, 119, 120, 121, 123, 125, 130, 135, 140, 145, 152, 156, 164, 171, 180, 187, 196,
        207, 220, 232, 247, 250, 204, 207, 216, 220, 228, 234, 245, 250, 256, 261, 266, 272, 275, 279, 280, 285, 273,
        272, 273, 273, 272, 270, 264, 275, 287, 294, 297, 300), 0),
    Table(224568, 24, (168, 160, 156, 152, 152, 152, 152, 154, 160, 165, 170, 176, 182, 187, 192, 198, 204, 209, 216,
        224, 232, 242, 255, 255, 217, 221, 228, 234, 240, 250, 256, 264, 266, 270, 273, 275, 279, 280, 280, 280, 276,
        279, 279, 279, 276, 275, 272, 285, 288, 294, 297, 300), 0),
    Table(224568, 17, (132, 126, 125, 130, 133, 138, 143, 147, 153, 160, 165, 174, 186, 203, 217, 234, 246, 216, 216,
        224, 228, 238, 245, 253, 261, 270, 275, 285, 290, 290, 285, 275, 264, 272, 279, 288, 294, 299, 299), 300),
    Table(264173, 17, (156, 147, 145, 150, 154, 160, 164, 168, 171, 174, 180, 186, 198, 216, 228, 242, 255, 221, 225,
        234, 238, 245, 248, 256, 261, 270, 279, 285, 290, 290, 285, 276, 266, 273, 279, 287, 294, 299, 299), 300),
    Table(264173, 22, (143, 136, 133, 132, 135, 138, 143, 147, 150, 155, 160, 164, 170, 174, 180, 186, 195, 203, 216,
        228, 234, 248, 216, 217, 224, 228, 234, 240, 245, 250, 256, 261, 266, 270, 275, 272, 275, 280, 285, 286, 285,
        280, 276, 276, 280, 285, 294, 300, 300, 294, 294, 294, 297), 0),
    Table(303694, 22, (165, 156, 152, 150, 152, 156, 160, 165, 168, 174, 176, 182, 186, 190, 192, 198, 205, 216, 224,
        234, 245, 256, 224, 228, 234, 240, 245, 250, 253, 256, 261, 266, 270, 273, 276, 276, 280, 285, 290, 290, 288,
        285, 285, 280, 285, 288, 294, 300, 300, 297, 297, 299, 299), 0),
    Table(303694, 21, (140, 133, 130, 128, 128, 130, 133, 136, 140, 147, 152, 160, 165, 171, 180, 187, 196, 207, 217,
        232, 238, 200, 203, 209, 217, 225, 234, 240, 248, 253, 256, 264, 266, 270, 273, 275, 270, 270, 266, 264, 260,
        266, 280, 294, 299, 300, 299, 297, 294, 294, 286, 285, 285), 285),
    Table(360503, 21, (168, 156, 153, 150, 150, 150, 153, 156, 160, 168, 171, 180, 184, 190, 198, 203, 209, 217, 228,
        240, 245, 209, 210, 220, 228, 234, 242, 250, 256, 261, 264, 266, 270, 272, 273, 275, 272, 273, 270, 270, 264,
        273, 285, 294, 300, 300, 297, 297, 294, 290, 287, 286, 286), 286),
    Table(360503, 15, (135, 126, 128, 132, 136, 140, 145, 152, 155, 164, 174, 186, 200, 217, 232, 204, 205, 216, 221,
        230, 238, 246, 253, 264, 270, 273, 272, 270, 261, 260, 272, 285, 294, 286, 290, 297, 300, 294, 287, 285), 280),
    Table(430146, 15, (161, 150, 150, 155, 160, 164, 168, 174, 174, 180, 190, 200, 210, 228, 245, 216, 220, 228, 234,
        238, 245, 250, 256, 270, 275, 276, 276, 273, 266, 266, 273, 285, 290, 288, 294, 297, 300, 297, 288, 285), 280),
    Table(430146, 14, (123, 116, 116, 117, 120, 126, 132, 140, 147, 160, 170, 184, 200, 216, 184, 187, 198, 210, 220,
        230, 238, 245, 250, 255, 255, 246, 246, 246, 264, 280, 285, 285, 285, 280, 279, 276, 276, 276, 280, 297, 300),
        0),
    Table(515970, 14, (155, 143, 140, 140, 143, 150, 154, 164, 170, 180, 190, 200, 216, 228, 196, 200, 210, 224, 232,
        240, 247, 253, 256, 260, 260, 253, 252, 255, 270, 285, 286, 285, 285, 280, 280, 279, 279, 279, 280, 297, 300),
        0),
    Table(515970, 18, (133, 126, 125, 126, 130, 133, 136, 140, 144, 147, 153, 160, 165, 174, 184, 196, 210, 224, 195,
        195, 203, 208, 216, 220, 228, 232, 240, 246, 252, 256, 261, 264, 261, 256, 247, 253, 264, 275, 285, 285, 285,
        288, 290, 290, 290, 287, 286, 285, 285, 285, 287, 294, 299, 299, 300), 0),
    Table(622304, 18, (161, 152, 147, 150, 154, 160, 161, 164, 165, 170, 174, 180, 184, 192, 200, 210, 224, 238, 208,
        210, 217, 221, 225, 230, 234, 240, 247, 253, 260, 264, 266, 266, 266, 264, 256, 260, 266, 273, 285, 285, 285,
        290, 290, 290, 290, 288, 286, 285, 285, 285, 286, 294, 297, 297, 300), 0),
    Table(622304, 17, (130, 123, 120, 121, 123, 125, 128, 133, 138, 145, 152, 160, 168, 175, 186, 198, 207, 180, 182,
        190, 198, 205, 210, 221, 228, 232, 238, 242, 245, 245, 242, 242, 240, 242, 255, 266, 272, 275, 275, 276, 275,
        273, 270, 270, 273, 276, 280, 288, 288, 294, 300, 297, 285, 285, 280), 280),
    Table(754784, 17, (164, 152, 147, 147, 150, 152, 154, 156, 161, 170, 175, 182, 189, 196, 204, 216, 224, 195, 200,
        208, 216, 221, 228, 234, 242, 246, 248, 252, 252, 252, 250, 252, 250, 255, 264, 272, 279, 280, 280, 280, 279,
        276, 275, 273, 279, 280, 285, 290, 294, 294, 300, 297, 290, 287, 285), 286),
    Table(754784, 20, (128, 121, 119, 119, 120, 121, 124, 128, 132, 136, 140, 145, 150, 154, 160, 168, 175, 186, 196,
        204, 176, 180, 186, 192, 198, 203, 210, 216, 220, 224, 228, 232, 238, 240, 242, 245, 242, 238, 234, 242, 248,
        256, 266, 270, 270, 272, 272, 270, 272, 275, 276, 275, 275, 275, 275, 276, 280, 290, 300, 300, 285, 280, 285,
        288, 290, 290, 290, 294, 290, 288), 0),
    Table(920783, 20, (164, 152, 147, 147, 147, 150, 152, 156, 160, 164, 168, 171, 176, 180, 182, 187, 195, 204, 216,
        224, 196, 200, 207, 210, 217, 221, 228, 230, 234, 238, 240, 242, 247, 250, 255, 255, 255, 252, 248, 255, 260,
        264, 273, 276, 275, 276, 275, 276, 280, 280, 280, 280, 280, 280, 280, 280, 285, 294, 300, 299, 290, 288, 290,
        294, 294, 294, 297, 297, 294, 290), 0),
    Table(920783, 15, (123, 115, 115, 117, 121, 125, 128, 133, 138, 143, 150, 160, 170, 184, 196, 174, 175, 182, 190,
        196, 203, 210, 217, 224, 230, 234, 234, 234, 228, 228, 238, 253, 260, 260, 264, 266, 266, 266, 266, 266, 266,
        270, 275, 287, 290, 290, 287, 285, 287, 285, 285, 285, 287, 290, 290, 299), 300),
    Table(1130009, 15, (156, 143, 143, 145, 150, 154, 156, 160, 164, 168, 171, 180, 189, 203, 216, 192, 195, 203, 208,
        210, 217, 221, 228, 234, 240, 245, 247, 245, 240, 240, 247, 256, 264, 264, 266, 270, 273, 272, 273, 270, 270,
        270, 276, 286, 290, 290, 290, 286, 288, 287, 285, 285, 287, 288, 290, 297), 300),
    Table(1130009, 14, (119, 110, 112, 115, 117, 121, 123, 128, 135, 143, 150, 161, 174, 189, 165, 168, 176, 184, 190,
        198, 205, 216, 220, 224, 225, 225, 220, 220, 230, 246, 252, 253, 256, 260, 260, 256, 260, 260, 261, 266, 279,
        287, 286, 285, 279, 279, 280, 280, 285, 288, 294, 297, 300, 297, 294, 288, 285), 0),
    Table(1395322, 14, (154, 140, 143, 145, 150, 150, 152, 155, 161, 168, 176, 184, 196, 210, 187, 190, 198, 203, 207,
        216, 221, 230, 234, 238, 238, 238, 234, 234, 242, 253, 260, 261, 266, 266, 266, 264, 264, 266, 266, 272, 280,
        288, 288, 287, 285, 280, 280, 280, 286, 290, 294, 297, 300, 297, 294, 290, 286), 0),
    Table(1395322, 23, (120, 114, 110, 110, 112, 112, 114, 115, 116, 119, 121, 124, 128, 130, 135, 138, 144, 150, 156,
        164, 170, 180, 184, 160, 160, 164, 168, 174, 176, 182, 186, 192, 196, 200, 204, 207, 210, 216, 216, 217, 217,
        217, 216, 210, 208, 216, 225, 232, 240, 245, 246, 248, 248, 250, 250, 250, 250, 250, 252, 252, 252, 252, 255,
        256, 261, 266, 276, 285, 285, 280, 276, 273, 273, 273, 273, 275, 276, 276, 280, 280, 285, 287, 290, 294, 297,
        299, 299, 299, 294, 286, 280, 280, 285, 288, 290, 294, 297, 297, 299, 300), 300),
    Table(1733863, 23, (160, 147, 143, 143, 144, 144, 145, 147, 147, 150, 150, 154, 156, 160, 161, 165, 171, 176, 182,
        187, 195, 200, 207, 180, 182, 187, 190, 195, 198, 203, 207, 210, 216, 217, 221, 224, 228, 230, 232, 234, 232,
        231, 230, 225, 224, 232, 238, 245, 252, 255, 256, 256, 260, 260, 260, 260, 260, 260, 260, 260, 260, 260, 261,
        264, 270, 275, 280, 287, 287, 285, 280, 279, 276, 276, 276, 279, 279, 280, 285, 285, 287, 288, 290, 294, 297,
        299, 300, 299, 294, 287, 285, 285, 285, 288, 290, 294, 297, 297, 299, 300), 300),
    Table(1733863, 22, (135, 126, 121, 121, 121, 123, 124, 126, 128, 132, 135, 138, 140, 144, 147, 152, 156, 161, 168,
        175, 184, 190, 165, 168, 171, 176, 182, 186, 192, 195, 198, 203, 205, 208, 210, 216, 217, 220, 221, 221, 221,
        217, 216, 221, 228, 234, 242, 246, 246, 247, 248, 250, 250, 252, 252, 253, 253, 255, 255, 256, 260, 261, 266,
        273, 280, 285, 279, 275, 272, 273, 275, 276, 276, 279, 280, 285, 285, 286, 288, 290, 294, 297, 294, 290, 290,
        288, 286, 288, 290, 294, 297, 297, 297, 297, 300, 299, 300, 297, 294, 294, 294), 0),
    Table(2089248, 22, (165, 155, 150, 147, 147, 147, 150, 152, 154, 156, 161, 164, 168, 170, 171, 176, 180, 182, 187,
        195, 203, 209, 182, 186, 192, 196, 203, 205, 210, 210, 216, 217, 220, 221, 225, 228, 230, 232, 234, 234, 234,
        232, 230, 234, 242, 247, 253, 255, 255, 255, 256, 256, 256, 260, 260, 261, 261, 264, 264, 266, 266, 270, 272,
        279, 285, 285, 280, 279, 276, 276, 280, 280, 280, 285, 285, 287, 288, 288, 290, 294, 294, 297, 294, 294, 294,
        290, 290, 290, 294, 294, 299, 299, 297, 299, 300, 299, 300, 299, 297, 297, 297), 0),
    Table(2089248, 18, (138, 128, 126, 126, 128, 130, 133, 136, 138, 140, 144, 147, 152, 156, 164, 171, 182, 190, 168,
        171, 176, 182, 186, 190, 195, 198, 203, 207, 210, 216, 217, 220, 221, 217, 216, 217, 224, 232, 240, 240, 242,
        245, 247, 248, 250, 250, 250, 252, 252, 253, 256, 264, 273, 273, 273, 273, 272, 272, 272, 275, 275, 276, 279,
        280, 285, 287, 288, 294, 294, 294, 287, 286, 287, 287, 288, 294, 294, 297, 297, 297, 297, 300, 299, 297, 299,
        294, 290), 0),
    Table(2361076, 18, (156, 145, 143, 143, 145, 147, 150, 153, 156, 156, 160, 164, 165, 170, 176, 184, 195, 203, 180,
        184, 190, 195, 198, 200, 204, 207, 210, 216, 220, 224, 228, 230, 230, 228, 221, 228, 232, 238, 245, 246, 248,
        250, 252, 255, 255, 256, 256, 256, 256, 256, 260, 266, 275, 275, 275, 276, 275, 275, 275, 276, 276, 276, 279,
        280, 285, 286, 288, 294, 294, 294, 288, 288, 288, 287, 288, 294, 294, 294, 297, 297, 297, 300, 299, 297, 297,
        294, 290), 0),
    Table(2361076, 17, (126, 117, 115, 117, 119, 121, 123, 126, 128, 132, 135, 140, 145, 152, 160, 170, 180, 156, 160,
        165, 170, 175, 180, 184, 189, 195, 198, 203, 207, 208, 209, 207, 203, 207, 216, 221, 228, 231, 234, 234, 238,
        238, 240, 240, 240, 240, 242, 246, 253, 264, 266, 266, 264, 261, 264, 264, 266, 266, 270, 272, 275, 280, 285,
        287, 288, 286, 280, 279, 279, 280, 287, 290, 290, 290, 294, 299, 299, 297, 294, 294, 288, 287, 290, 294, 300,
        300, 299), 299),
    Table(2673497, 17, (147, 136, 133, 135, 138, 140, 143, 144, 147, 147, 150, 156, 161, 168, 174, 184, 192, 171, 175,
        180, 184, 189, 192, 196, 200, 204, 210, 216, 217, 220, 220, 217, 216, 217, 224, 230, 238, 238, 240, 242, 245,
        246, 247, 247, 246, 247, 248, 252, 256, 266, 270, 270, 270, 266, 266, 270, 270, 270, 272, 273, 276, 280, 286,
        288, 290, 288, 285, 280, 280, 285, 287, 290, 290, 294, 297, 299, 299, 297, 294, 294, 290, 290, 290, 294, 299,
        300, 299), 300),
    Table(2673497, 19, (123, 115, 112, 112, 112, 114, 115, 117, 120, 123, 126, 130, 135, 140, 144, 150, 156, 164, 171,
        150, 152, 156, 161, 165, 171, 176, 180, 184, 187, 192, 195, 196, 198, 200, 198, 198, 195, 198, 208, 216, 221,
        224, 225, 225, 228, 228, 228, 230, 230, 231, 232, 234, 238, 242, 250, 256, 261, 256, 255, 252, 252, 253, 256,
        256, 260, 264, 266, 270, 272, 275, 279, 279, 279, 275, 270, 270, 272, 276, 280, 285, 286, 288, 288, 290, 290,
        290, 288, 287, 285, 285, 285, 285, 290, 297, 299, 300, 299, 294, 294, 290, 290, 290), 288),
    Table(2980958, 19, (143, 132, 128, 128, 128, 130, 130, 133, 135, 138, 143, 145, 150, 154, 160, 164, 168, 176, 184,
        161, 164, 168, 174, 180, 182, 187, 192, 195, 198, 200, 203, 205, 207, 208, 207, 207, 203, 208, 217, 224, 230,
        231, 232, 232, 234, 234, 234, 234, 238, 238, 238, 240, 245, 248, 255, 261, 264, 260, 256, 255, 256, 256, 260,
        261, 264, 266, 270, 272, 275, 276, 280, 280, 280, 276, 272, 270, 273, 279, 285, 286, 288, 290, 290, 290, 290,
        290, 288, 288, 286, 285, 285, 285, 290, 297, 300, 300, 299, 294, 294, 290, 290, 290), 290),
)
# fmt: on
"""The bands with the smallest worst-case variance for some epsilons, in ascending order of epsilon.
``python -m tools.optimal_mean`` computes these tables."""
