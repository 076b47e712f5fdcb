"""Optimal mean: a sliding band whose inputs stand at uneven places of the range.

Source: derived here. Of all unbiased channels within epsilon, one of least worst variance has the same
variance for every answer. It weighs the symbols of a band e**epsilon times as much as the others; the
band slides with the answer, while the scores of the symbols, and the places of the bands, are uneven
(``docs/research/optimal-mean.md``). Its relatives are the N-output mechanism (arXiv 2510.11116) and
OGPM (arXiv 2505.15483).

Band i begins at symbol i. It stands at a knot of an even grid: `steps` says how far the knots are
apart, in points of the grid. An input between two knots takes one of their bands at random, by a coin
that resolves every step. So this is exact, and some score of the symbols is exactly unbiased: one that
rises by step i from symbol i to symbol i + width.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from math import lcm
from typing import ClassVar, Final, NamedTuple, Self

from client_sdk.protocol.coins import COIN_SCALE, Coins
from client_sdk.protocol.epsilon import PURE, RequestedEpsilon


class Table(NamedTuple):
    """The bands up to an epsilon.

    Attributes:
        most_milliodds: a thousand times e to the greatest epsilon, rounded.
        width: of a band.
        half: the steps of the lower half of the range; the upper half mirrors them.
        middle: a step in the middle of the range; none if 0.

    """

    most_milliodds: int
    width: int
    half: tuple[int, ...]
    middle: int

    @property
    def steps(self) -> tuple[int, ...]:
        """The steps of the whole range."""
        return (*self.half, *((self.middle,) if self.middle else ()), *reversed(self.half))


@dataclass(frozen=True, slots=True)
class OptimalMean:
    """The channel.

    Attributes:
        steps: the distance of each knot from the next; there is one band more than steps.
        width: the number of symbols in a band.
        light: the weight of a symbol outside the band, at least 1.
        heavy: the weight of a symbol in the band.
        knots: the input at which each band stands; derived.
        resolution: the least common multiple of the steps; derived.

    """

    name: ClassVar[str] = "optimal-mean"

    delta: ClassVar[Fraction] = PURE

    steps: tuple[int, ...]
    width: int
    light: int
    heavy: int
    knots: tuple[int, ...] = field(init=False, repr=False, compare=False)
    resolution: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Add up the steps."""
        object.__setattr__(self, "knots", tuple(accumulate(self.steps, initial=0)))
        object.__setattr__(self, "resolution", lcm(*self.steps))

    @classmethod
    def within(cls, epsilon: RequestedEpsilon) -> Self:
        """Return the channel of the table for a request, with weights of exactly its epsilon.

        Raises:
            ValueError: if no table is for so large an epsilon.

        """
        table = next((each for each in TABLES if epsilon.odds * 1000 <= each.most_milliodds), None)
        if table is None:
            raise ValueError("has tables up to epsilon 8; lower epsilon, or let auto choose")
        return cls.of_total(table.steps, table.width, epsilon.odds)

    @classmethod
    def of_total(cls, steps: tuple[int, ...], width: int, odds: Fraction, most: int = COIN_SCALE) -> Self:
        """Return the channel with the finest weights whose ratio is within ``odds``.

        Args:
            steps: the distances of the knots.
            width: the width of a band.
            odds: e**epsilon.
            most: the largest total of the weights of a band and of what is beside it.

        """
        light = int(most / (width * odds + len(steps)))
        return cls(steps, width, light, int(light * odds))

    @property
    def inputs(self) -> int:
        """The number of points of the even grid."""
        return self.knots[-1] + 1

    @property
    def symbols(self) -> int:
        """The number of places that the sliding band reaches."""
        return len(self.steps) + self.width

    @property
    def band_total(self) -> int:
        """The sum of the weights of the symbols, given a band."""
        return self.width * self.heavy + len(self.steps) * self.light

    @property
    def total(self) -> int:
        """The sum of the weights of every row."""
        return self.band_total * self.resolution

    @property
    def integers(self) -> dict[str, int | tuple[int, ...]]:
        """The integers that define the law."""
        return {"steps": self.steps, "width": self.width, "light": self.light, "heavy": self.heavy}

    @property
    def worst_ratio(self) -> Fraction:
        """Heavy over light: symbol 0 is in the first band only."""
        return Fraction(self.heavy, self.light)

    def weight(self, symbol: int, given: int) -> int:
        """Return ``total`` times P(symbol | given)."""
        band, numerator = self.between(given)
        near, far = (self.heavy if start <= symbol < start + self.width else self.light for start in (band, band + 1))
        return near * (self.resolution - numerator) + far * numerator

    def probability(self, symbol: int, given: int) -> Fraction:
        """Return P(symbol | given)."""
        return Fraction(self.weight(symbol, given), self.total)

    def between(self, given: int) -> tuple[int, int]:
        """Return the band at or before an input, and the numerator of the next one over `resolution`."""
        band = bisect_right(self.knots, given, hi=len(self.steps)) - 1
        return band, self.resolution // self.steps[band] * (given - self.knots[band])

    def perturb(self, value: int, coins: Coins) -> int:
        """Return a symbol for the input ``value``; two coins for every input."""
        band, numerator = self.between(value)
        band += coins.below(self.resolution) < numerator
        in_band = self.width * self.heavy
        drawn = coins.below(in_band + len(self.steps) * self.light)
        if drawn < in_band:
            return band + drawn // self.heavy
        other = (drawn - in_band) // self.light
        return other if other < band else other + self.width


