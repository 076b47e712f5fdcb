"""The rounding of a figure and its interval, in every format that people read.

* The interval is rounded outward, so the shown interval contains the exact interval.
* The shown estimate lies in its interval. An unbiased estimate outside the interval is moved to the
  nearer end. JSON and CSV contain the original estimate.
* Rounding never gives an impossible number. For example, if 46 is the largest possible answer, an
  interval that ends at 45.3 is not rounded outward to 50.

A figure and its interval are rounded to the same decimal place. In a table, the second significant
digit of the standard error determines the place. In a sentence, the first significant digit
determines the place. For example, with the standard error 0.0214, the figure 0.53478 becomes 0.535
in a table and 0.53 in a sentence. A finer decimal place is used if rounding would move the figure
out of the interval. For example, 28 of 28 days are not shown as about 30.

Each number is rounded only once, from the shortest decimal representation of the float. The
arithmetic is exact. Estimates are rounded half to even.

Shares are shown in percent, and other figures in the metric's unit. The unit follows the estimate
or, if there is no estimate, the interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import Final, NamedTuple

from estimator.results.estimate import Ends, Estimate, Figures
from estimator.results.group import FigureGroup
from estimator.results.report import SHOWN_VALUES
from estimator.words import shown_of

MINUS: Final = "\N{MINUS SIGN}"

UNBROKEN: Final = "\N{NO-BREAK SPACE}"
"""The space between a number and its unit. Lines never break at this space."""

_Figure = tuple[float | None, float, float, float | None]
"""An estimate, the ends of its interval, and its standard error."""

PERCENT_POWER: Final = 2
"""The power of ten that converts a share to percent."""

FIGURES, SENTENCE_FIGURES = 2, 1
"""The number of significant digits of an error in a table, and in a sentence."""

LENGTH_IN_ERRORS: Final = 4
"""The approximate length of a 95% interval, in standard errors.

A missing standard error is replaced by the interval's length divided by this number.
"""

MOST_DECIMALS, MOST_DIGITS = 6, 12
"""The maximum number of decimals, and of digits before the point. Numbers with more decimals or
digits are written with a power of ten.
"""

MOST_LOGARITHM: Final = 500.0
"""The largest logarithm that is converted to an increase in percent. The exponential of larger
logarithms could overflow.
"""

POINT_FIGURES: Final = 4
"""The number of significant digits of a figure with an interval of length 0."""

DUST: Final = 1e-12
"""An interval counts as a single point if its length is at most this fraction of its larger end.

Such small lengths are rounding errors of float arithmetic.
"""

_EXACT: Final = Context(prec=700, rounding=ROUND_HALF_EVEN)
"""A decimal context with more digits than any float has, so it never rounds."""


@dataclass(frozen=True, slots=True)
class Rounded:
    """A figure, its interval and its error as strings with equally many decimals and no unit.

    Attributes:
        estimate: the estimate, moved to the nearer end if it lies outside its interval. Empty if
            unknown.
        decimals: the number of decimals in all strings.
        power: the power of ten by which all numbers are multiplied.
        possible: the smallest and the largest possible number. None if unknown.

    """

    estimate: str
    low: str
    high: str
    error: str
    suffix: str
    decimals: int
    power: int
    possible: Ends | None

    @property
    def interval(self) -> str:
        """Both ends of the interval, followed by the unit, such as ``9 to 14%``."""
        return f"{self.low} to {self.high}{self.suffix}"

    def beside(self, value: float) -> str:
        """Return another number, such as the true value, rounded to the figure's decimal place."""
        return _possible_text(value, self.decimals, self.power, self.possible)

    @property
    def about(self) -> str:
        """The figure for a sentence: ``about 12% (9 to 14%)``, or ``unknown (0 to 100%)``."""
        return (
            f"about {self.estimate}{self.suffix} ({self.interval})" if self.estimate else f"unknown ({self.interval})"
        )


