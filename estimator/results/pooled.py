"""Several windows of one question, pooled into one."""

from __future__ import annotations

from estimator.results.estimate import Estimate, Share
from estimator.results.question import Question
from estimator.results.shown import Plotted


class Pooled(Plotted, Question, frozen=True, kw_only=True):
    """The pooled figures of several windows of one question.

    Attributes:
        windows: their names, in order of time.
        reports: the number of reports in all of them.
        estimates: the share of each value over all reports; empty if answers have no shares.
        mean: over all reports. None if there is no mean.
        changes: for each value, or the mean, the last window minus the first.

    """

    windows: tuple[str, ...]
    reports: int
    estimates: tuple[Share, ...] = ()
    mean: Estimate | None = None
    changes: tuple[Share, ...] = ()
