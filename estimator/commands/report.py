"""The command ``report``: where tallies come from, what is wanted of them, and where the report goes."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from client_sdk.protocol import Registry
from estimator.atomic_file import write_whole
from estimator.commands.archive import Kept, keep
from estimator.commands.options import BETWEEN_0_AND_1, REGISTRY, WindowType, load_registry
from estimator.commands.printing import put
from estimator.commands.progress import progress
from estimator.commands.report_options import Asked
from estimator.commands.watch_loop import GREATEST_S, LEAST_S, USUAL_S
from estimator.errors import MissingLibraryError, OutputError, TalliesError
from estimator.estimates.covariance import MOST_VALUES
from estimator.render import BINARY_FORMATS, FORMATS
from estimator.report.report import make_report
from estimator.results.report import Report
from estimator.results.request import Selection
from estimator.tallies.bounds import Bounds
from estimator.tallies.read_token import TOKEN_VARIABLE, read_token
from estimator.tallies.tally import Tally, read_file

BYTES_OF_A_MB = 10**6


@click.command()
@REGISTRY
@click.option("--collector", metavar="URL", help=f"Read tallies over HTTP; the read token comes from {TOKEN_VARIABLE}.")
@click.option(
    "--tallies", metavar="FILE", type=click.Path(path_type=Path), help="Read tallies from an NDJSON file; - is stdin."
)
@click.option("--preliminary", is_flag=True, help="Also windows that are still open, marked as such.")
@click.option("--from", "first", metavar="WINDOW", type=WindowType(), help="From this window on: a day, week or month.")
@click.option("--to", "last", metavar="WINDOW", type=WindowType(), help="Up to the end of this window.")
@click.option("--simultaneous", is_flag=True, help="Intervals that hold together, for all that one tally tells.")
@click.option("--pool", is_flag=True, help="Also all windows of a metric together, and the change.")
@click.option("--covariance", is_flag=True, help="With --format json: the covariance of all shares of a metric.")
@click.option(
    "--central-delta",
    metavar="DELTA",
    type=BETWEEN_0_AND_1,
    help="The epsilon of each closed tally at this delta, if only tallies are published; not in CSV.",
)
@click.option("--clusters", is_flag=True, help="Clusters of numbers, scales and pairs, and how many; not for rows.")
@click.option(
    "--fakes",
    metavar="FRACTION",
    type=BETWEEN_0_AND_1,
    help="How far so large a part of made-up reports could move each share; and a test of each tally; not for rows.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice([*FORMATS, *BINARY_FORMATS]),
    help="What is printed: a table by default, and nothing where --html stands alone.",
)
@click.option("--html", metavar="FILE", type=click.Path(path_type=Path), help="Write a page for the browser here.")
@click.option("--output", metavar="FILE", type=click.Path(path_type=Path), help="Write it here, whole, not to stdout.")
@click.option(
    "--out",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="With --every window: write each closed window that is not there yet, in every form, and an index.",
)
@click.option("--every", type=click.Choice(["window"]), help="With --out: a folder each.")
@click.option(
    "--watch",
    "watch_s",
    metavar="[SECONDS]",
    is_flag=False,
    flag_value=USUAL_S,
    type=click.IntRange(LEAST_S, GREATEST_S),
    help=f"Draw the table anew every {USUAL_S} seconds, with windows that are still open, until Ctrl-C.",
)
def report(**options: Any) -> None:  # noqa: ANN401 what click read, by the names of `Asked`
    """Print estimates, standard errors and confidence intervals of every metric and window.

    The exit status is 1 if no tally could be had, or none of a closed window could be estimated, and 3 if there was
    none of a closed window. With --out it is 0 if a window was written, 3 if there was nothing new, 4 if some windows
    were written and others failed, and 1 if all failed.
    """
    asked = Asked(**options)
    for is_made, sentence in asked.mistakes():
        if is_made:
            raise click.UsageError(sentence)
    registry = load_registry(asked.registry)
    if asked.watch_s is not None:
        from estimator.commands.watch import watch_collector  # noqa: PLC0415 no other report waits for HTTP

        watch_collector(registry, asked.collector or "", asked.selection, asked.wanted, asked.watch_s)
        return
    try:
        tallies, snapshot_at = _read(asked, Bounds.of(registry, asked.selection.spans))
    except TalliesError as error:
        raise click.ClickException(str(error)) from error
    if asked.out is not None:
        raise SystemExit(keep(asked.out, registry, tallies, asked.selection, asked.wanted, time.time()))
    try:
        with progress("estimating", len(tallies)) as advance:
            made = make_report(registry, tallies, asked.selection, asked.wanted, advance)
    except TalliesError as error:
        raise click.ClickException(str(error)) from error
    made = replace(made, snapshot_at=snapshot_at)
    _name_skipped(made)
    if asked.covariance:
        _name_too_large(made)
    _put_all(made, registry, asked)
    status = _status(made, tallies, asked.selection)
    if status:
        raise SystemExit(status)


def _put_all(made: Report, registry: Registry, asked: Asked) -> None:
    try:
        if asked.html is not None:
            _put_page(made, registry, asked.html)
        if asked.printed is not None:
            _put(made, asked.printed, asked.output)
    except (OutputError, MissingLibraryError) as error:
        raise click.ClickException(str(error)) from error


def _status(made: Report, tallies: list[Tally], selection: Selection) -> Kept:
    """Return how a report ended that was printed: for cron one without any estimate is none, as with --out."""
    if made.metrics:
        return Kept.WROTE
    is_failed = any(selection.spans(tally.window) and (tally.closed or selection.preliminary) for tally in tallies)
    return Kept.FAILED if is_failed else Kept.NOTHING_NEW


def _put_page(made: Report, registry: Registry, html: Path) -> None:
    from estimator.render.html import as_html  # noqa: PLC0415 no other form waits for templates

    page = as_html(made, registry).encode()
    write_whole(html, page)
    click.echo(f"{html} is written: {len(page) / BYTES_OF_A_MB:.1f} MB, open it in a browser", err=True)


def _put(made: Report, form: str, output: Path | None) -> None:
    if output is None and form == "table":
        put(FORMATS, form, made)
        return
    content = BINARY_FORMATS[form](made) if form in BINARY_FORMATS else FORMATS[form](made).encode()
    if output is None:
        click.echo(content, nl=False)
    else:
        write_whole(output, content)


def _read(asked: Asked, bounds: Bounds) -> tuple[list[Tally], datetime | None]:
    """Return the tallies, and when the collector looked at them, if it says so."""
    if asked.tallies is not None:
        return read_file(asked.tallies, bounds), None
    from estimator.tallies.fetch import fetch  # noqa: PLC0415 a file of tallies needs no HTTP

    fetched = fetch(asked.collector or "", read_token(), preliminary=asked.preliminary, bounds=bounds)
    return fetched.tallies, fetched.snapshot_at


def _name_too_large(made: Report) -> None:
    for one in made.metrics:
        if one.shares is not None and one.reports and one.covariance is None:
            click.echo(f"{one.metric.name} {one.window}: no covariance of more than {MOST_VALUES} shares", err=True)


def _name_skipped(made: Report) -> None:
    for one in made.skipped:
        click.echo(f"skipped {one.metric} {one.edition} {one.window}: {one.reason}", err=True)
