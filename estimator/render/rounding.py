"""Figures as texts, with as many digits as their errors justify.

Each number is rounded once, from its value. A figure and its interval are rounded to the same
place: that of the second figure of the standard error (or of the first, for a sentence). A number
is rounded less if that place is coarse beside its interval, which ends where nothing else is
possible: 28 of 28 days are not about 30. What is possible is never rounded to what is not: an
interval up to 46 does not end at 50. Roundings are exact: of the shortest decimal that is the
float, half to even.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Final

MINUS: Final = "\N{MINUS SIGN}"

UNBROKEN: Final = "\N{NO-BREAK SPACE}"
"""Keeps a number and its unit on one line."""

Range = tuple[float, float]
"""The least and the greatest possible number."""

FIGURES, SENTENCE_FIGURES = 2, 1
"""How many figures of the error are shown in a table, and in a sentence."""

LENGTH_IN_ERRORS: Final = 4
"""About the length of a 95 % interval in standard errors. It stands in for a missing error."""

MOST_DECIMALS, MOST_DIGITS = 6, 12
"""A number with more decimals, or more digits before them, is written with a power of ten."""

POINT_FIGURES: Final = 4
"""The figures of a number whose interval is a point, so that no error says how many it deserves."""

DUST: Final = 1e-12
"""An error this small beside its figure comes from float arithmetic: the interval is a point."""

_EXACT: Final = Context(prec=700, rounding=ROUND_HALF_EVEN)
"""Wider than any float, so that nothing but the place decides a rounding."""


@dataclass(frozen=True, slots=True)
class Rounded:
    """A figure, its interval and its error as texts with the same place, without their unit.

    Attributes:
        estimate: the value, moved to the nearer end where it lies outside its interval; empty if
            unknown.
        unbiased: the value as it is, which may be impossible; empty if unknown.
        low: the lower end of the interval.
        high: the upper end.
        error: the standard error; empty if unknown.
        suffix: the unit behind a number, with a no-break space; empty if there is none.

    """

    estimate: str
    unbiased: str
    low: str
    high: str
    error: str
    suffix: str

    @property
    def interval(self) -> str:
        """Both ends of the interval, and the unit once: ``9 to 14 %``."""
        return f"{self.low} to {self.high}{self.suffix}"

    @property
    def about(self) -> str:
        """The figure for a sentence: ``about 12 % (9 to 14 %)``, or ``unknown (0 to 100 %)``."""
        return (
            f"about {self.estimate}{self.suffix} ({self.interval})" if self.estimate else f"unknown ({self.interval})"
        )


def digits_for(standard_error: float, figures: int = FIGURES) -> int:
    """Return the number of decimals for an error's figures: 1 for 1.3, 3 for 0.0996; -1 for 120.

    Below 0 the number is rounded to tens, hundreds and so on.

    Args:
        standard_error: above 0, in the unit that is shown.
        figures: how many figures of the error are shown.

    """
    rounded = Context(prec=figures, rounding=ROUND_HALF_EVEN).create_decimal(repr(standard_error))
    return figures - 1 - rounded.adjusted()


def percent(
    value: float | None, low: float, high: float, standard_error: float | None = None, figures: int = FIGURES
) -> Rounded:
    """Return a share as a percentage, to whole percents or finer.

    Args:
        value: the estimate, as a fraction of 1; it may lie outside 0 to 1. None if it is unknown.
        low: the lower end of its interval.
        high: the upper end.
        standard_error: of the estimate. Without one, the interval's length decides the digits.
        figures: how many figures of the error are shown.

    """
    return _rounded((value, low, high, standard_error), 2, figures, f"{UNBROKEN}%")


def number(  # noqa: PLR0913, PLR0917 a figure has these parts
    value: float | None,
    low: float,
    high: float,
    standard_error: float | None = None,
    unit: str = "",
    figures: int = FIGURES,
    possible: Range | None = None,
) -> Rounded:
    """Return a number with its unit.

    Args:
        value: the estimate. None if it is unknown.
        low: the lower end of its interval.
        high: the upper end.
        standard_error: of the estimate. Without one, the interval's length decides the digits.
        unit: the name of the unit; empty if there is none.
        figures: how many figures of the error are shown.
        possible: the least and the greatest possible number. None if they are unknown.

    """
    suffix = f"{UNBROKEN}{unit}" if unit else ""
    return _rounded((value, low, high, standard_error), 0, figures, suffix, possible)


def plain(value: float, digits: str, possible: Range | None) -> str:
    """Return a number in a format, or at the coarsest place that keeps it possible.

    The place replaces a format that makes the number impossible. It is never minus zero.

    Args:
        value: the number.
        digits: the format, such as `.5g`.
        possible: the least and the greatest possible number. None if they are unknown.

    """
    text = f"{value:z{digits}}"
    if possible is None or not possible[0] <= value <= possible[1] or possible[0] <= float(text) <= possible[1]:
        return text
    return f"{value:.{_possible_place(value, 0, possible)}f}"


def text_of(value: float, decimals: int, power: int = 0) -> str:
    """Return a number times a power of ten to a place, with thousands separators.

    Its minus sign is a true one. It is never minus zero.

    Args:
        value: a finite number.
        decimals: digits behind the point; below 0 the number is rounded to tens, hundreds and so
            on.
        power: the power of ten: 2 for a share in percent.

    """
    rounded = _to_place(value, decimals, power)
    sign = MINUS if rounded < 0 else ""
    size = abs(rounded)
    if size and (decimals > MOST_DECIMALS or size.adjusted() >= MOST_DIGITS):
        return f"{sign}{size:.{max(0, size.adjusted() + decimals)}e}".replace("e-", f"e{MINUS}")
    return f"{sign}{size:,.{min(MOST_DECIMALS, max(0, decimals))}f}"


def _rounded(
    figure: tuple[float | None, float, float, float | None],
    power: int,
    figures: int,
    suffix: str,
    possible: Range | None = None,
) -> Rounded:
    value, low, high, error = figure
    decimals = _decimals(figure, figures) - power
    decimals = max(0, decimals) if power else _decimals_within(figure, decimals)

    def shown(part: float | None) -> str:
        if part is None:
            return ""
        return text_of(part, decimals if possible is None else _possible_place(part, decimals, possible), power)

    within = None if value is None else min(high, max(low, value))
    error_text = "" if error is None else text_of(error, decimals, power)
    return Rounded(shown(within), shown(value), shown(low), shown(high), error_text, suffix)


def _possible_place(value: float, decimals: int, possible: Range) -> int:
    """Return the coarsest place from a given one on that leaves a possible number possible."""
    least, greatest = possible
    if least <= value <= greatest:
        while not least <= float(_to_place(value, decimals)) <= greatest:
            decimals += 1
    return decimals


def _decimals(figure: tuple[float | None, float, float, float | None], figures: int) -> int:
    """Return the place of the last shown figure of the error, or else of the interval's length."""
    value, low, high, error = figure
    scale = error or (high - low) / LENGTH_IN_ERRORS
    if scale > DUST * max(abs(low), abs(high)):
        return digits_for(scale, figures)
    return digits_for(abs(value or low) or 1.0, POINT_FIGURES)


def _decimals_within(figure: tuple[float | None, float, float, float | None], decimals: int) -> int:
    """Return the coarsest place from a given one on that fits a number's interval.

    It keeps the number within it.
    """
    value, low, high, _ = figure
    length, possible = high - low, min(high, max(low, value or 0.0))
    finest = digits_for(abs(possible) or 1.0, POINT_FIGURES)
    if length > DUST * max(abs(low), abs(high)):
        decimals = max(decimals, digits_for(length / LENGTH_IN_ERRORS, SENTENCE_FIGURES))
    while decimals < finest and not low <= float(_to_place(possible, decimals)) <= high:
        decimals += 1
    return decimals


def _to_place(value: float, decimals: int, power: int = 0) -> Decimal:
    scaled = Decimal(repr(float(value))).scaleb(power, _EXACT)
    return scaled.quantize(Decimal(1).scaleb(-decimals), context=_EXACT)
