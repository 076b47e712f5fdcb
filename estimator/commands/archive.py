"""The command ``hearsay-estimator archive``: a nightly job that keeps each closed window."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from client_sdk.protocol.command_line import ExitStatus
from client_sdk.protocol.registry import history
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
from estimator.report.alerts import read_alert


@click.command(
    cls=CommandWithExtras,
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
def archive(  # noqa: PLR0913 one argument an option
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
) -> None:
    """Write the report of every closed window that DIR does not have yet, in every format.

    Each window gets a folder, which appears whole and never changes. Run it as a job: a run that
    was interrupted is continued by the next one.
    """
    try:
        # loading templates takes 41 ms, which other commands save; and not every system has fcntl
        from estimator.archive import INDEX, PAGE, Archive, missing_windows, write_index, write_windows  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise OutputError(
            f"archive needs {error.name}, which this system does not have; run it on Linux or macOS"
        ) from None

    check_source(collector, tallies, allow_plain_http=allow_plain_http)
    selection = selection_of(first, last)
    if "pooled" in extras:
        raise click.UsageError("--with pooled spans windows, and archive writes each window alone; use report")
    require_unread([folder / INDEX, folder / PAGE], [registry, tallies, extras.get("candidates")])
    request = request_for(extras, form="json")
    definitions = history.read(registry)
    check_request(definitions, request)
    expressions = [read_alert(definitions, text) for text in alerts]
    received, _ = read_tallies(definitions, collector, tallies, selection)
    kept, now_s = Archive(folder), time.time()
    try:
        with kept.locked():
            missing = missing_windows(kept, received, selection)
            with progress("estimating", sum(map(len, missing.values()))) as advance:
                outcome = write_windows(
                    kept, definitions, missing, request=request, now_s=now_s, alerts=expressions, advance=advance
                )
            write_index(kept)
    except BusyError as error:
        click.echo(str(error), err=True)
        raise SystemExit(ExitStatus.NOTHING_NEW) from None
    for window in outcome.written:
        click.echo(f"wrote {kept.path(window)}")
    again = f"; to include them later, remove the folder of their window from {kept.folder} and run this again"
    click.echo("".join(skipped_lines(outcome.skipped, again)), err=True, nl=False)
    for window, reason in outcome.failed:
        click.echo(f"failed {window}: {reason}", err=True)
    if not (outcome.written or outcome.failed):
        click.echo("nothing new: every closed window is there", err=True)
    has_fired = print_alerts(outcome.alerts)
    status = _status(has_fired=has_fired, wrote=bool(outcome.written), failed=bool(outcome.failed))
    if status is not ExitStatus.DONE:
        raise SystemExit(status)


def _status(*, has_fired: bool, wrote: bool, failed: bool) -> ExitStatus:
    if has_fired:
        return ExitStatus.ALERT
    if failed:
        return ExitStatus.PARTLY_FAILED if wrote else ExitStatus.FAILED
    return ExitStatus.DONE if wrote else ExitStatus.NOTHING_NEW
