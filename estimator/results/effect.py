"""How the answers to one question differ between two public strata."""

from __future__ import annotations

from estimator.results.changes import Change, ShareChange
from estimator.results.record import Record


class Effect(Record, frozen=True, kw_only=True):
    """The second stratum minus the first, in one closed window.

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
