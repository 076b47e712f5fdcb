"""The index of a folder of reports. The index lists the windows and the latest results.

The folder is either an archive with a report for each closed window, or a public folder with
published results.
"""

from __future__ import annotations

from datetime import date
from typing import Annotated, ClassVar, Final

from estimator.results.estimate import Record, says

INDEX: Final = "index.json"
PAGE: Final = "index.html"
"""The page about all windows of an archive or public folder. The JSON file `INDEX` has the same
contents.
"""

INDEX_SCHEMA: Final = 4
"""The schema number of ``index.json``."""


class ArchivedWindow(Record, frozen=True):
    """One window in an archive, with its number of tallies and its files."""

    window: Annotated[str, says("the name of the window.")]
    kind: Annotated[str, says("the kind of the window: day, week or month.")]
    metrics: Annotated[int | None, says("the number of estimated tallies. None if the report cannot be read.")]
    reports: Annotated[int | None, says("the total number of reports in these tallies. None if unknown.")]
    skipped: Annotated[int | None, says("the number of tallies that could not be estimated. None if unknown.")]
    files: Annotated[tuple[str, ...], says("the names of the files in the window's folder.")]


class StandingMetric(Record, frozen=True, kw_only=True):
    """A metric, its latest result, and whether the result changed."""

    metric: Annotated[str, says("the name of the question; its anchor on the page is ``index.html#q-`` and the name.")]
    title: Annotated[str, says("the title of the question, which people read.")]
    purpose: Annotated[str, says("the purpose of the question.")]
    epsilon: Annotated[float, says("the epsilon of one report, rounded up.")]
    expires: Annotated[
        date | None,
        says("the last day on which one of the question's windows may begin. None if there is no last day."),
    ]
    first: Annotated[str | None, says("the first window with reports. None if no window has reports.")]
    last: Annotated[str | None, says("the window of the latest result. None if no window has reports.")]
    counted: Annotated[
        str, says("the treatment of numbers beyond the range, such as “counted up to 15”; empty if there is no range.")
    ]
    reports: Annotated[int, says("the number of reports in the last window with reports; 0 if there is none.")]
    answer: Annotated[str, says("the latest result in a sentence or two, with intervals.")]
    code: Annotated[str, says("whether the result changed: ``changed``, ``perhaps``, ``same`` or ``unknown``.")]
    change: Annotated[str, says("a text on what changed and since when. Empty if nothing can be compared.")]


class DevicesTakingPart(Record, frozen=True):
    """The approximate number of devices that participate in a window."""

    window: Annotated[str, says("the name of the window.")]
    devices: Annotated[float, says("the largest of the estimates from the individual questions.")]
    low: Annotated[float, says("the lower end of the interval, which has 99.8% confidence.")]
    high: Annotated[float, says("the upper end of this interval.")]


class Standing(Record, frozen=True, kw_only=True):
    """The index of a folder of reports: the latest result of every metric, and all windows."""

    schema_number: ClassVar[int | None] = INDEX_SCHEMA

    app: Annotated[str, says("the name of the app.")]
    participation: Annotated[str, says("a sentence on which devices the figures describe.")]
    metrics: Annotated[tuple[StandingMetric, ...], says("the metrics, in the registry's order.")]
    devices: Annotated[
        tuple[DevicesTakingPart, ...],
        says("the numbers of participating devices, in chronological order. Empty if unknown."),
    ]
    windows: Annotated[
        tuple[ArchivedWindow, ...],
        says("the windows, newest first. Empty in a public folder, which has no folders for windows."),
    ]
