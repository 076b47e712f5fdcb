"""The index of an archive, made from its last index and the reports since then.

It is a page for people and a document for programs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, ClassVar, Final

import msgspec
from markupsafe import Markup

from client_sdk.protocol.window import Window
from estimator.archive.folder import INDEX, PAGE, REPORT, Archive
from estimator.atomic_file import write_whole
from estimator.errors import ReportError
from estimator.formats.from_json import read_report
from estimator.formats.to_json import as_json
from estimator.render.html.document import STYLE, asset, environment, policy
from estimator.render.sentences import answer_of
from estimator.results.record import Record, says
from estimator.results.report import EstimateReport

INDEX_SCHEMA: Final = 2
"""The schema number of ``index.json``."""

OPEN_WINDOWS: Final = 7
"""The newest windows are unfolded: a week of days."""


class ArchivedAnswer(Record, frozen=True):
    """The answer to one question in a window."""

    metric: Annotated[str, says("the name of the question.")]
    answer: Annotated[str, says("a sentence or two, with the intervals.")]


class ArchivedWindow(Record, frozen=True):
    """One window of an archive."""

    window: Annotated[str, says("its name.")]
    kind: Annotated[str, says("day, week or month.")]
    metrics: Annotated[int | None, says("how many tallies were estimated. None where the report cannot be read.")]
    reports: Annotated[int | None, says("how many reports these tallies hold together. None likewise.")]
    skipped: Annotated[int | None, says("how many tallies could not be estimated. None likewise.")]
    files: Annotated[tuple[str, ...], says("the names of the files in its folder.")]
    answers: Annotated[tuple[ArchivedAnswer, ...], says("to its questions. Empty where the report cannot be read.")]

    @classmethod
    def of(cls, window: Window, files: Sequence[str], report: EstimateReport | None) -> ArchivedWindow:
        """Return a window with the answers of its report, which is None if it cannot be read."""
        if report is None:
            return cls(window.text, window.kind, None, None, None, tuple(files), ())
        answers = tuple(ArchivedAnswer(estimated.metric, answer_of(estimated)) for estimated in report.metrics)
        reports = sum(estimated.reports for estimated in report.metrics)
        return cls(window.text, window.kind, len(report.metrics), reports, len(report.skipped), tuple(files), answers)


class Index(Record, frozen=True):
    """All windows of an archive."""

    schema_number: ClassVar[int | None] = INDEX_SCHEMA

    windows: Annotated[tuple[ArchivedWindow, ...], says("in the archive's order.")]


def write_index(archive: Archive) -> None:
    """Write the index where it differs from the files that are there.

    Raises:
        OutputError: if it cannot be written.

    """
    known = _known(archive.folder / INDEX)
    index = Index(tuple(known.get(window.text) or _entry(window, archive.path(window)) for window in archive.windows()))
    for name, text in ((INDEX, as_json(index)), (PAGE, index_as_html(index))):
        if not _holds(archive.folder / name, text.encode()):
            write_whole(archive.folder / name, text.encode())


def index_as_html(index: Index) -> str:
    """Return the index for people."""
    style = asset(STYLE)
    return (
        environment()
        .get_template("index.html.jinja")
        .render(
            entries=index.windows,
            open_windows=OPEN_WINDOWS,
            policy=policy([], [style]),
            style=Markup(style),  # noqa: S704 a file of this package
        )
    )


def _known(path: Path) -> dict[str, ArchivedWindow]:
    """Return the entries of an index by window.

    They are empty where the file is missing or is not an index.
    """
    with suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
        document = json.loads(path.read_bytes())
        if document.pop("schema") == INDEX_SCHEMA:
            return {entry.window: entry for entry in msgspec.convert(document, Index).windows}
    return {}


def _entry(window: Window, folder: Path) -> ArchivedWindow:
    files = sorted(path.name for path in folder.iterdir())
    report = None
    with suppress(ReportError):  # perhaps of another version; the index still links it
        report = read_report(folder / REPORT)
    return ArchivedWindow.of(window, files, report)


def _holds(path: Path, content: bytes) -> bool:
    with suppress(OSError):
        return path.read_bytes() == content
    return False
