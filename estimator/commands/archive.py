"""What ``report --out`` says, and the exit status that it ends with."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from pathlib import Path

import click

from client_sdk.protocol import Registry
from estimator.commands.progress import progress
from estimator.errors import BusyError, OutputError
from estimator.results.request import Selection, Wanted
from estimator.tallies.tally import Tally


class Kept(IntEnum):
    """The exit statuses, for cron and systemd; 2 is a mistake on the command line."""

    WROTE = 0
    FAILED = 1
    NOTHING_NEW = 3
    PARTLY_FAILED = 4


def keep(  # noqa: PLR0913, PLR0917 where to, from what, and when
    folder: Path, registry: Registry, tallies: Sequence[Tally], selection: Selection, wanted: Wanted, now_s: float
) -> Kept:
    """Write the report of every closed window that has none yet at a time in Unix seconds, and say so.

    Raises:
        click.ClickException: if the folder cannot be used.

    """
    try:
        return _keep(folder, registry, tallies, selection, wanted, now_s)
    except BusyError as error:
        click.echo(str(error), err=True)
        return Kept.NOTHING_NEW
    except OutputError as error:
        raise click.ClickException(str(error)) from error


def _keep(  # noqa: PLR0913, PLR0917 as above
    folder: Path, registry: Registry, tallies: Sequence[Tally], selection: Selection, wanted: Wanted, now_s: float
) -> Kept:
    try:
        from estimator.archive.folder import Archive  # noqa: PLC0415 not every system has its locks
        from estimator.archive.index import write_index  # noqa: PLC0415 as above
        from estimator.archive.windows import missing_windows, write_windows  # noqa: PLC0415 as above
    except ModuleNotFoundError as error:
        raise OutputError(
            f"--out needs {error.name}, which this system does not have; run it on Linux or macOS"
        ) from None

    archive = Archive(folder)
    with archive.locked():
        missing = missing_windows(archive, tallies, selection)
        with progress("estimating", sum(map(len, missing.values()))) as advance:
            ran = write_windows(archive, registry, missing, wanted, now_s, advance)
        write_index(archive)
    for window in ran.wrote:
        click.echo(f"wrote {archive.path(window)}")
    for window, reason in ran.failed:
        click.echo(f"failed {window}: {reason}", err=True)
    if ran.failed:
        return Kept.PARTLY_FAILED if ran.wrote else Kept.FAILED
    if not ran.wrote:
        click.echo("nothing new: every closed window is there", err=True)
        return Kept.NOTHING_NEW
    return Kept.WROTE
