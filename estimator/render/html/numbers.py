"""Numbers for people: with as many digits as the interval justifies."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

MOST_DECIMALS = 6

MINUS: Final = "\N{MINUS SIGN}"

DUST = 1e-12
"""An interval that is shorter than this, in shown units, is a single point except for rounding."""


@dataclass(frozen=True, slots=True)
class Unit:
    """The unit in which a figure is shown.

    Attributes:
        factor: by what the figure is multiplied.
        suffix: what follows the number.
        change: what follows a difference of two figures.

    """

    factor: float
    suffix: str
    change: str

    def decimals(self, low: float, high: float) -> int:
        """Return the number of decimals with which two digits of an interval's length are shown."""
        length = (high - low) * self.factor
        if not length > DUST * self.factor:
            return 1
        return min(MOST_DECIMALS, max(0, 1 - math.floor(math.log10(length))))

    def about(self, value: float, low: float, high: float) -> str:
        """Return an estimate for a sentence, with one digit fewer than its interval."""
        return f"{self.plain(value, max(0, self.decimals(low, high) - 1))}{self.suffix}"

    def value(self, value: float, low: float, high: float) -> str:
        """Return an estimate with as many digits as its interval."""
        return f"{self.plain(value, self.decimals(low, high))}{self.suffix}"

    def interval(self, low: float, high: float) -> str:
        """Return both ends of an interval."""
        decimals = self.decimals(low, high)
        return f"{self.plain(low, decimals)} to {self.plain(high, decimals)}{self.suffix}"

    def changed(self, difference: float, low: float, high: float) -> str:
        """Return a difference with its sign."""
        decimals = self.decimals(low, high)
        sign = "+" if difference > 0 else ""
        return f"{sign}{self.plain(difference, decimals)}{self.change}"

    def change_interval(self, low: float, high: float) -> str:
        """Return both ends of a difference's interval."""
        decimals = self.decimals(low, high)
        return f"{self.plain(low, decimals)} to {self.plain(high, decimals)}{self.change}"

    def plain(self, value: float, decimals: int) -> str:
        """Return a number with thousands separators and a true minus sign.

        It is never minus zero.
        """
        text = f"{value * self.factor:,.{decimals}f}"
        negative = text.startswith("-")
        return MINUS + text[1:] if negative and any(digit in text for digit in "123456789") else text.lstrip("-")


UNBROKEN: Final = "\N{NO-BREAK SPACE}"
"""Keeps a number and its unit on one line."""

PERCENT: Final = Unit(100.0, f"{UNBROKEN}%", f"{UNBROKEN}points")
PLAIN: Final = Unit(1.0, "", "")


def unit_of(name: str) -> Unit:
    """Return the unit of a question's numbers, by its name in the registry."""
    return Unit(1.0, f"{UNBROKEN}{name}", f"{UNBROKEN}{name}") if name else PLAIN


def count_words(number: int, thing: str) -> str:
    """Return a number with the singular or plural of what it counts."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
