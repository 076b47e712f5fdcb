"""The archive of a running collection: one report for each closed window, and an overview.

```
DIR/index.html  index.json      all windows, and the latest result of every metric
DIR/digest.txt  digest.html     a summary of the overview in a few lines, for mail or chat
DIR/2026-11-20/report.json …    the report of one window, in every format
DIR/.lock                       locked while a run is writing
DIR/.part-…                     an unfinished folder; after an interruption, the next run removes it
```

A window's folder is written under another name and renamed once it is complete. A closed window
does not change, so its folder is never written to again. Each run rewrites the overview from the
archived reports. Besides the latest results, the overview shows how answers changed between
windows.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Final

import msgspec

from client_sdk.protocol.errors import HearsayError, WindowError
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.window import Window, WindowKind
from client_sdk.protocol.wire.verdict import CLOCK_SKEW_S
from estimator.errors import BusyError, MissingLibraryError, OutputError, ReportError, UnfitTallyError
from estimator.formats.json_documents import as_json, as_line, read_report
from estimator.formats.tables import as_csv, to_parquet
from estimator.output_files import is_not_ours, remove_parts, replace_file, write_through
from estimator.render.digest import digest_of, digest_text
from estimator.render.html.page import as_html, environment, filled, page_of
from estimator.render.html.standing import newest, on_all_windows, standing_of
from estimator.report.alerts import Alert, JudgedAlert, judged
from estimator.report.changes import changes_of
from estimator.report.report import in_order, make_report, of_known_editions, over_windows
from estimator.report.strata import apart
from estimator.results.metric import MetricEstimate
from estimator.results.report import Changes, EstimateReport, Request, Selection, Skipped
from estimator.results.standing import INDEX, INDEX_SCHEMA, PAGE, ArchivedWindow
from estimator.tallies import Tally

OF_A_COLLECTOR: Final = ("appendonlydir", "store.log", "store.address", "store.mark")
"""Files in the data directory of a collector's embedded store. The archive refuses a folder with
any of these files.
"""

DIGEST: Final = "digest.txt"
DIGEST_PAGE: Final = "digest.html"
ON_ALL_WINDOWS: Final = (INDEX, PAGE, DIGEST, DIGEST_PAGE)
"""The files of the overview, which every run rewrites."""

LOCK: Final = ".lock"
PART: Final = ".part-"
REPORT: Final = "report.json"
"""The name of a file in the folder of every archived window. A folder without this file does not
count as an archived window.
"""


@dataclass(frozen=True, slots=True)
class Archive:
    """The archive's folder, which may not exist yet.

    This folder contains one folder for each archived window.
    """

    folder: Path

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the archive against other runs, and remove unfinished work of interrupted runs.

        Raise `BusyError` if another run is writing to the archive. Raise `OutputError` if the
        folder cannot be created or written to, or belongs to a collector.
        """
        try:
            if any((self.folder / name).exists() for name in OF_A_COLLECTOR):
                raise OutputError(f"{self.folder} is a collector's data directory; name another folder for the reports")
            self._require_no_other_index()
            self.folder.mkdir(parents=True, exist_ok=True)
            with (self.folder / LOCK).open("ab") as lock:
                _lock(lock.fileno(), self.folder)
                for left in self.folder.glob(f"{PART}*"):
                    shutil.rmtree(left)
                remove_parts(self.folder)
                yield
        except OSError as error:
            raise OutputError(
                f"{self.folder} cannot be used: {error.strerror}; name a folder that may be written to"
            ) from error

    def _require_no_other_index(self) -> None:
        """Refuse a folder with an index file that this module did not write, such as a website.

        An archive with a damaged index is accepted, because each run rewrites the index.
        """
        foreign = next(filter(is_not_ours, (self.folder / name for name in ON_ALL_WINDOWS)), None)
        if foreign is not None and not (self.folder / LOCK).exists():
            raise OutputError(
                f"{foreign} was not written by a report, and is left as it is; name another folder for the reports"
            )

    def require_app(self, app: str) -> None:
        """Raise `OutputError` if the archive belongs to another app.

        The windows of two apps are never mixed.
        """
        with suppress(OSError, ValueError, TypeError, KeyError):  # the index is missing, or damaged and rewritten later
            other = json.loads((self.folder / INDEX).read_bytes())["app"]
            if other != app:
                raise OutputError(
                    f"{self.folder} contains the reports of {other}, but the registry is for {app}; name another "
                    f"folder, or remove {self.folder / INDEX} if the app was renamed"
                )

    def windows(self) -> list[Window]:
        """Return the archived windows, the newest first."""
        windows = [window for path in self.folder.iterdir() if (window := _window_of(path)) is not None]
        return sorted(windows, key=lambda window: (window.ends_at, window.starts_at), reverse=True)

    def has_windows(self) -> bool:
        """Return whether the archive exists and has any windows."""
        return self.folder.is_dir() and bool(self.windows())

    def has(self, window: Window) -> bool:
        """Return whether the archive has the report of a window."""
        return _window_of(self.folder / window.text) is not None

    def path(self, window: Window) -> Path:
        """Return the folder of a window."""
        return self.folder / window.text

    def write(self, window: Window, files: Mapping[str, bytes]) -> None:
        """Write the folder of a window that is not archived yet. All its files appear at once.

        ``files`` maps the name of each file to its content. Raise `OutputError` if the folder
        cannot be written, or already exists.
        """
        if self.path(window).exists():
            raise OutputError(f"{self.path(window)} already exists, but has no {REPORT}; move it away")
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
    """Lock the archive. The system releases the lock when this process exits or is killed."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise BusyError(f"another run is writing to {folder}, so this run does nothing") from None


def _sync(folder: Path) -> None:
    """Wait until a folder's entries are on the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


