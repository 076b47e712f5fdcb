"""The command ``hearsay-estimator watch``, which redraws a table while reports arrive.

If the collector is down, the command waits until the collector is available.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import click
from msgspec.structs import replace

from client_sdk.protocol.registry import history
from client_sdk.protocol.window import Window
from estimator.commands.options import REGISTRY, WholeRange, examples
from estimator.commands.printing import skipped_lines, stdout
from estimator.commands.report import table_of
from estimator.commands.report_options import (
    FIRST,
    LAST,
    PLAIN_HTTP,
    WITH,
    CommandWithExtras,
    check_collector,
    check_request,
    read_token,
    request_for,
    selection_of,
)
from estimator.errors import CollectorDownError
from estimator.fetch import TOKEN_VARIABLE, fetch
from estimator.report.report import definitions_of, make_report
from estimator.tallies import Bounds

USUAL_S: Final = 60
"""The default number of seconds between two drawings."""

LEAST_S: Final = 10
"""The minimum number of seconds between two drawings.

Collectors renew their snapshots once an hour, or at a configured interval. For each drawing, the
collector must add up all counts in its store.
"""

GREATEST_S: Final = 86_400
"""The maximum number of seconds between two drawings: a day."""

CLEARED: Final = "\x1b[H\x1b[2J"
"""The escape sequence that moves the cursor to the top left corner and clears the screen."""


@dataclass(frozen=True, slots=True)
class Watch:
    """A loop that redraws a report.

    Attributes:
        look: fetches the tallies and returns the report as text.
        show: replaces the content of the screen with a string.
        wait: waits for a number of seconds.
        now: returns the present time in Unix seconds.
        every_s: the number of seconds between two drawings.
    """

    look: Callable[[], str]
    show: Callable[[str], None]
    wait: Callable[[float], None]
    now: Callable[[], float]
    every_s: float

    def run(self) -> None:
        """Redraw the report until an exception occurs, such as after Ctrl-C.

        Raises:
            TalliesError: if the collector's response does not consist of tallies.
        """
        picture, read_at = "", ""
        next_look = f"next update in {self.every_s:g} s; press Ctrl-C to end"
        while True:
            try:
                picture, read_at = self.look(), self._time()
            except CollectorDownError as error:
                shown = f"shown above: the state at {read_at}; " if read_at else ""
                self.show(f"{picture}\n{self._time()}: {error}\n{shown}{next_look}\n")
            else:
                self.show(f"{picture}\nread at {read_at}; {next_look}\n")
            self.wait(self.every_s)

    def _time(self) -> str:
        return f"{datetime.fromtimestamp(self.now(), UTC):%Y-%m-%d %H:%M:%S} UTC"


@click.command(
    cls=CommandWithExtras,
    short_help="Print a report every minute.",
    epilog=examples(
        "hearsay-estimator watch --collector https://telemetry.example.com",
        "hearsay-estimator watch --collector http://127.0.0.1:8080 --every 600",
    ),
)
@REGISTRY
@click.option(
    "--collector",
    required=True,
    metavar="URL",
    help=f"Read tallies from this collector. The read token is in {TOKEN_VARIABLE}.",
)
@PLAIN_HTTP
@FIRST
@LAST
@WITH
@click.option(
    "--every",
    "every_s",
    metavar="SECONDS",
    type=WholeRange(LEAST_S, GREATEST_S),
    default=USUAL_S,
    show_default=True,
    help="The time between two tables.",
)
@click.option("--verbose", is_flag=True, help="Show every figure, and explain the columns.")
def watch(  # noqa: PLR0913 one argument for each option
    *,
    registry: Path,
    collector: str,
    allow_plain_http: bool,
    first: Window | None,
    last: Window | None,
    extras: Mapping[str, Any],
    every_s: int,
    verbose: bool,
) -> None:
    """Print a collector's report every minute, including open windows, until you press Ctrl-C."""
    check_collector(collector, allow_plain_http=allow_plain_http)
    selection = selection_of(first, last, preliminary=True)
    request = request_for(extras, form="table")
    definitions = history.read(registry)
    check_request(definitions, request)
    token, bounds = read_token(), Bounds.from_metrics(definitions.counted, selection.spans)

    def drawn() -> str:
        fetched = fetch(collector, token, preliminary=True, bounds=bounds)
        report = make_report(definitions_of(definitions, fetched.tallies), fetched.tallies, selection, request)
        report = replace(report, snapshot_at=fetched.snapshot_at)
        return table_of(report, stdout(), verbose=verbose) + "".join(skipped_lines(report.skipped))

    try:
        Watch(drawn, show=_show, wait=time.sleep, now=time.time, every_s=every_s).run()
    except KeyboardInterrupt:
        click.echo()


def _show(picture: str) -> None:
    stream = stdout()
    cleared = CLEARED if stream.isatty() else ""
    click.echo(cleared + picture, color=True)
    stream.flush()