def digits_for(standard_error: float, figures: int = FIGURES) -> int:
    """Return the number of decimals for a figure with a given standard error.

    For two digits of the error, the result is 1 for an error of 1.3, 2 for 0.0996, and -1 for 120.
    A negative result means rounding to tens, hundreds and so on.
    """
    rounded = Context(prec=figures, rounding=ROUND_HALF_EVEN).create_decimal(repr(standard_error))
    return figures - 1 - rounded.adjusted()


def percent(  # noqa: PLR0913, PLR0917 a figure has these parts
    value: float | None,
    low: float,
    high: float,
    standard_error: float | None = None,
    figures: int = FIGURES,
    unit: str = "%",
) -> Rounded:
    """Return a share and its interval in percent, rounded to a whole percent or finer.

    The share is a fraction of 1. An estimate may lie outside 0 to 1, or be None. ``figures`` is the
    number of significant digits of the error. If ``standard_error`` is missing, the interval's
    length determines the digits.
    """
    figure = (value, low, high, standard_error)
    return _rounded(figure, PERCENT_POWER, max(0, _decimals(figure, figures) - PERCENT_POWER), _behind(unit))


def number(  # noqa: PLR0913, PLR0917 a figure has these parts
    value: float | None,
    low: float,
    high: float,
    standard_error: float | None = None,
    unit: str = "",
    figures: int = FIGURES,
    possible: Ends | None = None,
    decimals: int | None = None,
) -> Rounded:
    """Return a number with its interval and its unit.

    Args:
        value: the estimate. None if unknown.
        low: the lower end of the interval.
        high: the upper end of the interval.
        standard_error: the standard error. If missing, the interval's length determines the digits.
        unit: the name of the unit. Empty if there is none.
        figures: the number of significant digits of the error.
        possible: the smallest and the largest possible number. None if unknown.
        decimals: the number of digits after the point. None if the error determines this number.

    """
    figure = (value, low, high, standard_error)
    place = _decimals_within(figure, _decimals(figure, figures)) if decimals is None else decimals
    return _rounded(figure, 0, place, _behind(unit), possible)


def size_of(size: float, figures: int = FIGURES, power: int = 0, direction: str = ROUND_CEILING) -> str:
    """Format a size that has no standard error, such as the half-width of an interval.

    The size is multiplied by 10**power. For a share in percent, ``power`` is 2. ``figures`` is the
    number of significant digits. ``direction`` is upward by default, because the size is an upper
    bound.
    """
    places = digits_for(size, figures) - power if size > 0 else 0
    return text_of(size, max(0, places) if power else places, power, direction)


def relative_size(logarithm: float) -> str:
    """Convert a size on a logarithmic scale to an increase in percent, such as ln 1.5 to 50%."""
    return f"{size_of(math.expm1(min(logarithm, MOST_LOGARITHM)), power=2)}%"


def within(estimate: float | None, low: float, high: float) -> float | None:
    """Return an estimate, moved to the nearer end if it is outside its interval."""
    return None if estimate is None else min(high, max(low, estimate))


def steps_of(estimate: float, low: float, high: float, exponent: int) -> tuple[int, int, int]:
    """Return an estimate and both ends of its interval as multiples of 10**exponent, for charts."""
    parts = ((min(high, max(low, estimate)), ROUND_HALF_EVEN), (low, ROUND_FLOOR), (high, ROUND_CEILING))
    at, bottom, top = (int(_to_place(part, 0, -exponent, direction)) for part, direction in parts)
    return at, bottom, top


def text_of(value: float, decimals: int, power: int = 0, direction: str = ROUND_HALF_EVEN) -> str:
    """Multiply a number by 10**power, round it, and format it with thousands separators.

    A negative number of decimals means rounding to tens, hundreds and so on. ``direction`` is a
    rounding mode of `decimal`. A negative number gets a minus sign (U+2212) instead of a hyphen.
    Zero gets no sign.
    """
    rounded = _to_place(value, decimals, power, direction)
    sign = MINUS if rounded < 0 else ""
    size = abs(rounded)
    if size and (decimals > MOST_DECIMALS or size.adjusted() >= MOST_DIGITS):
        return f"{sign}{size:.{max(0, size.adjusted() + decimals)}e}".replace("e-", f"e{MINUS}")
    return f"{sign}{size:,.{min(MOST_DECIMALS, max(0, decimals))}f}"


