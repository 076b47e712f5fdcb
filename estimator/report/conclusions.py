"""The conclusions that p-values allow: did answers change, do groups differ or questions depend?"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from msgspec.structs import replace

from estimator.report.group_differences import comparisons
from estimator.results.changes import Tested
from estimator.results.estimate import Figure
from estimator.results.group import FigureGroup
from estimator.statistics.confidence import CONFIDENCE
from estimator.words import is_yes_or_no

SIGNIFICANT: Final = 1 - CONFIDENCE
"""A p-value up to this counts as significant."""


class Conclusion(StrEnum):
    """Whether two groups differ, or two windows."""

    DIFFER = "differ"
    MAY_DIFFER = "may differ"
    NO_DIFFERENCE = "no difference seen"
    TOO_FEW = "too few reports to say"


def conclusion(difference: Figure) -> Conclusion:
    """Return whether two groups differ in an answer, given all comparisons of the report."""
    if difference.p_value is None:
        return Conclusion.TOO_FEW
    return _concluded(difference.p_value, difference.p_value_corrected)


def change_conclusion(change: Figure, tests: int) -> Conclusion:
    """Return whether an answer changed, given all comparisons of the report.

    Args:
        change: the clearest change of a question.
        tests: the number of the question's comparisons.

    """
    if change.p_value is None:
        return Conclusion.TOO_FEW
    return _concluded(question_p_value(change.p_value, tests), change.p_value_corrected)


def question_p_value(p_value: float, tests: int) -> float:
    """Return a p-value corrected only for the comparisons of its own question (Bonferroni)."""
    return min(1.0, p_value * tests)


def clearest_first(differences: FigureGroup) -> Sequence[Figure]:
    """Return the comparisons by rising p-value, each from the group with the larger share.

    Of two answers the second stands for both: of yes and no it is yes.
    """
    return sorted((_from_larger_share(comparison[-1]) for comparison in comparisons(differences)), key=_clearness)


def clearest_changes(changes: Tested) -> Sequence[tuple[FigureGroup, Figure]]:
    """Return the changes of a question, or how two strata differ, by rising p-value.

    Of yes and no only yes is returned.
    """
    every = [(group, figure) for group in changes.groups for figure in group.figures.at(_told(group))]
    return sorted(every, key=lambda each: _clearness(each[1]))


def _told(group: FigureGroup) -> Sequence[int]:
    labels = group.figures.labels
    return [1] if is_yes_or_no(labels) else range(len(labels))


def _concluded(p_value: float, corrected: float | None) -> Conclusion:
    if corrected is None:
        return Conclusion.TOO_FEW
    if corrected <= SIGNIFICANT:
        return Conclusion.DIFFER
    return Conclusion.MAY_DIFFER if p_value <= SIGNIFICANT else Conclusion.NO_DIFFERENCE


def _clearness(figure: Figure) -> tuple[bool, float, float]:
    return figure.p_value is None, figure.p_value_corrected or 0.0, figure.p_value or 0.0


def _from_larger_share(difference: Figure) -> Figure:
    if (difference.estimate or 0.0) >= 0 or not isinstance(difference.value, tuple):
        return difference
    turned = difference.times(-1.0)
    *of, first, second = difference.value
    return replace(difference, value=(*of, second, first), estimate=turned.estimate, low=turned.high, high=turned.low)