MOST_BYTES: Final = 2**26
"""The maximum number of bytes of reports that the overview reads, per kind of window (day, week,
month). The newest reports are read first. A report on a metric with a million values has about this
size.
"""

Estimates = Mapping[Window, Sequence[MetricEstimate]]
"""A mapping from window to the estimates of all metrics."""

ALERTS: Final = "alerts.ndjson"
"""A file in a window's folder with the outcomes of the window's alerts. Later runs do not report
these alerts again.
"""

NOT_BEGUN: Final = "it has not begun; check that the clocks of this machine and of the collector are right"


@dataclass(frozen=True, slots=True)
class ArchiveRun:
    """The result of adding windows to the archive.

    ``failed`` contains the windows that could not be archived, each with the reason. ``alerts``
    contains the outcomes of alerts in the written windows, and ``skipped`` the tallies that the
    written reports leave out.
    """

    written: tuple[Window, ...]
    failed: tuple[tuple[Window, str], ...]
    alerts: tuple[JudgedAlert, ...] = ()
    skipped: tuple[Skipped, ...] = ()


def missing_windows(archive: Archive, tallies: Iterable[Tally], selection: Selection) -> dict[Window, list[Tally]]:
    """Return, for each selected closed window that is not archived yet, the window's tallies.

    The oldest window comes first.
    """
    windows: dict[Window, list[Tally]] = {}
    for tally in tallies:
        if tally.closed and selection.spans(tally.window):
            windows.setdefault(tally.window, []).append(tally)
    return {
        window: of_window
        for window, of_window in sorted(windows.items(), key=lambda item: (item[0].ends_at, item[0].starts_at))
        if not archive.has(window)
    }


def write_windows(  # noqa: PLR0913 the tallies, the destination and the time
    archive: Archive,
    registry: Registry,
    windows: dict[Window, list[Tally]],
    *,
    request: Request,
    now_s: float,
    alerts: Sequence[Alert] = (),
    advance: Callable[[int], object] = lambda _: None,
) -> ArchiveRun:
    """Write a report for each of the given windows, and check the alerts.

    The archive must be locked. If one report cannot be written, the other reports are still
    written. For alerts about changes, the given windows are compared with earlier windows.

    A window that begins after ``now_s`` (in Unix seconds) gets no folder. Devices cannot have
    answered in this window yet. A folder would prevent a later run from writing the report of the
    window's real answers.
    """
    written: list[Window] = []
    failed: list[tuple[Window, str]] = []
    all_judged: list[JudgedAlert] = []
    skipped: list[Skipped] = []
    recent: dict[WindowKind, Estimates] = {}
    for window, tallies in windows.items():
        if window.starts_at > now_s + CLOCK_SKEW_S:
            failed.append((window, NOT_BEGUN))
            continue
        try:
            report = _report_of(registry, tallies, request, advance)
            changes: list[Changes] = []
            if any(alert.bound is None for alert in alerts):
                before = [each for each in archive.windows() if _is_before(each, window)]
                known = recent_estimates(archive, registry, before, known=recent.get(window.kind, {}))
                recent[window.kind] = {**known, window: [*of_known_editions(report.metrics, registry)]}
                changes = _changes_until(window, recent[window.kind], registry)
            of_window = judged(alerts, report.metrics, changes)
            archive.write(window, _files_of(registry, report, of_window))
            written.append(window)
            all_judged += of_window
            skipped += report.skipped
        except HearsayError as error:
            failed.append((window, str(error)))
        except Exception as error:  # noqa: BLE001 an error in one window must not affect the others
            failed.append((window, f"{type(error).__name__}: {error}"))
    return ArchiveRun(tuple(written), tuple(failed), tuple(all_judged), tuple(skipped))


