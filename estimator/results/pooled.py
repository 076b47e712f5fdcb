"""Several windows of one question, pooled into one."""

from __future__ import annotations

from typing import Annotated

from estimator.results.group import Figured, FigureGroup
from estimator.results.question import Question
from estimator.results.record import says


class Pooled(Question, Figured, frozen=True, kw_only=True):
    """The pooled figures of several windows of one question."""

    windows: Annotated[tuple[str, ...], says("their names, in order of time.")]
    reports: Annotated[int, says("the number of reports in all of them.")]
    groups: Annotated[tuple[FigureGroup, ...], says("the figures over all reports.")] = ()
    changes: Annotated[
        tuple[FigureGroup, ...],
        says("for each value, or the mean, the last window minus the first; empty for vectors."),
    ] = ()
