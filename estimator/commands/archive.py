"""The output of ``report --out``, and its exit status."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from pathlib import Path

import click

from client_sdk.protocol.registry.registry import Registry
from estimator.commands.printing import print_alerts
from estimator.commands.progress import progress
from estimator.errors import BusyError, OutputError
from estimator.results.alert import Alert
from estimator.results.request import Request, Selection
from estimator.tallies.tally import Tally


class Kept(IntEnum):
    """The exit statuses, for cron and systemd. 2 is a mistake in the command line."""

    WROTE = 0
    FAILED = 1
    NOTHING_NEW = 3
    PARTLY_FAILED = 4
    ALERT = 5
    """At least one alert fired. It goes before 4: a later run tries failed windows again, and
    judges no window twice.
    """


def keep(  # noqa: PLR0913 where to, from what, and when
    folder: Path,
    registry: Registry,
    tallies: Sequence[Tally],
    *,
    selection: Selection,
    request: Request,
    alerts: Sequence[Alert],
    now_s: float,
) -> Kept:
    """Write the report of every closed window that has none yet, and print what was done.

    Args:
        folder: the archive.
        registry: the definitions.
        tallies: of any windows.
        selection: which windows are requested.
        request: what is requested of each tally.
        alerts: to judge in each window that is written.
        now_s: the present time in Unix seconds.

    Returns:
        The exit status.

    Raises:
        OutputError: if the folder cannot be used.

    """
    try:
        # loading templates takes 41 ms, which other reports save; and not every system has fcntl
        from estimator.archive.folder import Archive  # noqa: PLC0415
        from estimator.archive.index import write_index  # noqa: PLC0415
        from estimator.archive.windows import missing_windows, write_windows  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise OutputError(
            f"--out needs {error.name}, which this system does not have; run it on Linux or macOS"
        ) from None

    archive = Archive(folder)
    try:
        with archive.locked():
            missing = missing_windows(archive, tallies, selection)
            with progress("estimating", sum(map(len, missing.values()))) as advance:
                outcome = write_windows(
                    archive, registry, missing, request=request, now_s=now_s, alerts=alerts, advance=advance
                )
            write_index(archive)
    except BusyError as error:
        click.echo(str(error), err=True)
        return Kept.NOTHING_NEW
    for window in outcome.written:
        click.echo(f"wrote {archive.path(window)}")
    for window, reason in outcome.failed:
        click.echo(f"failed {window}: {reason}", err=True)
    if print_alerts(outcome.alerts):
        return Kept.ALERT
    if outcome.failed:
        return Kept.PARTLY_FAILED if outcome.written else Kept.FAILED
    if not outcome.written:
        click.echo("nothing new: every closed window is there", err=True)
        return Kept.NOTHING_NEW
    return Kept.WROTE