def _rounded(figure: _Figure, power: int, decimals: int, suffix: str, possible: Ends | None = None) -> Rounded:
    value, low, high, error = figure
    shown = within(value, low, high)
    return Rounded(
        estimate="" if shown is None else _possible_text(shown, decimals, power, possible),
        low=_possible_text(low, decimals, power, possible, ROUND_FLOOR),
        high=_possible_text(high, decimals, power, possible, ROUND_CEILING),
        error="" if error is None else text_of(error, decimals, power),
        suffix=suffix,
        decimals=decimals,
        power=power,
        possible=possible,
    )


def _possible_text(
    value: float, decimals: int, power: int, possible: Ends | None, direction: str = ROUND_HALF_EVEN
) -> str:
    place = decimals if possible is None else _possible_place(value, decimals, possible, direction)
    return text_of(value, place, power, direction)


def _possible_place(value: float, decimals: int, possible: Ends, direction: str) -> int:
    """Return the number of decimals at which rounding does not give an impossible number."""
    least, greatest = possible
    if least <= value <= greatest:
        while not least <= float(_to_place(value, decimals, 0, direction)) <= greatest:
            decimals += 1
    return decimals


def _decimals(figure: _Figure, figures: int) -> int:
    value, low, high, error = figure
    scale = error or (high - low) / LENGTH_IN_ERRORS
    if scale > DUST * max(abs(low), abs(high)):
        return digits_for(scale, figures)
    return digits_for(abs(value or low) or 1.0, POINT_FIGURES)


def _decimals_within(figure: _Figure, decimals: int) -> int:
    """Return the number of decimals at which rounding keeps a figure in its interval."""
    value, low, high, _ = figure
    length, possible = high - low, min(high, max(low, value or 0.0))
    finest = digits_for(abs(possible) or 1.0, POINT_FIGURES)
    if length > DUST * max(abs(low), abs(high)):
        decimals = max(decimals, digits_for(length / LENGTH_IN_ERRORS, SENTENCE_FIGURES))
    while value is not None and decimals < finest and not low <= float(_to_place(possible, decimals)) <= high:
        decimals += 1
    return decimals


def _to_place(value: float, decimals: int, power: int = 0, direction: str = ROUND_HALF_EVEN) -> Decimal:
    scaled = Decimal(repr(float(value))).scaleb(power, _EXACT)
    return scaled.quantize(Decimal(1).scaleb(-decimals), rounding=direction, context=_EXACT)


