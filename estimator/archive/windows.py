"""A report of every closed window that has none yet, each in a folder of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from client_sdk.protocol import CLOCK_SKEW_S, HearsayError, Registry, Window
from estimator.archive.folder import REPORT, Archive
from estimator.errors import MissingLibraryError, UnfitTallyError
from estimator.formats.document import ReportDocument
from estimator.formats.frames import to_parquet
from estimator.formats.to_csv import as_csv
from estimator.formats.to_json import as_json
from estimator.render.html import as_html
from estimator.report.report import make_report
from estimator.results.report import Report
from estimator.results.request import Selection, Wanted
from estimator.tallies.tally import Tally

NOT_BEGUN: Final = "it has not begun; see whether the clocks of this machine and of the collector are right"


@dataclass(frozen=True, slots=True)
class Ran:
    """What one run did.

    Attributes:
        wrote: the windows that it wrote.
        failed: those that it could not write, with the reason.

    """

    wrote: tuple[Window, ...]
    failed: tuple[tuple[Window, str], ...]


def missing_windows(archive: Archive, tallies: Iterable[Tally], selection: Selection) -> dict[Window, list[Tally]]:
    """Return the tallies of every closed window that is wanted and not there, the oldest first."""
    windows: dict[Window, list[Tally]] = {}
    for tally in tallies:
        if tally.closed and selection.spans(tally.window):
            windows.setdefault(tally.window, []).append(tally)
    return {
        window: of_window
        for window, of_window in sorted(windows.items(), key=lambda item: (item[0].ends_at, item[0].starts_at))
        if not archive.has(window)
    }


def write_windows(  # noqa: PLR0913, PLR0917 what of, where to, and when
    archive: Archive,
    registry: Registry,
    windows: dict[Window, list[Tally]],
    wanted: Wanted,
    now_s: float,
    advance: Callable[[int], object] = lambda _: None,
) -> Ran:
    """Write the report of every one of these windows; one that cannot be made keeps no other from being made.

    A window that has not begun is none that devices can have reported in. It is not written: a folder that is there
    stays, and would keep the true one out.

    Args:
        archive: which is locked.
        registry: the definitions.
        windows: the tallies of each.
        wanted: what is wanted of each tally.
        now_s: Unix seconds.
        advance: called with the number of tallies that are done.

    """
    wrote: list[Window] = []
    failed: list[tuple[Window, str]] = []
    for window, tallies in windows.items():
        if window.starts_at > now_s + CLOCK_SKEW_S:
            failed.append((window, NOT_BEGUN))
            continue
        try:
            archive.write(window, _files_of(registry, tallies, wanted, advance))
            wrote.append(window)
        except HearsayError as error:
            failed.append((window, str(error)))
        except Exception as error:  # noqa: BLE001 whatever is wrong with one window must not cost the others
            failed.append((window, f"{type(error).__name__}: {error}"))
    return Ran(tuple(wrote), tuple(failed))


def _files_of(
    registry: Registry, tallies: list[Tally], wanted: Wanted, advance: Callable[[int], object]
) -> dict[str, bytes]:
    report = make_report(registry, tallies, wanted=wanted, advance=advance)
    if not report.metrics:  # once written it would stay so; with the right registry it can still be made
        raise UnfitTallyError(_why_nothing(report))
    files = {
        REPORT: as_json(report).encode(),
        "report.csv": as_csv(report).encode(),
        "report.html": as_html(report, registry).encode(),
    }
    with suppress(MissingLibraryError):
        files["report.parquet"] = to_parquet(ReportDocument.of(report))
    return files


def _why_nothing(report: Report) -> str:
    first, *others = report.skipped
    more = f" (and {len(others)} more)" if others else ""
    return f"no tally of it can be estimated: {first.metric} {first.edition}{more}: {first.reason}"
