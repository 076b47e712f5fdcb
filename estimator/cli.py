"""The command line: parse, call, print, exit code (0 done, 1 the tallies cannot be had, 2 usage or registry)."""

from __future__ import annotations

import os
from pathlib import Path

import click

from client_sdk.spec import Registry, RegistryError, Window, WindowError
from estimator.errors import TalliesError
from estimator.fetch import TOKEN_VARIABLE, fetch
from estimator.render import FORMATS
from estimator.report import Report, Selection, make_report
from estimator.tallies import Tally, read_file


class _WindowType(click.ParamType[Window]):
    """A window by its name."""

    name = "window"

    def convert(self, value: str | Window, param: click.Parameter | None, ctx: click.Context | None) -> Window:
        """Return the window that a text names, or refuse it with a usage error."""
        if isinstance(value, Window):
            return value
        try:
            return Window.parse(value)
        except WindowError as error:
            self.fail(f"{value!r}: {error}", param, ctx)


@click.group()
def command() -> None:
    """Estimate what is true of a population from perturbed reports."""


@command.command()
@click.option("--registry", required=True, metavar="FILE", type=click.Path(path_type=Path), help="The metrics.toml.")
@click.option("--collector", metavar="URL", help=f"Read tallies over HTTP; the read token comes from {TOKEN_VARIABLE}.")
@click.option("--tallies", metavar="FILE", type=click.Path(path_type=Path), help="Read tallies from an NDJSON file.")
@click.option("--preliminary", is_flag=True, help="Also windows that are still open, marked as such.")
@click.option("--from", "first", metavar="WINDOW", type=_WindowType(), help="The first window, for example 2026-11-20.")
@click.option("--to", "last", metavar="WINDOW", type=_WindowType(), help="The last window.")
@click.option("--format", "form", type=click.Choice(list(FORMATS)), default="table", show_default=True)
def report(  # noqa: PLR0913 one argument an option
    *,
    registry: Path,
    collector: str | None,
    tallies: Path | None,
    preliminary: bool,
    first: Window | None,
    last: Window | None,
    form: str,
) -> None:
    """Print estimates, standard errors and confidence intervals of every metric and window."""
    if (collector is None) == (tallies is None):
        raise click.UsageError("say where the tallies are: either --collector URL or --tallies FILE")
    if first and last and first.starts_at > last.starts_at:
        raise click.UsageError(f"--from {first} begins after --to {last}; exchange them")
    try:
        definitions = Registry.load(registry)
    except RegistryError as error:
        raise click.UsageError(f"the registry cannot be used:\n{error}") from error
    try:
        read = _read(collector, tallies, preliminary=preliminary)
    except TalliesError as error:
        raise click.ClickException(str(error)) from error
    made = make_report(definitions, read, Selection(first, last, preliminary))
    _name_skipped(made)
    click.echo(FORMATS[form](made), nl=False)


def _read(collector: str | None, tallies: Path | None, *, preliminary: bool) -> list[Tally]:
    if tallies is not None:
        return read_file(tallies)
    token = os.environ.get(TOKEN_VARIABLE, "")
    if collector is None or not (token.isascii() and token.isprintable() and token):
        raise click.UsageError(f"set {TOKEN_VARIABLE} to the collector's read token, one line of ASCII")
    return fetch(collector, token, preliminary=preliminary)


def _name_skipped(made: Report) -> None:
    for one in made.skipped:
        click.echo(f"skipped {one.metric} {one.edition} {one.window}: {one.reason}", err=True)
