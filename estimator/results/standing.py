"""The index of a folder of reports: its windows, and the latest state of every question."""

from __future__ import annotations

from datetime import date
from typing import Annotated, ClassVar, Final

from estimator.results.estimate import Record, says

INDEX: Final = "index.json"
PAGE: Final = "index.html"
"""The files on all windows of an archive, and of a public folder."""

INDEX_SCHEMA: Final = 4
"""The schema number of ``index.json``."""


class ArchivedWindow(Record, frozen=True):
    """One window of an archive."""

    window: Annotated[str, says("the name.")]
    kind: Annotated[str, says("day, week or month.")]
    metrics: Annotated[int | None, says("the number of estimated tallies. None if the report cannot be read.")]
    reports: Annotated[int | None, says("the total number of reports in these tallies. None if unknown.")]
    skipped: Annotated[int | None, says("the number of tallies that could not be estimated. None if unknown.")]
    files: Annotated[tuple[str, ...], says("the names of the files in its folder.")]


class StandingMetric(Record, frozen=True, kw_only=True):
    """A question, its latest answer, and whether it changed."""

    metric: Annotated[str, says("its name; its place on the page is ``index.html#q-`` and the name.")]
    title: Annotated[str, says("what people read in place of the name.")]
    purpose: Annotated[str, says("why it is asked.")]
    epsilon: Annotated[float, says("the epsilon of one report, rounded up.")]
    expires: Annotated[
        date | None, says("the last day on which one of its windows may begin. None if there is no last day.")
    ]
    first: Annotated[str | None, says("the first window with reports. None if there is none.")]
    last: Annotated[str | None, says("the window of the answer. None likewise.")]
    counted: Annotated[
        str, says("the treatment of numbers beyond its range, such as “counted up to 15”; empty if it has no range.")
    ]
    reports: Annotated[int, says("the number of reports in that window; 0 without a window.")]
    answer: Annotated[str, says("a sentence or two, with the intervals.")]
    code: Annotated[str, says("whether it changed: ``changed``, ``perhaps``, ``same`` or ``unknown``.")]
    change: Annotated[str, says("what changed and since when. Empty where nothing can be compared.")]


class DevicesTakingPart(Record, frozen=True):
    """About how many devices participate in a window."""

    window: Annotated[str, says("the name.")]
    devices: Annotated[float, says("the estimate of the question with the most.")]
    low: Annotated[float, says("the lower end of the interval, of 99.8% confidence.")]
    high: Annotated[float, says("the upper end.")]


class Standing(Record, frozen=True, kw_only=True):
    """The latest state of every question, and all windows of an archive."""

    schema_number: ClassVar[int | None] = INDEX_SCHEMA

    app: Annotated[str, says("the name.")]
    participation: Annotated[str, says("whom the figures describe, in a sentence.")]
    metrics: Annotated[tuple[StandingMetric, ...], says("the metrics, in the registry's order.")]
    devices: Annotated[tuple[DevicesTakingPart, ...], says("in the order of time. Empty where they are unknown.")]
    windows: Annotated[
        tuple[ArchivedWindow, ...], says("the newest first. Empty in a public folder, which has no folders of windows.")
    ]