# fmt: off
TABLES: Final = (
    Table(1198, 1, (), 1),
    Table(1717, 4, (200, 198), 0),
    Table(2248, 4, (200, 195), 0),
    Table(3371, 23, (130, 130, 200, 200, 200, 200, 198, 195, 195, 190, 190, 190), 190),
    Table(4853, 21, (124, 124, 124, 124, 124, 124, 200, 200, 200, 200, 198, 195, 195), 195),
    Table(6054, 20, (119, 119, 119, 119, 119, 120, 123, 129, 200, 200, 200, 198, 198, 195), 0),
    Table(7790, 13, (110, 110, 111, 114, 120, 124, 133, 200, 200, 198), 0),
    Table(9564, 18, (99, 99, 99, 100, 104, 110, 114, 119, 124, 129, 133, 138, 200, 200, 200), 0),
    Table(11458, 18, (112, 110, 110, 112, 117, 123, 126, 129, 132, 136, 140, 145, 200, 200, 198), 0),
    Table(13263, 12, (105, 104, 110, 117, 123, 129, 133, 138, 148, 200), 200),
    Table(15093, 17, (92, 92, 93, 100, 108, 114, 119, 123, 126, 130, 133, 140, 143, 148, 200), 200),
    Table(16824, 17, (102, 100, 104, 110, 116, 120, 124, 129, 132, 135, 138, 143, 145, 152, 200), 200),
    Table(19374, 11, (108, 108, 110, 124, 140, 150, 161, 168, 182, 187, 200), 0),
    Table(21812, 16, (119, 115, 114, 116, 129, 138, 145, 152, 160, 164, 170, 175, 182, 187, 190, 200), 0),
    Table(25447, 15, (102, 100, 100, 102, 105, 110, 123, 136, 148, 160, 165, 175, 184, 195, 200, 156), 153),
    Table(28964, 10, (104, 102, 102, 108, 119, 140, 160, 172, 189, 200, 165), 160),
    Table(31507, 10, (111, 108, 105, 111, 124, 145, 161, 174, 187, 200, 168), 161),
    Table(34943, 14, (99, 96, 99, 104, 108, 110, 114, 120, 136, 153, 165, 176, 189, 200, 164, 165, 168), 0),
    Table(38189, 14, (105, 102, 105, 111, 114, 115, 117, 124, 140, 155, 168, 180, 189, 200, 165, 165, 168), 0),
    Table(41830, 18, (99, 95, 95, 96, 102, 110, 115, 117, 120, 123, 129, 135, 143, 155, 168, 180, 190, 200, 165, 168,
        171, 172, 172), 0),
    Table(44405, 18, (102, 100, 99, 100, 108, 114, 119, 123, 123, 126, 130, 136, 144, 156, 168, 180, 190, 200, 165, 168,
        171, 172, 174), 0),
    Table(47184, 18, (108, 104, 102, 105, 111, 117, 123, 126, 126, 129, 132, 138, 145, 160, 170, 180, 190, 200, 165,
        168, 172, 172, 174), 0),
    Table(49417, 13, (102, 100, 99, 105, 115, 126, 132, 136, 144, 155, 168, 182, 200, 172, 176, 185, 185), 187),
    Table(52599, 17, (104, 102, 100, 100, 102, 110, 117, 126, 133, 138, 143, 150, 160, 170, 182, 184, 200, 171, 176,
        185, 189, 195, 195), 195),
    Table(56937, 17, (111, 108, 105, 105, 108, 115, 123, 130, 138, 143, 145, 152, 160, 170, 180, 185, 200, 171, 176,
        185, 189, 190, 190), 195),
    Table(60741, 12, (93, 92, 91, 95, 99, 110, 124, 136, 148, 164, 182, 195, 155, 161, 180, 190, 198, 200), 0),
    Table(65941, 12, (104, 100, 99, 100, 105, 117, 129, 143, 153, 165, 182, 198, 156, 165, 180, 190, 198, 200), 0),
    Table(73220, 16, (114, 108, 105, 104, 104, 108, 116, 124, 132, 140, 150, 160, 168, 176, 190, 198, 156, 160, 174,
        182, 190, 195, 198, 200), 0),
    Table(76432, 15, (86, 85, 85, 90, 95, 100, 105, 110, 115, 124, 133, 145, 160, 174, 186, 161, 168, 168, 170, 176,
        180, 187, 195, 200), 200),
    Table(80515, 15, (91, 88, 90, 95, 100, 105, 108, 112, 117, 126, 136, 148, 161, 175, 187, 164, 168, 168, 171, 176,
        180, 187, 195, 200), 200),
    Table(86371, 15, (96, 95, 95, 100, 105, 110, 114, 116, 123, 130, 140, 150, 164, 176, 189, 165, 168, 171, 172, 180,
        180, 187, 195, 200), 200),
    Table(92758, 11, (96, 93, 96, 105, 114, 120, 126, 136, 150, 168, 182, 165, 171, 176, 180, 187, 187, 198), 200),
    Table(97057, 11, (100, 96, 99, 108, 116, 123, 126, 138, 150, 168, 184, 165, 172, 180, 180, 187, 187, 198), 200),
    Table(102534, 14, (93, 90, 88, 90, 95, 102, 110, 119, 126, 135, 145, 160, 176, 186, 153, 161, 172, 180, 189, 190,
        198, 200, 190, 190, 195), 0),
    Table(108393, 14, (99, 95, 93, 93, 99, 108, 115, 123, 130, 138, 148, 161, 176, 186, 156, 164, 174, 182, 190, 195,
        198, 200, 195, 190, 195), 0),
    Table(116831, 14, (108, 102, 100, 100, 105, 114, 123, 130, 136, 143, 152, 164, 180, 186, 160, 168, 176, 185, 190,
        195, 198, 200, 198, 195, 198), 0),
    Table(126078, 14, (116, 108, 105, 105, 111, 120, 126, 136, 143, 148, 155, 165, 180, 187, 161, 170, 180, 187, 195,
        195, 198, 200, 200, 195, 200), 0),
    Table(133613, 10, (99, 95, 96, 102, 108, 116, 129, 145, 161, 182, 152, 156, 170, 180, 189, 198, 200, 195, 176), 0),
    Table(144498, 10, (105, 100, 102, 108, 112, 120, 133, 148, 164, 184, 154, 160, 171, 182, 189, 198, 200, 195, 176),
        0),
    Table(159609, 13, (102, 96, 102, 105, 108, 112, 115, 123, 129, 138, 150, 168, 182, 160, 156, 161, 170, 175, 184,
        189, 195, 198, 200, 195, 182), 176),
    Table(173104, 13, (111, 104, 108, 112, 114, 117, 120, 126, 133, 140, 153, 170, 185, 160, 160, 165, 171, 176, 184,
        189, 195, 198, 200, 195, 184), 176),
    Table(191899, 12, (93, 88, 87, 91, 96, 104, 111, 120, 129, 140, 154, 170, 143, 148, 160, 168, 176, 182, 186, 190,
        184, 185, 184, 182, 195, 200), 0),
    Table(213174, 12, (105, 99, 96, 99, 105, 112, 119, 129, 135, 145, 156, 171, 148, 153, 164, 172, 180, 184, 187, 190,
        186, 187, 185, 185, 195, 200), 0),
    Table(227342, 12, (112, 104, 102, 104, 110, 117, 124, 133, 138, 148, 160, 172, 150, 155, 165, 175, 180, 184, 187,
        190, 187, 189, 186, 187, 195, 200), 0),
    Table(237428, 12, (117, 108, 105, 108, 112, 120, 129, 136, 140, 150, 161, 174, 150, 156, 168, 176, 182, 185, 187,
        190, 187, 189, 187, 187, 195, 200), 0),
    Table(250777, 11, (88, 84, 87, 93, 96, 104, 111, 119, 130, 145, 161, 145, 148, 156, 165, 171, 180, 185, 185, 190,
        189, 184, 187, 198, 198, 195), 200),
    Table(267966, 11, (95, 90, 92, 99, 102, 110, 115, 123, 133, 148, 164, 148, 152, 160, 165, 172, 180, 184, 186, 195,
        189, 185, 189, 198, 200, 195), 200),
    Table(286560, 11, (102, 95, 96, 104, 108, 115, 120, 126, 136, 150, 165, 150, 154, 161, 168, 174, 180, 184, 187, 195,
        190, 186, 189, 198, 200, 198), 200),
    Table(303241, 11, (108, 99, 102, 108, 112, 120, 124, 129, 138, 152, 168, 152, 156, 164, 170, 174, 180, 184, 187,
        195, 190, 187, 189, 195, 200, 198), 200),
    Table(339948, 8, (108, 100, 105, 115, 123, 133, 143, 165, 150, 160, 168, 176, 182, 185, 185, 186, 195, 200, 200,
        195), 0),
    Table(393276, 8, (120, 110, 115, 126, 133, 140, 150, 168, 155, 164, 174, 180, 184, 187, 187, 187, 195, 200, 198,
        195), 0),
    Table(470477, 7, (91, 86, 91, 100, 111, 124, 145, 135, 140, 156, 165, 172, 171, 170, 184, 195, 195, 187, 189, 198),
        200),
    Table(601782, 9, (99, 92, 99, 102, 104, 111, 119, 130, 148, 136, 140, 145, 154, 164, 170, 174, 174, 168, 174, 186,
        190, 190, 189, 187, 186, 189, 195), 200),
    Table(706196, 9, (114, 105, 112, 115, 117, 123, 130, 140, 156, 145, 148, 153, 160, 168, 174, 176, 176, 171, 176,
        186, 190, 190, 190, 189, 187, 189, 195), 200),
    Table(859791, 6, (96, 95, 102, 110, 117, 140, 138, 140, 152, 161, 171, 168, 172, 186, 189, 189, 186, 195, 200, 198,
        195), 0),
    Table(1018012, 8, (114, 105, 111, 117, 123, 129, 135, 153, 143, 148, 155, 161, 168, 174, 176, 171, 176, 189, 189,
        190, 195, 190, 190, 200, 200, 198, 200, 198), 0),
    Table(1210449, 7, (85, 80, 84, 90, 99, 108, 126, 117, 120, 135, 143, 150, 153, 148, 156, 172, 172, 172, 174, 176,
        189, 195, 184, 185, 190, 195, 200, 195), 186),
    Table(1497735, 7, (108, 99, 102, 108, 115, 123, 138, 130, 133, 145, 153, 160, 161, 156, 165, 176, 176, 176, 176,
        180, 190, 195, 186, 187, 190, 195, 200, 195), 187),
    Table(1733579, 5, (108, 104, 114, 119, 135, 138, 140, 152, 161, 164, 165, 176, 182, 180, 186, 190, 195, 190, 195,
        200, 198), 198),
    Table(2088898, 6, (90, 85, 88, 96, 104, 120, 117, 119, 132, 140, 145, 143, 150, 164, 165, 164, 168, 176, 184, 180,
        180, 187, 195, 195, 187, 190, 200, 198, 190), 0),
    Table(2528803, 6, (108, 100, 104, 112, 119, 133, 130, 132, 143, 150, 154, 152, 156, 168, 171, 168, 172, 180, 186,
        182, 182, 189, 195, 195, 189, 190, 200, 198, 195), 0),
    Table(2980958, 4, (88, 95, 99, 115, 123, 124, 140, 145, 148, 160, 165, 165, 176, 180, 180, 190, 190, 190, 198, 198,
        195, 200), 0),
)
# fmt: on
"""The bands by rising epsilon, written by ``python -m tools.optimal_mean``."""
