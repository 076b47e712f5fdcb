"""Whether two groups differ, in words that every rendering shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from estimator.results.joint import Difference, Joint
from estimator.statistics.confidence import CONFIDENCE

SIGNIFICANT: Final = 1 - CONFIDENCE

DIFFER: Final = "differ"
MAY_DIFFER: Final = "may differ"
NO_DIFFERENCE: Final = "no difference seen"
TOO_FEW: Final = "too few reports to say"
CONCLUSIONS: Final = (DIFFER, MAY_DIFFER, NO_DIFFERENCE, TOO_FEW)


def conclusion(one: Difference) -> str:
    """Return whether two groups differ in an answer, by what the whole report allows to say."""
    if one.p_value is None or one.corrected is None:
        return TOO_FEW
    if one.corrected <= SIGNIFICANT:
        return DIFFER
    return MAY_DIFFER if one.p_value <= SIGNIFICANT else NO_DIFFERENCE


def clearest_first(joint: Joint) -> Sequence[Difference]:
    """Return the comparisons, the least p-values first, each from the group in which the answer is more common.

    Of two answers the second stands for both: of yes and no it is yes.
    """
    told = [_from_more(some[-1]) for some in joint.comparisons]
    return sorted(told, key=lambda one: (one.p_value is None, one.corrected or 0.0, one.p_value or 0.0))


def _from_more(one: Difference) -> Difference:
    if (one.estimate.unbiased or 0.0) >= 0:
        return one
    (first, second), same, turned = one.groups, one.estimate, one.estimate.times(-1.0)
    estimate = replace(same, unbiased=turned.unbiased, low=turned.high, high=turned.low)
    return replace(one, groups=(second, first), estimate=estimate)