def _report_of(
    registry: Registry, tallies: list[Tally], request: Request, advance: Callable[[int], object]
) -> EstimateReport:
    shown = replace(request, highlights=True)  # the window's page begins with the main results
    report = make_report(registry, tallies, request=shown, advance=advance)
    if not report.metrics:  # write no final folder, because a corrected registry may help
        raise UnfitTallyError(_why_nothing(report))
    return report


def _is_before(earlier: Window, window: Window) -> bool:
    return earlier.kind is window.kind and earlier.starts_at < window.starts_at


def _changes_until(window: Window, estimates: Estimates, registry: Registry) -> list[Changes]:
    """Return how answers changed from the archived windows to ``window``, which is not archived."""
    metrics = apart(registry).metrics
    changes = changes_of(in_order(chain.from_iterable(estimates.values()), metrics), metrics)
    return [each for each in changes if each.last == window.text]


def _files_of(registry: Registry, report: EstimateReport, alerts: Sequence[JudgedAlert]) -> dict[str, bytes]:
    files = {
        REPORT: as_json(report).encode(),
        "report.csv": as_csv(report).encode(),
        "report.html": as_html(report, registry).encode(),
    }
    with suppress(MissingLibraryError):
        files["report.parquet"] = to_parquet(report)
    if alerts:
        files[ALERTS] = "".join(map(as_line, alerts)).encode()
    return files


def _why_nothing(report: EstimateReport) -> str:
    first, *others = report.skipped
    more = f" (and {len(others)} more)" if others else ""
    return f"none of its tallies can be estimated: {first.metric} {first.edition}{more}: {first.reason}"


def write_standing(
    archive: Archive, registry: Registry, is_damaged: Callable[[Window], object] = lambda _: None
) -> None:
    """Write the overview files if their content has changed.

    The archive must be locked. Each file is replaced in one step. After an interruption, some files
    are new and others old. ``is_damaged`` is called with each window that is left out because its
    report cannot be read. Raise `OutputError` if a file cannot be written.
    """
    known = _known(archive.folder / INDEX)
    windows = archive.windows()
    entries = tuple(known.get(window.text) or _entry(window, archive.path(window)) for window in windows)
    recent = recent_estimates(archive, registry, windows, is_damaged)
    page = page_of(over_windows(chain.from_iterable(recent.values()), registry), registry)
    standing = standing_of(page, entries)
    files = {
        INDEX: as_json(standing),
        PAGE: filled("standing.html.jinja", page, **on_all_windows(page, standing)),
        DIGEST: digest_text(standing),
        DIGEST_PAGE: environment().get_template("digest.html.jinja").render(digest=digest_of(standing)),
    }
    for name, text in files.items():
        replace_file(archive.folder / name, text)


def recent_estimates(
    archive: Archive,
    registry: Registry,
    windows: Iterable[Window],
    is_damaged: Callable[[Window], object] = lambda _: None,
    known: Estimates = MappingProxyType({}),
) -> Estimates:
    """Return the estimates of known editions in the newest windows of each kind.

    An edition is unknown if the registry does not contain it. If a report cannot be read, its
    window is left out and passed to ``is_damaged``. Another version of Hearsay may have written the
    report. The reports of windows in ``known`` are not read.
    """
    estimates: dict[Window, Sequence[MetricEstimate]] = {}
    left = dict.fromkeys(WindowKind, MOST_BYTES)
    for window in newest(windows, registry):
        path = archive.path(window) / REPORT
        left[window.kind] -= path.stat().st_size
        if left[window.kind] >= 0:
            try:
                estimates[window] = known.get(window) or [*of_known_editions(read_report(path).metrics, registry)]
            except ReportError:
                is_damaged(window)
    return estimates


def _known(path: Path) -> dict[str, ArchivedWindow]:
    """Return a mapping from name to window for all windows that an index file lists.

    Returns {} if there is no valid index.
    """
    with suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
        document = json.loads(path.read_bytes())
        if document["schema"] == INDEX_SCHEMA:
            return {entry.window: entry for entry in msgspec.convert(document["windows"], list[ArchivedWindow])}
    return {}


def _entry(window: Window, folder: Path) -> ArchivedWindow:
    files = tuple(sorted(path.name for path in folder.iterdir()))
    try:
        report = read_report(folder / REPORT)
    except ReportError:  # perhaps another version of Hearsay wrote it; the index still links to it
        return ArchivedWindow(window.text, window.kind, None, None, None, files)
    reports = sum(estimated.reports for estimated in report.metrics)
    return ArchivedWindow(window.text, window.kind, len(report.metrics), reports, len(report.skipped), files)
