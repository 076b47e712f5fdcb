"""The command ``report``: where tallies come from, what is wanted of them, and where the report goes."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from client_sdk.spec import Registry, Window
from estimator.covariance import MOST_VALUES
from estimator.errors import MissingLibraryError, OutputError, TalliesError
from estimator.fetch import fetch
from estimator.files import write_whole
from estimator.keep_cli import keep
from estimator.metric_estimate import Wanted
from estimator.options import BETWEEN_0_AND_1, REGISTRY, WindowType, load_registry
from estimator.progress import progress
from estimator.read_token import TOKEN_VARIABLE, read_token
from estimator.render import BINARY_FORMATS, FORMATS
from estimator.render.as_table import as_table
from estimator.render.style import Style
from estimator.report import Report, Selection, make_report
from estimator.tallies import Tally, read_file

BYTES_OF_A_MB = 10**6


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
    clusters: bool,
    fakes: float | None,
    form: str | None,
    html: Path | None,
    output: Path | None,
    out: Path | None,
    every: str | None,
) -> None:
    """Print estimates, standard errors and confidence intervals of every metric and window.

    With --out the exit status is 0 if a window was written, 3 if there was nothing new, 4 if some windows were written
    and others failed, and 1 if all failed.
    """
    if form is None and (html is None or output is not None):
        form = "table"
    _refuse_the_first(
        (
            (collector is None) == (tallies is None),
            "say where the tallies are: either --collector URL or --tallies FILE",
        ),
        (
            first and last and first.starts_at >= last.ends_at,
            f"--from {first} begins after --to {last} has ended; exchange them",
        ),
        (covariance and form != "json", "a covariance is a matrix, which only JSON holds; add --format json"),
        (
            central_delta is not None and form in ("csv", "parquet"),
            "a central epsilon is of a whole tally, not of a row; take --format table or json",
        ),
        (
            (fakes is not None or clusters) and form in ("csv", "parquet"),
            "tests and clusters are of a whole tally, not of a row; take --format table or json",
        ),
        (output is None and form in BINARY_FORMATS, f"{form} is not for the eye; add --output FILE"),
        ((out is None) != (every is None), "--out DIR and --every window belong together"),
        (
            out and (preliminary or pool or output or html or form != "table"),
            "--out writes closed windows in every form, without --preliminary, --pool, --output, --html and --format",
        ),
    )
    definitions = load_registry(registry)
    try:
        read = _read(collector, tallies, preliminary=preliminary)
    except TalliesError as error:
        raise click.ClickException(str(error)) from error
    wanted = Wanted(simultaneous, covariance, central_delta, pool, fakes=fakes, clusters=clusters)
    selection = Selection(first, last, preliminary)
    if out is not None:
        raise SystemExit(keep(out, definitions, read, selection, wanted))
    with progress("estimating", len(read)) as advance:
        made = make_report(definitions, read, selection, wanted, advance)
    _name_skipped(made)
    if covariance:
        _name_too_large(made)
    try:
        if html is not None:
            _put_page(made, definitions, html)
        if form is not None:
            _put(made, form, output)
    except (OutputError, MissingLibraryError) as error:
        raise click.ClickException(str(error)) from error


def _put_page(made: Report, registry: Registry, html: Path) -> None:
    from estimator.render.html import as_html  # noqa: PLC0415 no other form waits for templates

    page = as_html(made, registry).encode()
    write_whole(html, page)
    click.echo(f"{html} is written: {len(page) / BYTES_OF_A_MB:.1f} MB, open it in a browser", err=True)


def _refuse_the_first(*mistakes: tuple[object, str]) -> None:
    """Refuse a command line by the sentence on the first mistake that it makes."""
    for is_made, sentence in mistakes:
        if is_made:
            raise click.UsageError(sentence)


def _put(made: Report, form: str, output: Path | None) -> None:
    if output is None and form == "table":
        click.echo(as_table(made, Style.of(sys.stdout)), nl=False, color=True)
        return
    content = BINARY_FORMATS[form](made) if form in BINARY_FORMATS else FORMATS[form](made).encode()
    if output is None:
        click.echo(content, nl=False)
    else:
        write_whole(output, content)


def _read(collector: str | None, tallies: Path | None, *, preliminary: bool) -> list[Tally]:
    if tallies is not None:
        return read_file(tallies)
    return fetch(collector or "", read_token(), preliminary=preliminary)


def _name_too_large(made: Report) -> None:
    for one in made.metrics:
        if one.shares is not None and one.reports and one.covariance is None:
            click.echo(f"{one.metric.name} {one.window}: no covariance of more than {MOST_VALUES} shares", err=True)


def _name_skipped(made: Report) -> None:
    for one in made.skipped:
        click.echo(f"skipped {one.metric} {one.edition} {one.window}: {one.reason}", err=True)
