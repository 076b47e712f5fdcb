"""The figures of a pair of questions that were answered together."""

from __future__ import annotations

from dataclasses import dataclass

from estimator.results.estimate import Estimate
from estimator.statistics.holm import PAIR


@dataclass(frozen=True, slots=True)
class Group:
    """The people with one answer to the first question.

    Attributes:
        label: that answer.
        outcomes: for each answer to the second question its share within the group.

    """

    label: bool | str
    outcomes: tuple[tuple[bool | str, Estimate], ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """By how much an answer to the second question is more common in one group than in another.

    Attributes:
        groups: the two.
        label: the answer.
        estimate: the share in the first of them less that in the second, with an interval by itself.
        p_value: how often so large a difference would occur by chance; none where reports are too few to say.
        corrected: the same for everything that the report compares; none likewise, or before it is corrected.

    """

    groups: tuple[bool | str, bool | str]
    label: bool | str
    estimate: Estimate
    p_value: float | None
    corrected: float | None = None


@dataclass(frozen=True, slots=True)
class Independence:
    """A test of whether the answers to the two questions have nothing to do with each other.

    Attributes:
        statistic: of Wald; about chi-square distributed if they have not.
        degrees_of_freedom: of that distribution.
        p_value: how often so large a statistic would occur if they had not.

    """

    statistic: float
    degrees_of_freedom: int
    p_value: float


@dataclass(frozen=True, slots=True)
class Joint:
    """Everything that the pairs tell; fewer than `EXACT_BELOW` reports tell of no group."""

    groups: tuple[Group, ...]
    differences: tuple[Difference, ...]
    independence: Independence | None

    @property
    def comparisons(self) -> tuple[tuple[Difference, ...], ...]:
        """The differences, those together that are one comparison: of two outcomes the second mirrors the first."""
        step = PAIR if len(self.groups[0].outcomes) == PAIR else 1
        return tuple(self.differences[start : start + step] for start in range(0, len(self.differences), step))

    @property
    def p_values(self) -> tuple[float, ...]:
        """One for each comparison of which there are reports enough."""
        return tuple(one.p_value for one, *_ in self.comparisons if one.p_value is not None)
