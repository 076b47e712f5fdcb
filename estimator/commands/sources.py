"""The options that say which tallies `report`, `watch` and `archive` read, and from where."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

import click

from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.same_file import replaced
from client_sdk.protocol.window import Window
from client_sdk.protocol.wire.base_url import is_readable_on_the_way
from estimator.commands.options import WindowType
from estimator.report.participation import check_installs
from estimator.report.report import check_candidates, check_ranges
from estimator.results.request import Request, Selection
from estimator.tallies.fetch import NO_COLLECTOR, TOKEN_VARIABLE, fetch, is_collector, token_of_environment
from estimator.tallies.tally import STDIN, Bounds, Tally, read_file

COLLECTOR: Final = click.option(
    "--collector", metavar="URL", help=f"Read tallies from this collector. {TOKEN_VARIABLE} holds the read token."
)

PLAIN_HTTP: Final = click.option(
    "--allow-plain-http",
    is_flag=True,
    help="Accept an http:// URL of another machine. Anyone on the network path can read the token.",
)

TALLIES: Final = click.option(
    "--tallies",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Read tallies from an NDJSON file; - is standard input.",
)

FIRST: Final = click.option(
    "--from", "first", metavar="WINDOW", type=WindowType(), help="The first window: a day, week or month."
)

LAST: Final = click.option("--to", "last", metavar="WINDOW", type=WindowType(), help="The last window, included.")


def check_collector(collector: str, *, allow_plain_http: bool) -> None:
    """Refuse what is no URL, and a collector on another machine without TLS.

    Raises:
        click.UsageError: saying what to do.

    """
    if not is_collector(collector):
        raise click.UsageError(NO_COLLECTOR)
    if is_readable_on_the_way(collector) and not allow_plain_http:
        raise click.UsageError(
            "--collector must be an https:// URL, unless it is on this machine: anyone on the network path could read "
            "the token and change the tallies. Add --allow-plain-http to accept that"
        )


def check_source(collector: str | None, tallies: Path | None, *, allow_plain_http: bool) -> None:
    """Refuse anything but one place that tallies are read from.

    Raises:
        click.UsageError: saying what to do.

    """
    if (collector is None) == (tallies is None):
        raise click.UsageError("say where the tallies are: either --collector URL or --tallies FILE")
    if collector is not None:
        check_collector(collector, allow_plain_http=allow_plain_http)


def selection_of(first: Window | None, last: Window | None, *, preliminary: bool = False) -> Selection:
    """Return the windows from the first to the last one.

    Raises:
        click.UsageError: if the first one begins after the last one has ended.

    """
    if first and last and first.starts_at >= last.ends_at:
        raise click.UsageError(f"--from {first} begins after --to {last} has ended; exchange them")
    return Selection(first, last, preliminary)


def check_request(registry: Registry, request: Request) -> None:
    """Refuse figures that a registry's metrics do not have, before tallies are read.

    Raises:
        RequestError: saying which, and what to do.
        UnknownMetricError: if the registry does not define a metric.

    """
    check_ranges(registry, request.ranges)
    check_candidates(registry, request.candidates)
    check_installs(registry, request)


def read_tallies(
    registry: Registry, collector: str | None, tallies: Path | None, selection: Selection
) -> tuple[list[Tally], datetime | None]:
    """Return the tallies, and when the collector read its open windows; None if it does not say.

    Raises:
        TalliesError: if they cannot be read.
        click.UsageError: if there is no read token for the collector.

    """
    bounds = Bounds.of(registry, selection.spans)
    if tallies is not None:
        return read_file(tallies, bounds), None
    fetched = fetch(collector or "", read_token(), preliminary=selection.preliminary, bounds=bounds)
    return fetched.tallies, fetched.snapshot_at


def read_token() -> str:
    """Return the secret of the environment, for a command.

    Raises:
        click.UsageError: if there is no secret, if there are two, or if it cannot stand in a
            header.

    """
    try:
        return token_of_environment()
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def require_unread(files: Sequence[Path], read: Sequence[Path | None]) -> None:
    """Refuse to replace a file that the command reads.

    Args:
        files: that the command writes.
        read: the files that it reads; None for one that was not named.

    Raises:
        click.UsageError: naming the file.

    """
    names = [Path("/dev/stdin") if file == STDIN else file for file in read if file is not None]
    taken = replaced(files, names)
    if taken is not None:
        raise click.UsageError(f"{taken} is read here, and the report would replace it; name another file to write")
