"""The base class of kinds whose shape is ``grid``: numbers that are rounded to grid points.

The rounding is random.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import TYPE_CHECKING, ClassVar, Final

from client_sdk.protocol.channel import COIN_SCALE, Coins
from client_sdk.protocol.errors import DomainError
from client_sdk.protocol.kinds.kind import Fill, Kind, Label, Law, NamedAnswer
from client_sdk.protocol.sentences import Sentences
from client_sdk.protocol.toml_table import TomlTable

if TYPE_CHECKING:
    from client_sdk.protocol.channel import Channel

MAX_ANSWER_EXPONENT = 400
"""The maximum decimal exponent of an answer that is converted exactly; every float has a smaller
exponent. Converting a Decimal with a far larger exponent would exhaust the memory."""

Ratio = tuple[int, int]
"""A numerator and a positive denominator. Two integers are processed faster than a `Fraction`."""

BEYOND: Final = 10 ** (MAX_ANSWER_EXPONENT + 1)
"""A number outside every range. It replaces infinity and exponents above `MAX_ANSWER_EXPONENT`."""

STEPS: Final = 1000
"""Printed numbers have enough decimals to distinguish this many equal parts of their range."""


class Grid(Kind):
    """A number in a range. The number is rounded at random to one of the two nearest grid points.

    The grid points are evenly spaced, one for each input of the channel. The nearer point is more
    likely. The expected point equals the number, up to a bias of at most one part in 2**64.

    Attributes:
        low: the exact minimum.
        high: the exact maximum, which is above ``low``.
        statistic: ``mean``, ``distribution`` or ``quantiles``.
    """

    __slots__ = ()

    is_named: ClassVar[bool] = False
    shapes: ClassVar[tuple[str, ...]] = ("grid",)

    low: Fraction
    high: Fraction
    statistic: str

    @property
    def is_whole(self) -> bool:
        """Whether the numbers are integers."""
        return False

    @property
    def takes_fill_value(self) -> bool:
        """Whether ``fill_in = true`` requires ``fill_value``."""
        return self.statistic == "mean"

    def points(self, most: int) -> int:
        """Return the number of grid points to which numbers are rounded, at most ``most``.

        If the share of each number is estimated, there is at most one point per possible number.
        """
        return most if self.size is None else min(most, self.size)

    @abstractmethod
    def part(self, answer: object) -> Ratio:
        """Return an answer's position in the range, from 0 to 1."""

    def position(self, answer: object) -> Fraction:
        """Return `part` as a `Fraction`.

        Raises the same errors as `part`.
        """
        return Fraction(*self.part(answer))

    def within(self, answer: object) -> Fraction:
        """Return an answer as an exact number in the range.

        Raises the same errors as `part`.
        """
        return self.low + (self.high - self.low) * self.position(answer)

    def encode(self, answer: object, inputs: int, coins: Coins) -> int:
        """Return the grid point to which an answer is rounded. Always draw exactly one coin."""
        point, numerator = self._rounded(answer, inputs)
        return point + coins.bernoulli(numerator)

    def law(self, answer: object, inputs: int) -> Law:
        """Return the probabilities of the one or two possible points for an answer."""
        point, numerator = self._rounded(answer, inputs)
        chances = {point: 1 - Fraction(numerator, COIN_SCALE), point + 1: Fraction(numerator, COIN_SCALE)}
        return {input_: chance for input_, chance in chances.items() if chance}

    def _rounded(self, answer: object, inputs: int) -> tuple[int, int]:
        """Return the point at or below an answer, and the next point's probability times 2**64."""
        below, whole = self.part(answer)
        scaled = below * (inputs - 1) * COIN_SCALE // whole
        point = min(scaled // COIN_SCALE, inputs - 2)
        return point, scaled - point * COIN_SCALE

    def fill(self, table: TomlTable, value: Fraction | None) -> Fill | None:
        """Return ``fill_value``, the answer to report if nothing was recorded in a window.

        Add a mistake to the table if ``fill_value`` is invalid, or if this kind does not allow it.
        """
        if not self.takes_fill_value:
            return Kind.fill(self, table, value)
        if value is None or not self.low <= value <= self.high or (self.is_whole and value.denominator > 1):
            table.mistake(
                "fill_value", f"must be {self.expected}; it is reported for a window in which nothing was recorded"
            )
            return None
        return Fill(int(value) if self.is_whole else value)

    def answer_at(self, number: Fraction) -> object:
        """Return a number in the range as an answer: an integer if all answers are integers."""
        return int(number) if self.is_whole else number

    def named_at(self, number: Fraction) -> NamedAnswer:
        """Return a number in the range as a `NamedAnswer`."""
        return NamedAnswer(self.answer_at(number), f"{float(number):.8g}")

    def extremes(self, *, midpoint: bool = False) -> Sequence[NamedAnswer]:
        """Return both ends of the range and, if ``midpoint`` is true, the middle of the range."""
        middle = [(self.low + self.high) / 2] if midpoint else []
        return tuple(self.named_at(number) for number in (self.low, self.high, *middle))

    def reported(self, channel: Channel, symbol: int, labels: Sequence[Label], say: Sentences) -> str:  # noqa: ARG002
        """Return the most likely range of numbers for a symbol, in words."""
        inputs = channel.likeliest(symbol)
        low, high = (self.said_at(end, channel.inputs, say) for end in (inputs[0], inputs[-1]))
        return low if low == high else say("reported.range", low=low, high=high)

    def said_at(self, point: int, points: int, say: Sentences) -> str:
        """Return, formatted for users, the number that a grid point represents.

        The grid has ``points`` points, and ``point`` counts from 0.
        """
        decimals = 0
        while (self.high - self.low) * 10**decimals < STEPS:
            decimals += 1
        return say.number(self.number_at(point, points), decimals)

    def number_at(self, point: int, points: int) -> Fraction:
        """Return the exact number that a grid point represents.

        The grid has ``points`` points, and ``point`` counts from 0.
        """
        return self.low + (self.high - self.low) * Fraction(point, points - 1)


def ratio_of(answer: object) -> Ratio:
    """Return a number as a ratio, not necessarily in lowest terms.

    The number must be an instance of `numbers.Real` or `Decimal`.

    Raises:
        DomainError: if the answer is not a number; truth values and NaN are not numbers.
    """
    if isinstance(answer, bool):
        raise DomainError
    if isinstance(answer, Integral):
        return int(answer), 1
    if isinstance(answer, Real) and not isinstance(answer, Rational):
        answer = Decimal(float.__repr__(_as_float(answer)))  # by its decimal digits, so that 0.1 is within high = 0.1
    if isinstance(answer, Decimal):
        return _of_decimal(answer)
    if isinstance(answer, Rational):
        return int(answer.numerator), int(answer.denominator)
    raise DomainError


def exact(answer: object) -> Fraction:
    """Return a number as a fraction.

    Raises the same errors as `ratio_of`.
    """
    return Fraction(*ratio_of(answer))


def _of_decimal(answer: Decimal) -> Ratio:
    """Return a Decimal as a ratio: 0 for tiny numbers, `BEYOND` for huge numbers."""
    if answer.is_nan():
        raise DomainError
    if not answer or (answer.is_finite() and answer.adjusted() < -MAX_ANSWER_EXPONENT):
        return 0, 1
    if answer.is_infinite() or answer.adjusted() > MAX_ANSWER_EXPONENT:
        return (-BEYOND if answer < 0 else BEYOND), 1
    return answer.as_integer_ratio()


def _as_float(answer: Real) -> float:
    """Return a real number as a float. The result is exact for types such as `numpy.float32`."""
    try:
        return float(answer)
    except (ArithmeticError, TypeError, ValueError):
        raise DomainError from None
