"""The figures of two questions that were answered together."""

from __future__ import annotations

from typing import Final

from client_sdk.protocol.kinds.kind import Label
from estimator.results.changes import Change
from estimator.results.estimate import Estimate, Share
from estimator.results.record import Record

PAIR: Final = 2

MEAN: Final = "mean"
"""The value of the only figure of a group whose number has a mean."""


class GroupShares(Record, frozen=True):
    """The people with one answer to the first question.

    Attributes:
        group: that answer.
        estimates: the share of each answer to the second question within the group. If that is a
            number, its mean within the group alone, with the value `MEAN`.

    """

    group: Label
    estimates: tuple[Share, ...]


class Difference(Change, frozen=True, kw_only=True):
    """By how much an answer to the second question is more common in one group than in another.

    Attributes:
        groups: the two groups: the share in the first minus the share in the second.
        value: the answer; `MEAN` if the groups' means are compared, in the number's units.

    """

    groups: tuple[Label, Label]
    value: Label


class Independence(Record, frozen=True):
    """A test of whether the answers to the two questions are independent.

    Attributes:
        statistic: Wald's; approximately chi-square distributed if they are independent.
        degrees_of_freedom: of that distribution.
        p_value: the probability of a statistic this large if they are independent. Where few people
            decide, at least the smallest one of a difference, corrected for their number.

    """

    statistic: float
    degrees_of_freedom: int
    p_value: float


class RocPoint(Record, frozen=True):
    """What a scale tells if everybody from a step on is taken for a yes.

    Attributes:
        value: that step.
        no: the share of those with the label no who are at that step or above, and are taken for a
            yes wrongly.
        yes: the share of those with the label yes.

    """

    value: Label
    no: Estimate
    yes: Estimate


class Joint(Record, frozen=True):
    """All figures of the pairs. With fewer than `EXACT_BELOW` reports no group has an estimate.

    Attributes:
        groups: in the order of the first question's values.
        differences: between every two groups, for each answer.
        independence: None with too few reports for the test, and for means.
        names: of the question that defines the groups, and of the compared question.
        auc: of a scale and a yes-or-no, how often a yes is at a higher step than a no, with half of
            the ties. None for other questions.
        roc: of the same, a point for each step but the first. Empty for other questions.

    """

    groups: tuple[GroupShares, ...]
    differences: tuple[Difference, ...]
    independence: Independence | None
    names: tuple[str, str]
    auc: Estimate | None = None
    roc: tuple[RocPoint, ...] = ()

    @property
    def is_of_means(self) -> bool:
        """Whether the groups have a mean each, instead of shares of two or more answers."""
        return len(self.groups[0].estimates) == 1

    @property
    def comparisons(self) -> tuple[tuple[Difference, ...], ...]:
        """The differences by comparison. Of two outcomes the second mirrors the first."""
        step = PAIR if len(self.groups[0].estimates) == PAIR else 1
        return tuple(self.differences[start : start + step] for start in range(0, len(self.differences), step))

    @property
    def p_values(self) -> tuple[float, ...]:
        """The p-value of each comparison that has enough reports."""
        return tuple(first.p_value for first, *_ in self.comparisons if first.p_value is not None)
