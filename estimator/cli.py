"""The command line: parse, call, print, exit code (0 done, 1 no tallies, or an accusation; 2 usage)."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from secrets import randbits

import click

from client_sdk.spec import Registry, Window, WindowError
from estimator import rehearsal
from estimator.covariance import MOST_VALUES
from estimator.errors import AnswersError, TalliesError
from estimator.estimate import Wanted
from estimator.fetch import TOKEN_VARIABLE, fetch
from estimator.options import REGISTRY, load_registry, progress
from estimator.population import MAX_DEVICES, Source, from_shares, read_csv
from estimator.render import FORMATS
from estimator.render.rehearsed import FORMATS as REHEARSAL_FORMATS
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


_DEVICES = click.IntRange(1, MAX_DEVICES)

SEED_BITS = 32
"""Of a seed that was not given: short enough to be typed again."""


class _Commands(click.Group):
    """The commands; two are loaded when they are asked for, so that no report waits for the SDK that an audit plays."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted([*super().list_commands(ctx), "audit", "plan"])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a name, or none."""
        if cmd_name == "audit":
            from estimator.audit.command import audit_command  # noqa: PLC0415 as the class says

            return audit_command
        if cmd_name == "plan":
            from estimator.plan_cli import plan  # noqa: PLC0415 as the class says

            return plan
        return super().get_command(ctx, cmd_name)


@click.group(cls=_Commands)
@click.version_option(package_name="hearsay-ldp")
def command() -> None:
    """Estimate what is true of a population from perturbed reports."""


@command.command()
@REGISTRY
@click.option("--collector", metavar="URL", help=f"Read tallies over HTTP; the read token comes from {TOKEN_VARIABLE}.")
@click.option("--tallies", metavar="FILE", type=click.Path(path_type=Path), help="Read tallies from an NDJSON file.")
@click.option("--preliminary", is_flag=True, help="Also windows that are still open, marked as such.")
@click.option(
    "--from", "first", metavar="WINDOW", type=_WindowType(), help="From this window on: a day, week or month."
)
@click.option("--to", "last", metavar="WINDOW", type=_WindowType(), help="Up to the end of this window.")
@click.option("--simultaneous", is_flag=True, help="Intervals that hold together, for all that one tally tells.")
@click.option("--pool", is_flag=True, help="Also all windows of a metric together, and the change.")
@click.option("--covariance", is_flag=True, help="With --format json: the covariance of all shares of a metric.")
@click.option(
    "--central-delta",
    metavar="DELTA",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="The epsilon of each closed tally at this delta, if only tallies are published; not in CSV.",
)
@click.option("--format", "form", type=click.Choice(list(FORMATS)), default="table", show_default=True)
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
    form: str,
) -> None:
    """Print estimates, standard errors and confidence intervals of every metric and window."""
    if (collector is None) == (tallies is None):
        raise click.UsageError("say where the tallies are: either --collector URL or --tallies FILE")
    if first and last and first.starts_at >= last.ends_at:
        raise click.UsageError(f"--from {first} begins after --to {last} has ended; exchange them")
    if covariance and form != "json":
        raise click.UsageError("a covariance is a matrix, which only JSON holds; add --format json")
    if central_delta is not None and form == "csv":
        raise click.UsageError("a central epsilon is of a whole tally, not of a row; take --format table or json")
    definitions = load_registry(registry)
    try:
        read = _read(collector, tallies, preliminary=preliminary)
    except TalliesError as error:
        raise click.ClickException(str(error)) from error
    wanted = Wanted(simultaneous, covariance, central_delta, pool)
    made = make_report(definitions, read, Selection(first, last, preliminary), wanted)
    _name_skipped(made)
    if covariance:
        _name_too_large(made)
    click.echo(FORMATS[form](made), nl=False)


@command.command()
@REGISTRY
@click.option(
    "--csv",
    "table",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="True answers: a column a metric, a row a device.",
)
@click.option("--repeat", metavar="N", type=_DEVICES, help="With --csv: how many devices a row stands for (1).")
@click.option("--population", metavar="N", type=_DEVICES, help="Draw N devices instead, uniformly or from --shares.")
@click.option(
    "--shares", metavar="FILE", type=click.Path(path_type=Path), help="TOML or JSON: metric to answer to its share."
)
@click.option(
    "--seed", metavar="N", type=click.IntRange(0), help="The same seed gives the same output; else a fresh one."
)
@click.option("--rounds", metavar="N", type=click.IntRange(0), default=0, help="Draw N times anew to measure coverage.")
@click.option("--format", "form", type=click.Choice(list(REHEARSAL_FORMATS)), default="table", show_default=True)
def rehearse(  # noqa: PLR0913 one argument an option
    *,
    registry: Path,
    table: Path | None,
    repeat: int | None,
    population: int | None,
    shares: Path | None,
    seed: int | None,
    rounds: int,
    form: str,
) -> None:
    """Run known answers through the real mechanisms and print truth beside estimate."""
    source = _source(load_registry(registry), table, repeat, population, shares)
    if source.ignored:
        click.echo(f"ignored columns, which are no metrics: {', '.join(map(repr, source.ignored))}", err=True)
    for metric in source.missing:
        click.echo(f"skipped {metric.name}: {rehearsal.NO_COLUMN}", err=True)
    seed = randbits(SEED_BITS) if seed is None else seed
    with progress("rehearsing", rounds * len(source.crowds)) as advance:
        made = rehearsal.rehearse(source, seed=seed, rounds=rounds, after_round=partial(advance, 1))
    click.echo(REHEARSAL_FORMATS[form](made), nl=False)


def _source(
    registry: Registry, table: Path | None, repeat: int | None, population: int | None, shares: Path | None
) -> Source:
    if (table is None) == (population is None):
        raise click.UsageError("say what is true: either --csv FILE or --population N")
    if shares is not None and population is None:
        raise click.UsageError("--shares belongs to --population; a CSV has shares of its own")
    if repeat is not None and table is None:
        raise click.UsageError("--repeat belongs to --csv; give --population the number of devices")
    try:
        if table is not None:
            return read_csv(table, registry, repeat or 1)
        return from_shares(registry, population or 0, shares)
    except AnswersError as error:
        raise click.UsageError(f"the answers cannot be used:\n{error}") from error


def _read(collector: str | None, tallies: Path | None, *, preliminary: bool) -> list[Tally]:
    if tallies is not None:
        return read_file(tallies)
    token = os.environ.get(TOKEN_VARIABLE, "")
    if collector is None or not (token.isascii() and token.isprintable() and token):
        raise click.UsageError(f"set {TOKEN_VARIABLE} to the collector's read token, one line of ASCII")
    return fetch(collector, token, preliminary=preliminary)


def _name_too_large(made: Report) -> None:
    for one in made.metrics:
        if one.shares is not None and one.reports and one.covariance is None:
            click.echo(f"{one.metric.name} {one.window}: no covariance of more than {MOST_VALUES} shares", err=True)


def _name_skipped(made: Report) -> None:
    for one in made.skipped:
        click.echo(f"skipped {one.metric} {one.edition} {one.window}: {one.reason}", err=True)
