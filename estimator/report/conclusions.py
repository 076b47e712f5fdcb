"""The conclusions that p-values allow: did answers change, do groups differ or questions depend?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final

from msgspec.structs import replace

from estimator.results.changes import Change, Changes, Effect
from estimator.results.joint import Difference, Joint
from estimator.statistics.confidence import CONFIDENCE

SIGNIFICANT: Final = 1 - CONFIDENCE
"""A p-value up to this counts as significant."""


class Conclusion(StrEnum):
    """Whether two groups differ, or two windows."""

    DIFFER = "differ"
    MAY_DIFFER = "may differ"
    NO_DIFFERENCE = "no difference seen"
    TOO_FEW = "too few reports to say"


def conclusion(difference: Difference) -> Conclusion:
    """Return whether two groups differ in an answer, given all comparisons of the report."""
    if difference.p_value is None:
        return Conclusion.TOO_FEW
    return _concluded(difference.p_value, difference.p_value_corrected)


def change_conclusion(change: Change, tests: int) -> Conclusion:
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


def clearest_first(joint: Joint) -> Sequence[Difference]:
    """Return the comparisons by rising p-value, each from the group with the larger share.

    Of two answers the second stands for both: of yes and no it is yes.
    """
    differences = [_from_larger_share(comparison[-1]) for comparison in joint.comparisons]
    return sorted(
        differences,
        key=lambda difference: (
            difference.p_value is None,
            difference.p_value_corrected or 0.0,
            difference.p_value or 0.0,
        ),
    )


def clearest_changes(changes: Changes | Effect) -> Sequence[Change]:
    """Return the changes of a question, or how two strata differ, by rising p-value.

    Of yes and no only yes is returned.
    """
    is_yes_or_no = [change.value for change in changes.estimates] == [False, True]
    shares: Iterable[Change] = changes.estimates[1:] if is_yes_or_no else changes.estimates
    return sorted([*shares, *([] if changes.mean is None else [changes.mean])], key=_clearness)


def _concluded(p_value: float, corrected: float | None) -> Conclusion:
    if corrected is None:
        return Conclusion.TOO_FEW
    if corrected <= SIGNIFICANT:
        return Conclusion.DIFFER
    return Conclusion.MAY_DIFFER if p_value <= SIGNIFICANT else Conclusion.NO_DIFFERENCE


def _clearness(change: Change) -> tuple[float, float]:
    if change.p_value_corrected is None:
        return math.inf, math.inf
    return change.p_value_corrected, change.p_value or 0.0


def _from_larger_share(difference: Difference) -> Difference:
    if (difference.estimate or 0.0) >= 0:
        return difference
    turned = difference.times(-1.0)
    groups = (difference.groups[1], difference.groups[0])
    return replace(difference, groups=groups, estimate=turned.estimate, low=turned.high, high=turned.low)
