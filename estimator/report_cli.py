"""The command ``report``: where tallies come from, what is wanted of them, and where the report goes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from client_sdk.spec import Window
from estimator.covariance import MOST_VALUES
from estimator.errors import MissingLibraryError, OutputError, TalliesError
from estimator.fetch import TOKEN_VARIABLE, fetch
from estimator.files import write_whole
from estimator.metric_estimate import Wanted
from estimator.options import BETWEEN_0_AND_1, REGISTRY, WindowType, load_registry, progress
from estimator.render import BINARY_FORMATS, FORMATS
from estimator.report import Report, Selection, make_report
from estimator.tallies import Tally, read_file


@click.command()
@REGISTRY
@click.option("--collector", metavar="URL", help=f"Read tallies over HTTP; the read token comes from {TOKEN_VARIABLE}.")
@click.option("--tallies", metavar="FILE", type=click.Path(path_type=Path), help="Read tallies from an NDJSON file.")
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
@click.option(
    "--fakes",
    metavar="FRACTION",
    type=BETWEEN_0_AND_1,
    help="How far so large a part of made-up reports could move each share; and a test of each tally; not for rows.",
)
@click.option("--format", "form", type=click.Choice([*FORMATS, *BINARY_FORMATS]), default="table", show_default=True)
@click.option("--output", metavar="FILE", type=click.Path(path_type=Path), help="Write it here, whole, not to stdout.")
def report(  # noqa: PLR0913 one argument an option
    *,
    registry: Path,
    collector: str | None,
    tallies: Path | None,
    preliminary: bool,
    first: Window | None,
    last: Window | None,
    simultaneous: bool,
    covariance: bool,
    central_delta: float | None,
    pool: bool,
    fakes: float | None,
    form: str,
    output: Path | None,
) -> None:
    """Print estimates, standard errors and confidence intervals of every metric and window."""
    if (collector is None) == (tallies is None):
        raise click.UsageError("say where the tallies are: either --collector URL or --tallies FILE")
    if first and last and first.starts_at >= last.ends_at:
        raise click.UsageError(f"--from {first} begins after --to {last} has ended; exchange them")
    if covariance and form != "json":
        raise click.UsageError("a covariance is a matrix, which only JSON holds; add --format json")
    if central_delta is not None and form in ("csv", "parquet"):
        raise click.UsageError("a central epsilon is of a whole tally, not of a row; take --format table or json")
    if output is None and form in BINARY_FORMATS:
        raise click.UsageError(f"{form} is not for the eye; add --output FILE")
    if fakes is not None and form in ("csv", "parquet"):
        raise click.UsageError("a test is of a whole tally, not of a row; take --format table or json")
    definitions = load_registry(registry)
    try:
        read = _read(collector, tallies, preliminary=preliminary)
    except TalliesError as error:
        raise click.ClickException(str(error)) from error
    wanted = Wanted(simultaneous, covariance, central_delta, pool, fakes=fakes)
    with progress("testing tallies", 0 if fakes is None else len(read)) as advance:
        made = make_report(definitions, _told(read, advance), Selection(first, last, preliminary), wanted)
    _name_skipped(made)
    if covariance:
        _name_too_large(made)
    _put(made, form, output)


def _put(made: Report, form: str, output: Path | None) -> None:
    try:
        content = BINARY_FORMATS[form](made) if form in BINARY_FORMATS else FORMATS[form](made).encode()
        if output is None:
            click.echo(content, nl=False)
        else:
            write_whole(output, content)
    except (OutputError, MissingLibraryError) as error:
        raise click.ClickException(str(error)) from error


def _read(collector: str | None, tallies: Path | None, *, preliminary: bool) -> list[Tally]:
    if tallies is not None:
        return read_file(tallies)
    token = os.environ.get(TOKEN_VARIABLE, "")
    if collector is None or not (token.isascii() and token.isprintable() and token):
        raise click.UsageError(f"set {TOKEN_VARIABLE} to the collector's read token, one line of ASCII")
    return fetch(collector, token, preliminary=preliminary)


def _told(tallies: list[Tally], advance: Callable[[int], None]) -> Iterator[Tally]:
    """Yield the tallies, and tell of each when it is done."""
    for tally in tallies:
        yield tally
        advance(1)


def _name_too_large(made: Report) -> None:
    for one in made.metrics:
        if one.shares is not None and one.reports and one.covariance is None:
            click.echo(f"{one.metric.name} {one.window}: no covariance of more than {MOST_VALUES} shares", err=True)


def _name_skipped(made: Report) -> None:
    for one in made.skipped:
        click.echo(f"skipped {one.metric} {one.edition} {one.window}: {one.reason}", err=True)
