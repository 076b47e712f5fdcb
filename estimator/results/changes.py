"""How the answers to one question differ between two windows, or between two public strata."""

from __future__ import annotations

from collections.abc import Iterator

from client_sdk.protocol.kinds.kind import Label
from estimator.results.estimate import Estimate
from estimator.results.record import Record


class Change(Estimate, frozen=True, kw_only=True):
    """By how much one figure changed: the last window minus the first, with an interval of its own.

    Attributes:
        p_value: the probability of a difference this large by chance. None with too few reports.
        p_value_corrected: the same, corrected for everything the report compares. None with too few
            reports.

    """

    p_value: float | None
    p_value_corrected: float | None


class ShareChange(Change, frozen=True, kw_only=True):
    """By how much the share of one value changed.

    Attributes:
        value: the value.

    """

    value: Label


class Changes(Record, frozen=True, kw_only=True):
    """What changed in the answers to one question.

    Attributes:
        metric: its name.
        edition: 12 hex digits that identify what the reports mean.
        first: the name of the first closed window with enough reports. If fewer than two windows
            have enough, the first with any.
        last: the name of the last such window.
        tests: the number of independent comparisons among the differences.
        estimates: the change of each value's share; empty if answers have no shares.
        mean: the change of the mean. None if there is no mean.
        untested: the question's other figures, by the names of their statistics in CSV. Nothing is
            known of their changes.

    """

    metric: str
    edition: str
    first: str
    last: str
    tests: int
    estimates: tuple[ShareChange, ...] = ()
    mean: Change | None = None
    untested: tuple[str, ...] = ()

    @property
    def p_value_corrected(self) -> float | None:
        """The smallest corrected p-value of the question. None with too few reports."""
        return min((each.p_value_corrected for each in self if each.p_value_corrected is not None), default=None)

    def __iter__(self) -> Iterator[Change]:
        """Yield every change."""
        yield from self.estimates
        if self.mean is not None:
            yield self.mean


class Effect(Record, frozen=True, kw_only=True):
    """How the answers to one question differ between two public strata, in one closed window.

    Figures are the second stratum minus the first.

    Attributes:
        metric: the question's name.
        window: the name of the window.
        first: the stratum that is subtracted, such as ``platform=ios``.
        second: the stratum from which it is subtracted.
        tests: the number of independent comparisons among the differences.
        estimates: the difference of each value's share; empty if answers have no shares.
        mean: the difference of the means. None if there is no mean.

    """

    metric: str
    window: str
    first: str
    second: str
    tests: int
    estimates: tuple[ShareChange, ...] = ()
    mean: Change | None = None

    @property
    def p_value_corrected(self) -> float | None:
        """The smallest corrected p-value of the pair. None with too few reports."""
        every = (*self.estimates, *([] if self.mean is None else [self.mean]))
        return min((each.p_value_corrected for each in every if each.p_value_corrected is not None), default=None)
