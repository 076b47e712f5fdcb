"""The archive of a running collection: a folder for each closed window, written once.

```
DIR/index.html  index.json      the index of all windows, newest first
DIR/2026-11-20/report.json …    one window, in every form
DIR/.lock                       held while a run is at work
DIR/.part-…                     what a run is writing; if interrupted, the next run removes it
```

A folder appears whole, because it is renamed into place, and is never written to again: a closed
window does not change.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Final

import msgspec
from markupsafe import Markup

from client_sdk.protocol.errors import WindowError
from client_sdk.protocol.window import Window
from estimator.errors import BusyError, OutputError, ReportError
from estimator.formats.json_documents import as_json, read_report
from estimator.output_files import is_not_ours, write_through, write_whole
from estimator.render.html.page import STYLE, asset, environment, policy
from estimator.render.words import answer_of
from estimator.results.record import Record, says
from estimator.results.report import EstimateReport

OF_A_COLLECTOR: Final = ("appendonlydir", "store.log", "store.address", "store.mark")
"""The files in the data directory of a collector's embedded store. A job must not write to such a
directory.
"""

INDEX: Final = "index.json"
PAGE: Final = "index.html"
LOCK: Final = ".lock"
PART: Final = ".part-"
REPORT: Final = "report.json"
"""Every finished window has this file. A folder without it belongs to somebody else."""


@dataclass(frozen=True, slots=True)
class Archive:
    """The folder of all windows.

    Attributes:
        folder: its path. It may not exist yet.

    """

    folder: Path

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other runs out, and remove what an interrupted run left.

        Raises:
            BusyError: if another run is at work.
            OutputError: if the folder cannot be created or written to, or is a collector's.

        """
        try:
            if any((self.folder / name).exists() for name in OF_A_COLLECTOR):
                raise OutputError(
                    f"{self.folder} is a collector's data directory; name a folder of its own for reports"
                )
            self._require_no_other_index()
            self.folder.mkdir(parents=True, exist_ok=True)
            with (self.folder / LOCK).open("ab") as lock:
                _lock(lock.fileno(), self.folder)
                for left in self.folder.glob(f"{PART}*"):
                    shutil.rmtree(left)
                yield
        except OSError as error:
            raise OutputError(
                f"{self.folder} cannot be used: {error.strerror}; name a folder that may be written to"
            ) from error

    def _require_no_other_index(self) -> None:
        """Refuse a folder that no run has used and whose index belongs to others, such as a site's.

        In an archive a damaged index is written again.
        """
        foreign = next(filter(is_not_ours, (self.folder / name for name in (INDEX, PAGE))), None)
        if foreign is not None and not (self.folder / LOCK).exists():
            raise OutputError(
                f"{foreign} was not written by a report, and is left as it is; name a folder of its own for reports"
            )

    def windows(self) -> list[Window]:
        """Return the windows in the archive, the newest first. Other folders are ignored."""
        windows = [window for path in self.folder.iterdir() if (window := _window_of(path)) is not None]
        return sorted(windows, key=lambda window: (window.ends_at, window.starts_at), reverse=True)

    def has(self, window: Window) -> bool:
        """Return whether a window has been written."""
        return _window_of(self.folder / window.text) is not None

    def path(self, window: Window) -> Path:
        """Return the folder of a window."""
        return self.folder / window.text

    def write(self, window: Window, files: Mapping[str, bytes]) -> None:
        """Write a window that is not there yet. All of its files appear at once, or none of them.

        Args:
            window: which one.
            files: the content of each file by its name.

        Raises:
            OutputError: if it cannot be written, or the folder is there already.

        """
        if self.path(window).exists():
            raise OutputError(f"{self.path(window)} is there already, without {REPORT}; move it away")
        part = self.folder / f"{PART}{window.text}-{secrets.token_hex(4)}"
        try:
            part.mkdir()
            for name, content in files.items():
                write_through(part / name, content)
            _sync(part)
            part.rename(self.path(window))
            _sync(self.folder)
        except OSError as error:
            raise OutputError(f"{self.path(window)} cannot be written: {error.strerror}") from error
        finally:
            with suppress(OSError):
                shutil.rmtree(part)


def _window_of(path: Path) -> Window | None:
    if not (path / REPORT).is_file():
        return None
    try:
        return Window.parse(path.name)
    except WindowError:
        return None


def _lock(descriptor: int, folder: Path) -> None:
    """Take the lock. The system releases it when this process ends, however it ends."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise BusyError(f"another run is writing to {folder}; this one leaves it to that") from None


def _sync(folder: Path) -> None:
    """Wait until the names in a folder are on the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
