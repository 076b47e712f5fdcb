"""Changes between windows, and windows pooled into one."""

from __future__ import annotations

from dataclasses import dataclass

from client_sdk.protocol import Label, Metric, Window
from estimator.results.estimate import Estimate


@dataclass(frozen=True, slots=True)
class Change:
    """By how much one figure changed.

    Attributes:
        estimate: the figure of the last window less that of the first, with an interval by itself.
        p_value: how often so large a difference would occur by chance; none where reports are too few to say.
        corrected: the same for everything that the report compares; none likewise.

    """

    estimate: Estimate
    p_value: float | None
    corrected: float | None


@dataclass(frozen=True, slots=True)
class Changes:
    """What changed in the answers to one question.

    Attributes:
        metric: the question.
        first: the first closed window with reports enough; where not two have enough, with any.
        last: the last one.
        shares: for each value the change of its share; empty where there are none.
        mean: the change of the mean, or none.
        tests: how many of these are comparisons of their own.

    """

    metric: Metric
    first: Window
    last: Window
    shares: tuple[tuple[Label, Change], ...]
    mean: Change | None
    tests: int

    @property
    def corrected(self) -> float | None:
        """The least corrected p-value of the question; none where reports are too few to say."""
        every = (*(one for _, one in self.shares), *(() if self.mean is None else (self.mean,)))
        return min((one.corrected for one in every if one.corrected is not None), default=None)


@dataclass(frozen=True, slots=True)
class Pooled:
    """What some windows of one question tell together.

    Attributes:
        metric: the question.
        windows: their names, in time.
        reports: of all of them.
        shares: for each value its share, over all reports; empty where there are none.
        mean: likewise, or none.
        changes: for each value, or the mean, by how much the last window is above the first one.

    """

    metric: Metric
    windows: tuple[str, ...]
    reports: int
    shares: tuple[tuple[Label, Estimate], ...]
    mean: Estimate | None
    changes: tuple[tuple[Label, Estimate], ...]
