"""The archive of a running collection: a report of each closed window, and the index of all.

```
DIR/index.html  index.json      the index of all windows, newest first
DIR/2026-11-20/report.json …    one window, in every form
DIR/.lock                       held while a run is at work
DIR/.part-…                     what a run is writing; if interrupted, the next run removes it
```

A folder appears whole, because it is renamed into place, and is never written to again: a closed
window does not change. Its page shows earlier windows of the archive beside its own. The index is a
page for people and a document for programs, made from the last index and the reports since then.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, ClassVar, Final

import msgspec
from markupsafe import Markup

from client_sdk.protocol.errors import HearsayError, WindowError
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.window import Window
from client_sdk.protocol.wire.verdict import CLOCK_SKEW_S
from estimator.errors import BusyError, MissingLibraryError, OutputError, ReportError, UnfitTallyError
from estimator.formats.json_documents import as_json, as_line, read_report
from estimator.formats.tables import as_csv, to_parquet
from estimator.output_files import is_not_ours, write_through, write_whole
from estimator.render.html.page import MOST_PLACES, STYLE, as_html, asset, environment, policy
from estimator.render.words import answer_of
from estimator.report.alerts import Alert, JudgedAlert, judged
from estimator.report.report import make_report, with_earlier
from estimator.report.strata import apart
from estimator.results.estimate import Record, says
from estimator.results.metric import MetricEstimate
from estimator.results.report import EstimateReport, Request, Selection, Skipped
from estimator.tallies import Tally

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


MOST_WINDOWS: Final = 90
"""The earlier windows of a page, a quarter of days: with fifty questions they take 1.5 MB."""

MOST_BYTES: Final = 2**26
"""The reports that are read for a page. A question of a million values has one of this size."""

ALERTS: Final = "alerts.ndjson"
"""The file of a window's alerts: they are kept with it, because no later run judges them again."""

NOT_BEGUN: Final = "it has not begun; see whether the clocks of this machine and of the collector are right"

INDEX_SCHEMA: Final = 2
"""The schema number of ``index.json``."""

OPEN_WINDOWS: Final = 7
"""The newest windows are unfolded: a week of days."""


