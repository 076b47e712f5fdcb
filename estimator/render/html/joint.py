"""Two questions asked together: shares within groups, their differences, independence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from estimator.render.html.group_differences import verdict_on
from estimator.render.html.numbers import PERCENT, Unit, unit_of
from estimator.render.html.verdicts import CODES, WordedConclusion
from estimator.render.words import p_equals, short
from estimator.report.conclusions import SIGNIFICANT, clearest_first, conclusion
from estimator.results.joint import Difference, GroupShares, Independence
from estimator.results.metric import MetricEstimate

MOST_OUTCOMES = 4
"""This many columns of shares fit on a phone and on paper. Cells of a wider table stand one below
the other there.
"""

MOST_DIFFERENCES = 20
"""How many differences the table shows, the clearest first. JSON and CSV have all of them."""


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
    groups: tuple[GroupShares, ...]
    verdict: WordedConclusion
    independence: str
    clearest: Sequence[Difference]
    unit: Unit

    @property
    def more(self) -> str:
        """What stands above the group with the larger figure."""
        return "More common in" if self.groups else "Higher in"

    @property
    def has_many_outcomes(self) -> bool:
        """Whether a line for each group would be too wide for a phone and for paper."""
        return any(len(group.estimates) > MOST_OUTCOMES for group in self.groups)

    @property
    def differences(self) -> Sequence[tuple[Difference, str, str]]:
        """Return each difference in the table with its conclusion and the class of that."""
        shown = self.clearest[:MOST_DIFFERENCES]
        return [(difference, conclusion(difference), CODES[conclusion(difference)]) for difference in shown]

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
    joint = estimated.joint
    if joint is None:
        return None
    clearest = clearest_first(joint)
    if joint.is_of_means:
        unit = unit_of(estimated.unit)
        return JointView(joint.names, (), verdict_on(joint.names, clearest, unit), "", clearest, unit)
    return JointView(
        names=joint.names,
        groups=joint.groups,
        verdict=verdict_on(joint.names, clearest),
        independence=_independence(joint.independence, joint.names, independence),
        clearest=clearest,
        unit=PERCENT,
    )


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
