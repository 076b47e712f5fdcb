"""Whether groups differ: a sentence for who decides, and a line of a table for each difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from estimator.render.conclusions import DIFFER, MAY_DIFFER, NO_DIFFERENCE, TOO_FEW, conclusion
from estimator.render.html.figures import label_of, short
from estimator.render.html.numbers import PERCENT
from estimator.render.html.verdicts import Verdict
from estimator.render.words import p_equals, p_words
from estimator.results.joint import Difference

CODES: Final = {DIFFER: "changed", MAY_DIFFER: "perhaps", NO_DIFFERENCE: "same", TOO_FEW: "unknown"}
"""By which a conclusion is coloured, as a `Verdict` on changes is."""


@dataclass(frozen=True, slots=True)
class DifferenceView:
    """A difference between two groups: in words, and the numbers behind them."""

    label: str
    first: str
    second: str
    difference: str
    interval: str
    p_value: str
    corrected: str
    conclusion: str
    code: str
    value: float | None
    low: float
    high: float


def difference_view(one: Difference) -> DifferenceView:
    """Return a line of the table; of what is not known there stands nothing."""
    estimate, (first, second), found = one.estimate, one.groups, conclusion(one)
    return DifferenceView(
        label=label_of(one.label),
        first=label_of(first),
        second=label_of(second),
        difference="" if estimate.unbiased is None else _points(one),
        interval=PERCENT.change_interval(estimate.low, estimate.high),
        p_value="" if one.p_value is None else p_words(one.p_value),
        corrected="" if one.corrected is None else p_words(one.corrected),
        conclusion=found,
        code=CODES[found],
        value=estimate.unbiased,
        low=estimate.low,
        high=estimate.high,
    )


def verdict_on(names: tuple[str, str], clearest: Sequence[Difference]) -> Verdict:
    """Return whether groups differ.

    Args:
        names: of the question that makes the groups, and of the one that is compared.
        clearest: all comparisons, the clearest one first.

    """
    found = conclusion(clearest[0])
    return Verdict(CODES[found], found, f"{_words(names, clearest, found)}{_doubt(clearest)}")


def _words(names: tuple[str, str], clearest: Sequence[Difference], found: str) -> str:
    one = clearest[0]
    if one.p_value is None or one.corrected is None:
        return "Too few reports to say whether groups differ."
    group, outcome = map(short, names)
    first, second = (f"{group} “{label_of(label)}”" for label in one.groups)
    more = f"{outcome} “{label_of(one.label)}” is more common in {first} than in {second}"
    said = f"{more}, by {_points(one)} ({PERCENT.change_interval(one.estimate.low, one.estimate.high)})"
    p_value = f"p {p_equals(one.corrected)}, corrected for every difference between groups here"
    if found == DIFFER:
        differing = sum(conclusion(each) == DIFFER for each in clearest)
        of = f" {differing} of {len(clearest)} comparisons differ." if len(clearest) > 1 else ""
        return f"Groups differ: {said}; so much is hardly chance ({p_value}).{of}"
    if found == MAY_DIFFER:
        doubt = "by itself that would pass for a difference, but among so many it may be chance"
        return f"Groups may differ: {said}; {doubt} (p {p_equals(one.p_value)}; {p_value})."
    return f"No difference between groups was seen; the clearest: {said} ({p_value})."


def _doubt(clearest: Sequence[Difference]) -> str:
    unknown = sum(one.p_value is None for one in clearest)
    is_told = 0 < unknown < len(clearest)
    return f" Of {unknown} of {len(clearest)} comparisons there are too few reports to say." if is_told else ""


def _points(one: Difference) -> str:
    estimate = one.estimate
    return PERCENT.changed(estimate.unbiased or 0.0, estimate.low, estimate.high).lstrip("+")
