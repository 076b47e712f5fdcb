"""Figures for people in the unit of their question, each number rounded once from its value."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING
from typing import Final, NamedTuple

from estimator.render.rounding import FIGURES, UNBROKEN, Range, Rounded, number, percent, size_of, text_of, within
from estimator.results.estimate import Estimate
from estimator.results.group import FigureGroup


@dataclass(frozen=True, slots=True)
class Unit:
    """The unit in which a figure is shown.

    Attributes:
        power: the power of ten by which the figure is multiplied: 2 for shares, otherwise 0.
        name: what follows the number; empty if nothing does.
        difference: what follows a difference of two figures.
        possible: the least and the greatest possible number. None if they are unknown.

    """

    power: int
    name: str
    difference: str
    possible: Range | None = None

    @property
    def suffix(self) -> str:
        """What follows the number, with a blank that does not break."""
        return _behind(self.name)

    @property
    def of_difference(self) -> str:
        """What follows a difference, with a blank that does not break."""
        return _behind(self.difference)

    def rounded(self, figure: Estimate, figures: int = FIGURES) -> Rounded:
        """Return a figure and its interval as texts, with ``figures`` figures of its error."""
        parts = (figure.estimate, figure.low, figure.high, figure.standard_error)
        return percent(*parts, figures) if self.power else number(*parts, self.name, figures, self.possible)

    def likeliest(self, estimate: Estimate) -> str:
        """Return the maximum-likelihood value, with the estimate's digits; empty without one."""
        if estimate.maximum_likelihood is None:
            return ""
        return self.rounded(estimate).beside(estimate.maximum_likelihood)

    def changed(self, change: Estimate) -> str:
        """Return a difference with its sign."""
        text = self.rounded(change).estimate
        is_rise = (change.estimate or 0.0) > 0 and any(digit in text for digit in "123456789")
        return f"{'+' if is_rise else ''}{text}{self.of_difference}"

    def change_interval(self, change: Estimate) -> str:
        """Return both ends of a difference's interval."""
        rounded = self.rounded(change)
        return f"{rounded.low} to {rounded.high}{self.of_difference}"

    def size(self, difference: float, figures: int = FIGURES, direction: str = ROUND_CEILING) -> str:
        """Return a difference without error and sign, with ``figures`` figures of its own."""
        return f"{size_of(difference, figures, self.power, direction)}{self.of_difference}"


def _behind(name: str) -> str:
    return f"{UNBROKEN}{name}" if name else ""


PERCENT: Final = Unit(2, "%", "points")
NO_UNIT: Final = Unit(0, "", "")


def unit_of(group: FigureGroup) -> Unit:
    """Return the unit in which the figures of a statistic are shown, with their range."""
    return PERCENT if group.about.is_share else Unit(0, group.unit, group.unit, group.ends)


class ShownFigure(NamedTuple):
    """What every line of text shows of a figure.

    Attributes:
        label: its name; a pair is two texts, which can be cut apart.
        figure: the figure.
        rounded: its texts.
        likeliest: the maximum-likelihood value as a text; empty without one.
        ends: the ends of its bar. None where it has no bar.

    """

    label: str | tuple[str, ...]
    figure: Estimate
    rounded: Rounded
    likeliest: str
    ends: Range | None

    @property
    def filled(self) -> float | None:
        """The part of the bar that is filled, from 0 to 1. None if there is nothing to draw."""
        value = within(self.figure.estimate, self.figure.low, self.figure.high)
        if self.ends is None or value is None:
            return None
        return (value - self.ends[0]) / (self.ends[1] - self.ends[0])


def shown(label: str | tuple[str, ...], figure: Estimate, unit: Unit, ends: Range | None = None) -> ShownFigure:
    """Return a figure as lines of text show it."""
    return ShownFigure(label, figure, unit.rounded(figure), unit.likeliest(figure), ends)


def whole_percent(share: float) -> str:
    """Return a share without an error, in whole percents."""
    return f"{text_of(share, 0, PERCENT.power)}{PERCENT.suffix}"


def exact_percent(share: float) -> str:
    """Return a share that is known, such as one that was asked for, in percents."""
    return f"{100 * share:.3g}{PERCENT.suffix}"