@dataclass(frozen=True, slots=True)
class History:
    """The estimates of earlier windows, each read once.

    Attributes:
        archive: whose windows they are.
        registry: the definitions. Estimates of other editions are left out.
        known: what was read: the size of its report, and the estimates.

    """

    archive: Archive
    registry: Registry
    known: dict[Window, tuple[int, tuple[MetricEstimate, ...]]] = field(default_factory=dict)

    def before(self, window: Window) -> list[MetricEstimate]:
        """Return the estimates of earlier windows of the same kind, in the order of time."""
        reach_s = self._most_windows * (window.ends_at - window.starts_at)
        earlier = [
            each
            for each in self.archive.windows()
            if each.kind is window.kind and 0 < window.starts_at - each.starts_at <= reach_s
        ]
        self._forget(earlier)
        estimates: list[tuple[MetricEstimate, ...]] = []
        left = MOST_BYTES
        for each in earlier:
            size, of_window = self._read(each)
            left -= size
            if left < 0:
                break
            estimates.append(of_window)
        return [estimate for of_window in reversed(estimates) for estimate in of_window]

    @property
    def _most_windows(self) -> int:
        """How far a page looks back: gaps have places on it, and months differ in length."""
        return min(MOST_WINDOWS, MOST_PLACES // (2 * len(apart(self.registry).metrics)))

    def _forget(self, needed: list[Window]) -> None:
        for window in self.known.keys() - set(needed):
            if all(window.kind is each.kind for each in needed):
                del self.known[window]

    def _read(self, window: Window) -> tuple[int, tuple[MetricEstimate, ...]]:
        if window not in self.known:
            path = self.archive.path(window) / REPORT
            size = path.stat().st_size
            of_window: tuple[MetricEstimate, ...] = ()
            if size <= MOST_BYTES:
                with suppress(ReportError):  # perhaps of another version
                    of_window = self._same_editions(read_report(path).metrics)
            self.known[window] = size, of_window
        return self.known[window]

    def _same_editions(self, estimates: tuple[MetricEstimate, ...]) -> tuple[MetricEstimate, ...]:
        editions = {name: metric.edition for name, metric in apart(self.registry).metrics.items()}
        return tuple(each for each in estimates if editions.get(each.metric) == each.edition)


@dataclass(frozen=True, slots=True)
class ArchiveRun:
    """What one run did.

    Attributes:
        written: the windows that it wrote.
        failed: the windows that it could not write, with the reason.
        alerts: of the windows that it wrote.
        skipped: the tallies that it left out of them.

    """

    written: tuple[Window, ...]
    failed: tuple[tuple[Window, str], ...]
    alerts: tuple[JudgedAlert, ...] = ()
    skipped: tuple[Skipped, ...] = ()


def missing_windows(archive: Archive, tallies: Iterable[Tally], selection: Selection) -> dict[Window, list[Tally]]:
    """Return the tallies of each requested closed window that is missing, the oldest first."""
    windows: dict[Window, list[Tally]] = {}
    for tally in tallies:
        if tally.closed and selection.spans(tally.window):
            windows.setdefault(tally.window, []).append(tally)
    return {
        window: of_window
        for window, of_window in sorted(windows.items(), key=lambda item: (item[0].ends_at, item[0].starts_at))
        if not archive.has(window)
    }


def write_windows(  # noqa: PLR0913 what of, where to, and when
    archive: Archive,
    registry: Registry,
    windows: dict[Window, list[Tally]],
    *,
    request: Request,
    now_s: float,
    alerts: Sequence[Alert] = (),
    advance: Callable[[int], object] = lambda _: None,
) -> ArchiveRun:
    """Write the report of each of these windows.

    A report that fails does not keep the others from being written.

    Devices cannot have reported in a window that has not begun. It is not written: its folder would
    stay, and keep the true report out.

    Args:
        archive: where to. It must be locked.
        registry: the definitions.
        windows: the tallies of each window.
        request: what is requested of each tally.
        now_s: the present time in Unix seconds.
        alerts: to judge in each window; those of changes over it and those before.
        advance: called with the number of tallies just estimated.

    """
    history = History(archive, registry)
    written: list[Window] = []
    failed: list[tuple[Window, str]] = []
    all_judged: list[JudgedAlert] = []
    skipped: list[Skipped] = []
    for window, tallies in windows.items():
        if window.starts_at > now_s + CLOCK_SKEW_S:
            failed.append((window, NOT_BEGUN))
            continue
        try:
            report = _report_of(registry, tallies, request, advance)
            whole = with_earlier(report, history.before(window), registry)
            changes = [each for each in whole.changes if each.last == window.text]
            of_window = judged(alerts, report.metrics, changes)
            archive.write(window, _files_of(registry, report, whole, of_window))
            written.append(window)
            all_judged += of_window
            skipped += report.skipped
        except HearsayError as error:
            failed.append((window, str(error)))
        except Exception as error:  # noqa: BLE001 whatever is wrong with one window must not cost the others
            failed.append((window, f"{type(error).__name__}: {error}"))
    return ArchiveRun(tuple(written), tuple(failed), tuple(all_judged), tuple(skipped))


def _report_of(
    registry: Registry, tallies: list[Tally], request: Request, advance: Callable[[int], object]
) -> EstimateReport:
    report = make_report(registry, tallies, request=request, advance=advance)
    if not report.metrics:  # a written window stays; the right registry can still estimate this one
        raise UnfitTallyError(_why_nothing(report))
    return report


def _files_of(
    registry: Registry, report: EstimateReport, whole: EstimateReport, alerts: Sequence[JudgedAlert]
) -> dict[str, bytes]:
    """Return the files of a window. The page shows the whole: earlier windows, and what changed."""
    files = {
        REPORT: as_json(report).encode(),
        "report.csv": as_csv(report).encode(),
        "report.html": as_html(whole, registry).encode(),
    }
    with suppress(MissingLibraryError):
        files["report.parquet"] = to_parquet(report)
    if alerts:
        files[ALERTS] = "".join(map(as_line, alerts)).encode()
    return files


def _why_nothing(report: EstimateReport) -> str:
    first, *others = report.skipped
    more = f" (and {len(others)} more)" if others else ""
    return f"no tally of it can be estimated: {first.metric} {first.edition}{more}: {first.reason}"


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
