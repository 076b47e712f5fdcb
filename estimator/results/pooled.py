"""Several windows of one question, pooled into one."""

from __future__ import annotations

from estimator.results.estimate import Estimate, Share, Shares
from estimator.results.question import Question


class Pooled(Question, frozen=True, kw_only=True):
    """The pooled figures of several windows of one question.

    Attributes:
        windows: their names, in order of time.
        reports: the number of reports in all of them.
        estimates: the share of each value over all reports; empty if answers have no shares.
        mean: over all reports. None if there is no mean.
        coordinates: of vectors, the mean of each coordinate over all reports. None for other kinds.
        norm: of vectors, the greatest length that one may have. None for other kinds.
        changes: for each value, or the mean, the last window minus the first; empty for vectors.

    """

    windows: tuple[str, ...]
    reports: int
    estimates: tuple[Share, ...] = ()
    mean: Estimate | None = None
    coordinates: Shares | None = None
    norm: float | None = None
    changes: tuple[Share, ...] = ()
