"""The filters of the templates: how the page writes figures, p-values and labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from markupsafe import Markup

from estimator.render.rounding import PERCENT, Unit, within
from estimator.render.words import p_words, short_loss
from estimator.results.estimate import Estimate
from estimator.words import label_of, short

NONE: Final = "\N{EN DASH}"
"""Stands in a cell of a table for a figure that is not computed."""

LONGEST_PURPOSE = 400
"""How many characters of a purpose are shown, so that there is room for the answer."""


def estimate_text(estimate: Estimate, unit: Unit = PERCENT, unknown: str = "no estimate") -> str:
    """Return an estimate in a unit, or ``unknown`` where there is none."""
    return unknown if estimate.estimate is None else f"{unit.rounded(estimate).estimate}{unit.suffix}"


def shown_value(figure: Estimate) -> float:
    """Return the number that the text of a known estimate is of."""
    return within(figure.estimate, figure.low, figure.high) or 0.0


def interval_text(estimate: Estimate, unit: Unit = PERCENT) -> str:
    """Return the interval of an estimate in a unit."""
    return unit.rounded(estimate).interval


def likeliest_text(estimate: Estimate, unit: Unit = PERCENT) -> str:
    """Return the maximum-likelihood value in a unit; a dash where it is not computed."""
    return NONE if estimate.maximum_likelihood is None else f"{unit.likeliest(estimate)}{unit.suffix}"


def change_text(change: Estimate, unit: Unit = PERCENT) -> str:
    """Return a change in a unit, with its sign."""
    return unit.changed(change)


def change_interval_text(change: Estimate, unit: Unit = PERCENT) -> str:
    """Return the interval of a change in a unit."""
    return unit.change_interval(change)


def difference_text(difference: Estimate, unit: Unit = PERCENT) -> str:
    """Return a difference of groups without a plus sign; empty where unknown."""
    return "" if difference.estimate is None else change_text(difference, unit).lstrip("+")


def p_text(p_value: float | None, unknown: str = "") -> str:
    """Return a p-value, or ``unknown`` where there is none."""
    return unknown if p_value is None else p_words(p_value)


def purpose_text(purpose: str) -> str:
    """Return a purpose that leaves room for the answer."""
    return short(purpose, LONGEST_PURPOSE)


def breakable(name: str) -> Markup:
    """Return a question's name, which a narrow page may break after an underscore."""
    return Markup("_<wbr>").join(name.split("_"))


def windows_text(windows: Sequence[str]) -> str:
    """Return the name of one window, or the first and the last of several with their number."""
    return windows[0] if len(windows) == 1 else f"{min(windows)} to {max(windows)}, {len(windows):,} windows"


FILTERS: Final[dict[str, Callable[..., str | float]]] = {
    "breakable": breakable,
    "change": change_text,
    "change_interval": change_interval_text,
    "difference": difference_text,
    "estimate": estimate_text,
    "interval": interval_text,
    "label": label_of,
    "likeliest": likeliest_text,
    "loss": short_loss,
    "p": p_text,
    "purpose": purpose_text,
    "short": short,
    "value": shown_value,
    "windows": windows_text,
}
