"""The command ``hearsay-estimator archive``."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from client_sdk.protocol.command_line import ExitStatus
from client_sdk.protocol.registry import history
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.window import Window
from estimator.commands.options import ALERTS, REGISTRY, examples
from estimator.commands.printing import print_alerts, progress, skipped_lines
from estimator.commands.report_options import (
    COLLECTOR,
    FIRST,
    LAST,
    PLAIN_HTTP,
    TALLIES,
    WITH,
    CommandWithExtras,
    check_request,
    check_source,
    read_tallies,
    request_for,
    require_unread,
    selection_of,
)
from estimator.errors import BusyError, OutputError
from estimator.output_files import is_not_ours
from estimator.report.alerts import read_alert
from estimator.report.publishing import LEAST_REPORTS

if TYPE_CHECKING:
    from estimator.archive import Archive, ArchiveRun


@click.command(
    cls=CommandWithExtras,
    short_help="Keep a report of every closed window.",
    epilog=examples(
        "hearsay-estimator archive reports --collector https://telemetry.example.com",
        "hearsay-estimator archive reports --tallies tallies.ndjson --with poisoning=0.01",
    ),
)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@REGISTRY
@COLLECTOR
@PLAIN_HTTP
@TALLIES
@FIRST
@LAST
@WITH
@ALERTS
@click.option(
    "--public",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="Also write a public folder. It contains the questions with public = true, in windows with 100 reports or "
    "more. Counts are rounded.",
)
def archive(  # noqa: PLR0913 one argument for each option
    *,
    folder: Path,
    registry: Path,
    collector: str | None,
    allow_plain_http: bool,
    tallies: Path | None,
    first: Window | None,
    last: Window | None,
    extras: Mapping[str, Any],
    alerts: tuple[str, ...],
    public: Path | None,
) -> None:
    """Write the missing reports of closed windows to DIR, in every format.

    Each window gets its own folder, which is written in a single step and never changes.
    DIR/index.html shows every question over all windows, and DIR/digest.txt summarizes all
    questions in 20 lines. Run this command as a scheduled job. If a run is interrupted, the next
    run continues it.
    """
    try:
        # importing this here saves other commands 41 ms for loading templates; it fails on systems
        # without fcntl
        from estimator.archive import ON_ALL_WINDOWS, Archive, missing_windows, write_standing, write_windows  # noqa: PLC0415
        from estimator.publication import METRICS, publish  # noqa: PLC0415 likewise 41 ms
    except ModuleNotFoundError as error:
        raise OutputError(
            f"archive needs {error.name}, which this system does not have; run it on Linux or macOS"
        ) from None

    check_source(collector, tallies, allow_plain_http=allow_plain_http)
    selection = selection_of(first, last)
    if "pooled" in extras:
        raise click.UsageError(
            "--with pooled combines windows, but archive writes each window separately; use the command report"
        )
    written = [each / name for each in (folder, public) if each is not None for name in ON_ALL_WINDOWS]
    require_unread(written, [registry, tallies, extras.get("candidates")])
    request = request_for(extras, form="json")
    definitions = history.read(registry)
    check_request(definitions, request)
    _check_public(definitions, folder, public)
    _refuse_mixed(Archive(folder), None if public is None else Archive(public), METRICS)
    for each in filter(None, (folder, public)):
        Archive(each).require_app(definitions.app)
    expressions = [read_alert(definitions, text) for text in alerts]
    received, _ = read_tallies(definitions, collector, tallies, selection)
    kept, now_s = Archive(folder), time.time()
    is_published = is_empty = False
    try:
        with ExitStack() as locks:
            locks.enter_context(kept.locked())
            if public is not None:  # refuse an unsuitable folder before anything is written
                locks.enter_context(Archive(public).locked())
            missing = missing_windows(kept, received, selection)
            with progress("estimating", sum(map(len, missing.values()))) as advance:
                outcome = write_windows(
                    kept, definitions, missing, request=request, now_s=now_s, alerts=expressions, advance=advance
                )
            write_standing(kept, definitions, partial(_say_damaged, kept))
            if public is not None:
                of_windows = [tally for tally in received if selection.spans(tally.window) and kept.has(tally.window)]
                with progress("publishing", len(of_windows)) as advance:
                    is_published, is_empty = publish(public, definitions, of_windows, advance)
    except BusyError as error:
        click.echo(str(error), err=True)
        raise SystemExit(ExitStatus.NOTHING_NEW) from None
    is_any = any(tally.closed and selection.spans(tally.window) for tally in received)
    _print(outcome, kept.folder, public if is_published and not is_empty else None, is_any=is_any)
    if is_empty:
        click.echo(f"nothing to publish: no public question has a closed window with {LEAST_REPORTS} reports", err=True)
    has_fired = print_alerts(outcome.alerts)
    status = _status(has_fired=has_fired, wrote=bool(outcome.written) or is_published, failed=bool(outcome.failed))
    if status is not ExitStatus.DONE:
        raise SystemExit(status)


def _refuse_mixed(kept: Archive, public: Archive | None, metrics: str) -> None:
    """Refuse to mix an archive and public data in one folder."""
    try:
        if (kept.folder / metrics).is_dir():
            raise OutputError(
                f"{kept.folder} is a public folder, but an archive contains every question; name another folder"
            )
        if public is not None and public.has_windows():
            raise OutputError(
                f"{public.folder} is an archive, which contains every question; name another folder for public data"
            )
        files = [] if public is None else [*(public.folder / metrics).glob("*.json")]
    except OSError:  # writing to the folder will report the error
        return
    foreign = next(filter(is_not_ours, files), None)
    if foreign is not None:
        raise OutputError(f"{foreign} was not written by archive, which would remove it; move it away")


def _say_damaged(kept: Archive, window: Window) -> None:
    click.echo(
        f"left {window.text} out of the pages on all windows: {kept.path(window) / 'report.json'} cannot be read; "
        "remove its folder, and the next run will write the folder again",
        err=True,
    )


def _check_public(definitions: Registry, folder: Path, public: Path | None) -> None:
    """Refuse a public folder that would stay empty or contain private data."""
    if public is None:
        return
    if public.resolve() == folder.resolve():
        raise click.UsageError("--public names DIR itself; name a separate folder, which contains only public files")
    if not any(metric.is_public for metric in definitions.metrics.values()):
        raise click.UsageError("--public: the registry has no question with public = true; add this key to a question")


def _print(outcome: ArchiveRun, folder: Path, published: Path | None, *, is_any: bool) -> None:
    for window in outcome.written:
        click.echo(f"wrote {folder / window.text}")
    if published is not None:
        click.echo(f"published {published}")
    again = (
        f"; to include skipped tallies later, remove the folders of their windows from {folder}, and run archive again"
    )
    click.echo("".join(skipped_lines(outcome.skipped, again)), err=True, nl=False)
    for window, reason in outcome.failed:
        click.echo(f"failed {window}: {reason}", err=True)
    if not (outcome.written or outcome.failed or published):
        reason = "every closed window is archived" if is_any else "no requested closed window has a tally"
        click.echo(f"nothing new: {reason}", err=True)


def _status(*, has_fired: bool, wrote: bool, failed: bool) -> ExitStatus:
    if has_fired:
        return ExitStatus.ALERT
    if failed:
        return ExitStatus.PARTLY_FAILED if wrote else ExitStatus.FAILED
    return ExitStatus.DONE if wrote else ExitStatus.NOTHING_NEW
