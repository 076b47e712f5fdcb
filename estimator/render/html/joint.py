"""Two questions asked together: shares within groups, their differences, independence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from estimator.render.html.wording import CODES, WordedConclusion, change_interval_text, change_text
from estimator.render.rounding import PERCENT, Unit, unit_of
from estimator.render.words import p_equals
from estimator.report.highlights import SIGNIFICANT, Conclusion, clearest_first, conclusion, differences_of
from estimator.results.estimate import Figure
from estimator.results.group import FigureGroup
from estimator.results.metric import Independence, MetricEstimate
from estimator.words import label_of, short

MOST_OUTCOMES = 4
"""This many columns of shares fit on a phone and on paper. Cells of a wider table stand one below
the other there.
"""

MOST_DIFFERENCES = 20
"""How many differences the table shows, the clearest first. JSON and CSV have all of them."""


class GroupRow(NamedTuple):
    """The shares within one group.

    Attributes:
        group: its name.
        figures: the share of each outcome, with the outcome's name.

    """

    group: str
    figures: tuple[tuple[str, Figure], ...]


@dataclass(frozen=True, slots=True)
class JointView:
    """What the template shows of two questions asked together.

    Attributes:
        names: of the question that makes the groups, and of the question that is compared.
        groups: the shares within each group; empty where a number has a mean in each group,
            which is one of the question's figures.
        verdict: whether groups differ.
        independence: a sentence on whether the two questions have to do with each other; empty for
            means.
        clearest: all comparisons, the clearest first.
        unit: of the differences.

    """

    names: tuple[str, str]
    groups: tuple[GroupRow, ...]
    verdict: WordedConclusion
    independence: str
    clearest: Sequence[Figure]
    unit: Unit

    @property
    def more(self) -> str:
        """What stands above the group with the larger figure."""
        return "More common in" if self.groups else "Higher in"

    @property
    def has_many_outcomes(self) -> bool:
        """Whether a line for each group would be too wide for a phone and for paper."""
        return any(len(group.figures) > MOST_OUTCOMES for group in self.groups)

    @property
    def differences(self) -> Sequence[tuple[Figure, tuple[str, ...], str, str]]:
        """Each difference in the table: what it is of, its conclusion and the class of that."""
        shown = self.clearest[:MOST_DIFFERENCES]
        return [
            (difference, compared(difference, self.names), conclusion(difference), CODES[conclusion(difference)])
            for difference in shown
        ]

    @property
    def left_out(self) -> int:
        """Return how many differences the table leaves out."""
        return max(0, len(self.clearest) - MOST_DIFFERENCES)


def joint_view(estimated: MetricEstimate, independence: float | None) -> JointView | None:
    """Return the view of two questions asked together, and None for any other question.

    Args:
        estimated: the figures of the window.
        independence: the p-value of the test, corrected for all such pairs. None where there is no
            test.

    """
    differences, names = differences_of(estimated), estimated.names
    if differences is None or names is None:
        return None
    clearest, unit = clearest_first(differences), unit_of(differences)
    cells = estimated.group("share_within")
    return JointView(
        names=names,
        groups=() if cells is None else tuple(_rows(cells)),
        verdict=verdict_on(names, clearest, unit),
        independence="" if cells is None else _independence(estimated.independence, names, independence),
        clearest=clearest,
        unit=unit,
    )


def _rows(cells: FigureGroup) -> Iterator[GroupRow]:
    groups, outcomes = axes_of(cells)
    for row, group in enumerate(groups):
        figures = cells.figures.at(range(row * len(outcomes), (row + 1) * len(outcomes)))
        yield GroupRow(group, tuple(zip(outcomes, figures, strict=True)))


def axes_of(cells: FigureGroup) -> tuple[list[str], list[str]]:
    """Return the names of the groups and of the outcomes, in their order."""
    groups, outcomes = (dict.fromkeys(part) for part in zip(*cells.figures.labels, strict=True))
    return [label_of(group) for group in groups], [label_of(outcome) for outcome in outcomes]


def _independence(test: Independence | None, names: tuple[str, str], p_value: float | None) -> str:
    first, second = map(short, names)
    if test is None or p_value is None:
        return f"Too few reports to test whether {first} and {second} have to do with each other."
    figures = (
        f"p {p_equals(p_value)}, corrected for all pairs of questions here; chi-square {test.statistic:.1f},"
        f" {test.degrees_of_freedom} degrees of freedom"
    )
    if p_value <= SIGNIFICANT:
        return f"If {first} and {second} had nothing to do with each other, groups would seldom differ so ({figures})."
    return f"Groups differ no more than if {first} and {second} had nothing to do with each other ({figures})."


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