@dataclass(frozen=True, slots=True)
class Unit:
    """The unit in which a figure is shown.

    Attributes:
        power: the power of ten by which the figure is multiplied: 2 for shares, otherwise 0.
        name: the unit after a number. Empty if there is none.
        difference: the unit after a difference of two figures. The unit after a difference of two
            percentages is ``points``.
        possible: the smallest and the largest possible number. None if unknown.

    """

    power: int
    name: str
    difference: str
    possible: Ends | None = None

    @property
    def suffix(self) -> str:
        """The text that follows a number, such as ``%`` or a unit with a leading space."""
        return _behind(self.name)

    @property
    def for_differences(self) -> Unit:
        """The unit of the differences of two figures, which may lie outside the possible range."""
        return Unit(self.power, self.difference, self.difference)

    @property
    def of_difference(self) -> str:
        """The text that follows a difference of two numbers, such as `` points``."""
        return self.for_differences.suffix

    def rounded(self, figure: Estimate, figures: int = FIGURES) -> Rounded:
        """Return a figure and its interval, rounded so that the error has ``figures`` digits."""
        parts = (figure.estimate, figure.low, figure.high, figure.standard_error)
        if self.power:
            return percent(*parts, figures, self.name)
        return number(*parts, self.name, figures, self.possible)

    def likeliest(self, estimate: Estimate) -> str:
        """Return the maximum-likelihood value with as many decimals as the estimate.

        Returns "" if the value is unknown.
        """
        if estimate.maximum_likelihood is None:
            return ""
        return self.rounded(estimate).beside(estimate.maximum_likelihood)

    def changed(self, change: Estimate) -> str:
        """Return a difference with its sign."""
        text = self.rounded(change).estimate
        is_rise = (change.estimate or 0.0) > 0 and any(digit in text for digit in "123456789")
        return f"{'+' if is_rise else ''}{text}{self.of_difference}"

    def change_interval(self, change: Estimate) -> str:
        """Return both ends of a difference's interval, as text with the unit."""
        rounded = self.rounded(change)
        return f"{rounded.low} to {rounded.high}{self.of_difference}"

    def size(self, difference: float, figures: int = FIGURES, direction: str = ROUND_CEILING) -> str:
        """Return the size of a difference, without a sign, with ``figures`` significant digits."""
        return f"{size_of(difference, figures, self.power, direction)}{self.of_difference}"


def _behind(name: str) -> str:
    return f"{UNBROKEN}{name}" if name not in {"", "%"} else name


PERCENT: Final = Unit(2, "%", "points")
NO_UNIT: Final = Unit(0, "", "")


def unit_of(group: FigureGroup) -> Unit:
    """Return the unit, and the range of possible numbers, for the figures of a statistic."""
    return PERCENT if group.about.is_share else Unit(0, group.unit, group.unit, group.ends)


def shown_figures(group: FigureGroup, positions: Sequence[int]) -> Figures:
    """Return a statistic's figures for the values at these positions.

    If the statistic does not have one figure per value, return the first `SHOWN_VALUES` figures, or
    all figures if this number would leave out only one.
    """
    return group.figures.at(positions if group.about.by_value else range(shown_of(len(group.figures), SHOWN_VALUES)))


def bar_ends(group: FigureGroup) -> Ends | None:
    """Return the ends of the scale of bars, or None if the figures have no bars.

    The ends are the smallest and the largest possible number. If the possible numbers are unknown,
    and there is one figure per value or coordinate, the scale is symmetric around 0.
    """
    if group.ends is not None or not group.about.by_value:
        return group.ends
    most = float(max(abs(group.figures.lows).max(), abs(group.figures.highs).max()))
    return (-most, most) if most else None


class ShownFigure(NamedTuple):
    """A figure with everything that a line of text shows.

    Attributes:
        label: the label of the figure. For a pair, two strings that can be shortened separately.
        ends: the ends of the bar's scale. None if the figure has no bar.

    """

    label: str | tuple[str, ...]
    figure: Estimate
    rounded: Rounded
    likeliest: str
    ends: Ends | None

    @property
    def filled(self) -> float | None:
        """The filled fraction of the bar, from 0 to 1. None if there is nothing to draw."""
        value = within(self.figure.estimate, self.figure.low, self.figure.high)
        if self.ends is None or value is None:
            return None
        return (value - self.ends[0]) / (self.ends[1] - self.ends[0])


def shown(label: str | tuple[str, ...], figure: Estimate, unit: Unit, ends: Ends | None = None) -> ShownFigure:
    """Return a figure with everything that a line of text shows."""
    return ShownFigure(label, figure, unit.rounded(figure), unit.likeliest(figure), ends)


def whole_percent(share: float) -> str:
    """Return a share in percent, rounded to a whole number."""
    return f"{text_of(share, 0, PERCENT.power)}{PERCENT.suffix}"


def exact_percent(share: float) -> str:
    """Return an exact share, such as one that a user entered, in percent."""
    return f"{100 * share:.3g}{PERCENT.suffix}"
