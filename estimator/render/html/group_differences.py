"""Whether groups differ, in a sentence for people who decide."""

from __future__ import annotations

from collections.abc import Sequence

from estimator.render.html.filters import change_interval_text, change_text
from estimator.render.html.verdicts import CODES, WordedConclusion
from estimator.render.units import PERCENT, Unit
from estimator.render.words import p_equals
from estimator.report.conclusions import Conclusion, conclusion
from estimator.results.estimate import Figure
from estimator.words import label_of, short


def verdict_on(names: tuple[str, str], clearest: Sequence[Figure], unit: Unit) -> WordedConclusion:
    """Return whether groups differ.

    Args:
        names: of the question that makes the groups, and of the question that is compared.
        clearest: all comparisons, the clearest first.
        unit: of the differences: that of a number whose means are compared, or percent.

    """
    concluded = conclusion(clearest[0])
    return WordedConclusion(
        CODES[concluded], concluded, f"{_words(names, clearest, concluded, unit)}{_doubt(clearest)}"
    )


def compared(difference: Figure, names: tuple[str, str]) -> tuple[str, str, str]:
    """Return the answer whose shares are compared, or the number, and the two groups."""
    assert isinstance(difference.value, tuple)  # noqa: S101 a difference names its groups
    *of, first, second = map(label_of, difference.value)
    return (of[0] if of else names[1]), first, second


def _words(names: tuple[str, str], clearest: Sequence[Figure], concluded: Conclusion, unit: Unit) -> str:
    difference = clearest[0]
    if difference.p_value is None or difference.p_value_corrected is None:
        return "Too few reports to say whether groups differ."
    group, outcome = map(short, names)
    of, first, second = compared(difference, names)
    first, second = f"{group} “{first}”", f"{group} “{second}”"
    more = f"{outcome} “{of}” is more common" if unit is PERCENT else f"{outcome} is higher"
    more_common = f"{more} in {first} than in {second}"
    size = f"by {change_text(difference, unit).lstrip('+')} ({change_interval_text(difference, unit)})"
    p_value = f"p {p_equals(difference.p_value_corrected)}, corrected for every difference between groups here"
    if concluded is Conclusion.DIFFER:
        differing = sum(conclusion(comparison) is Conclusion.DIFFER for comparison in clearest)
        of = f" {differing} of {len(clearest)} comparisons differ." if len(clearest) > 1 else ""
        return f"Groups differ: {more_common}, {size}; so much is hardly chance ({p_value}).{of}"
    if concluded is Conclusion.MAY_DIFFER:
        doubt = "by itself that would pass for a difference, but among this many comparisons it may be chance"
        alone = p_equals(difference.p_value)
        return f"Groups may differ: {more_common}, {size}; {doubt} (p {alone}; {p_value})."
    return f"No difference between groups was seen; the clearest: {more_common}, {size} ({p_value})."


def _doubt(clearest: Sequence[Figure]) -> str:
    unknown = sum(difference.p_value is None for difference in clearest)
    if not 0 < unknown < len(clearest):
        return ""
    return f" Of {unknown} of {len(clearest)} comparisons there are too few reports to say."
