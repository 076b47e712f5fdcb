"""The commands ``rehearse`` and ``rehearse-model``, which simulate reports of known answers."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from secrets import randbits
from typing import Any, Final

import click

from client_sdk.protocol.epsilon import as_float
from client_sdk.protocol.mechanisms.catalogue import channel_for
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.requested_epsilon import GREATEST_EPSILON, RequestedEpsilon
from client_sdk.protocol.window import Window, WindowKind
from estimator.commands.options import REGISTRY, NumberRange, WholeRange, examples
from estimator.commands.printing import progress, put
from estimator.commands.report_options import CommandWithExtras, require_unread, with_extras
from estimator.errors import metric_named
from estimator.output_files import is_not_ours, write_whole
from estimator.rehearsal import rehearsal
from estimator.rehearsal.ground_truth import MAX_DEVICES, GroundTruth, from_shares, read_csv
from estimator.rehearsal.model_rehearsal import (
    MOST_DEVICES,
    MOST_REHEARSALS,
    Loss,
    ModelRehearsal,
    RehearsedModel,
    TriedModel,
    auc_without_privacy,
    devices_for,
    read_people,
    rehearse_model,
)
from estimator.render.text.rehearsal import FORMATS, MODEL_FORMATS
from estimator.report.report import check_ranges, make_report
from estimator.results.report import Request, Selection
from estimator.tallies import Tally, encode

DEVICES = WholeRange(1, MAX_DEVICES)

SEED_BITS = 32
"""The number of bits of a generated seed. A seed of this size is short enough to type."""

DIGITS: Final = 6
"""The number of decimal places of the default epsilons."""

FEWEST_ROUNDS: Final = 2
"""The minimum number of rounds if ``--loss`` is given.

A single round does not show the effect of chance.
"""

FACTORS: Final = (0.5, 1, 2)
"""The default epsilons without ``--loss``, as multiples of the registry's epsilon."""


@click.command(
    cls=CommandWithExtras,
    short_help="Run known answers through the mechanisms.",
    epilog=examples(
        "hearsay-estimator rehearse --registry metrics.toml --csv answers.csv --repeat 5000 --seed 7",
        "hearsay-estimator rehearse --registry metrics.toml --population 1000000 --rounds 20",
    ),
)
@REGISTRY
@click.option(
    "--csv",
    "table",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="A CSV file of true answers, with one column per metric and one row per device.",
)
@click.option(
    "--repeat", metavar="N", type=DEVICES, help="With --csv: how many devices each row represents.  [default: 1]"
)
@click.option(
    "--population", metavar="N", type=DEVICES, help="Without --csv: draw N devices, uniformly or by --shares."
)
@click.option(
    "--shares",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="With --population: the share of each answer of each metric, in TOML or JSON.",
)
@click.option("--seed", metavar="N", type=WholeRange(0), help="The seed of the random numbers.  [default: random]")
@click.option(
    "--rounds",
    metavar="N",
    type=WholeRange(0),
    default=0,
    help="Repeat the draw N times to measure how often intervals contain the truth.",
)
@with_extras(["range"], "range=startup_ms:2000:5000")
@click.option(
    "--html",
    "page",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Also write a report on these answers, as a web page.",
)
@click.option(
    "--tallies-out",
    "out",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Also write the tallies, in a new file, for other commands to read with --tallies.",
)
@click.option(
    "--format", "form", type=click.Choice(list(FORMATS)), default="table", show_default=True, help="The format."
)
def rehearse(  # noqa: PLR0913 one argument for each option
    *,
    registry: Path,
    table: Path | None,
    repeat: int | None,
    population: int | None,
    shares: Path | None,
    seed: int | None,
    rounds: int,
    extras: Mapping[str, Any],
    page: Path | None,
    out: Path | None,
    form: str,
) -> None:
    """Run known answers through the real mechanisms, and print estimates next to the truth."""
    definitions = Registry.read(registry)
    ranges = extras.get("range", ())
    check_ranges(definitions, ranges)
    _check_files(page, out, [registry, table, shares])
    truth = _ground_truth(definitions, table, repeat, population, shares)
    if truth.ignored:
        click.echo(f"ignored columns, which are not metrics: {', '.join(map(repr, truth.ignored))}", err=True)
    for reason in dict.fromkeys(reason for _, reason in truth.missing):
        names = ", ".join(metric.name for metric, why in truth.missing if why == reason)
        click.echo(f"skipped {names}: {reason}", err=True)
    seed = randbits(SEED_BITS) if seed is None else seed
    tallies: list[Tally] = []
    window_of = {} if page is None and out is None else {"window_of": partial(_last_closed, time.time())}
    with progress("rehearsing", rounds * len(truth.populations)) as advance:
        after_round = partial(advance, 1)
        outcome = rehearsal.rehearse(
            truth, seed=seed, rounds=rounds, ranges=ranges, after_round=after_round, keep=tallies.append, **window_of
        )
    if out is not None:
        write_whole(out, encode(tallies))
    if page is not None:
        write_whole(page, _page_of(definitions, tallies, Request(ranges=ranges, highlights=True)))
    put(FORMATS, form, outcome)


def _last_closed(now_s: float, kind: WindowKind) -> Window:
    return Window.at(kind, Window.at(kind, now_s).starts_at - 1)


def _check_files(page: Path | None, out: Path | None, read: Sequence[Path | None]) -> None:
    """Refuse output files that would overwrite each other or an input.

    The page may replace only a file that a report wrote. The tallies must go to a new file.
    """
    files = [file for file in (page, out) if file is not None]
    if page is not None and page == out:
        raise click.UsageError(f"--html and --tallies-out both name {page}; name two files")
    require_unread(files, read)
    if page is not None and is_not_ours(page):
        raise click.UsageError(
            f"{page} was not written by a report, and was left unchanged; name another file for the page"
        )
    if out is not None and out.exists():
        raise click.UsageError(f"{out} already exists, and may contain tallies of real reports; name a new file")


def _page_of(registry: Registry, tallies: Sequence[Tally], request: Request) -> bytes:
    from estimator.render.html.page import as_html  # noqa: PLC0415 takes 33 ms, which other formats save

    report = make_report(registry, tallies, Selection(), request)
    return as_html(report, replace(registry, app=f"Rehearsal of {registry.app}")).encode()


def _ground_truth(
    registry: Registry, table: Path | None, repeat: int | None, population: int | None, shares: Path | None
) -> GroundTruth:
    if (table is None) == (population is None):
        problem = "the true answers are missing: add" if table is None else "the true answers are given twice: keep"
        raise click.UsageError(f"{problem} either --csv FILE or --population N")
    if shares is not None and population is None:
        raise click.UsageError("--shares requires --population; a CSV file contains its own shares")
    if repeat is not None and table is None:
        raise click.UsageError("--repeat requires --csv; --population already states the number of devices")
    if table is not None:
        return read_csv(table, registry, repeat or 1)
    return from_shares(registry, population or 0, shares)


@click.command(
    "rehearse-model",
    short_help="Measure how well a model will predict.",
    epilog=examples(
        "hearsay-estimator rehearse-model --registry metrics.toml --csv people.csv --metric limitation --devices 10000",
        "hearsay-estimator rehearse-model --registry metrics.toml --csv people.csv --metric limitation --loss 0.02",
    ),
)
@REGISTRY
@click.option(
    "--csv",
    "table",
    metavar="FILE",
    required=True,
    type=click.Path(path_type=Path),
    help="A CSV file of true answers: a column for each feature, and a column for the label, named like the metric. "
    "An optional column named person marks rows of the same person.",
)
@click.option(
    "--metric", "name", metavar="NAME", required=True, help="The metric of the model, whose label must be yes or no."
)
@click.option(
    "--devices",
    metavar="N",
    type=WholeRange(100, MOST_DEVICES),
    multiple=True,
    default=(10_000, 100_000),
    show_default=True,
    help="The number of devices that report. Repeatable.",
)
@click.option(
    "--epsilon",
    "epsilons",
    metavar="EPSILON",
    type=NumberRange(0, min_open=True),
    multiple=True,
    help="An epsilon to try. Repeatable.  [default: the registry's epsilon; without --loss, also half and twice this]",
)
@click.option(
    "--loss",
    metavar="AUC",
    type=NumberRange(0, 0.5, min_open=True),
    help="Instead of --devices: search for the fewest devices at which privacy lowers the AUC by at most this much.",
)
@click.option(
    "--rounds",
    metavar="N",
    type=WholeRange(1),
    default=5,
    show_default=True,
    help="The number of rounds, each with newly drawn people.",
)
@click.option("--seed", metavar="N", type=WholeRange(0), help="The seed of the random numbers.  [default: random]")
@click.option(
    "--format", "form", type=click.Choice(list(MODEL_FORMATS)), default="table", show_default=True, help="The format."
)
def rehearse_models(  # noqa: PLR0913 one argument for each option
    *,
    registry: Path,
    table: Path,
    name: str,
    devices: tuple[int, ...],
    epsilons: tuple[float, ...],
    loss: float | None,
    rounds: int,
    seed: int | None,
    form: str,
) -> None:
    """Measure how well a model predicts for people outside its training data.

    The measurement compares models learned from randomized reports with a linear model
    fitted to the true answers.
    """
    definitions = Registry.read(registry)
    metric = metric_named(definitions, name)
    if loss is not None and rounds < FEWEST_ROUNDS:
        raise click.UsageError(f"--loss requires at least {FEWEST_ROUNDS} rounds to estimate its error; 20 are better")
    people = read_people(table, metric)
    seed = randbits(SEED_BITS) if seed is None else seed
    own = as_float(metric.epsilon_nanos)
    others = tuple(round(factor * own, DIGITS) for factor in (FACTORS if loss is None else (1,)))
    models = {each: _with_epsilon(metric, each) for each in epsilons or others if epsilons or each <= GREATEST_EPSILON}
    plain = auc_without_privacy(people, metric, rounds, seed)
    if loss is None:
        with progress("rehearsing", len(models) * len(devices) * rounds) as advance:
            tried = [
                _tried(epsilon, rehearse_model(model, people, number, rounds, seed, advance))
                for epsilon, model in models.items()
                for number in devices
            ]
    else:
        with progress("searching", len(models) * MOST_REHEARSALS) as advance:
            tried = [
                _searched(epsilon, devices_for(model, people, loss, rounds=rounds, seed=seed, advance=advance))
                for epsilon, model in models.items()
            ]
    rehearsed = RehearsedModel(
        metric=name,
        mechanism=metric.channel.name,
        rounds=rounds,
        rows=len(people.answers),
        seed=seed,
        auc_without_privacy=plain,
        tried=tuple(tried),
        most_loss=loss,
    )
    put(MODEL_FORMATS, form, rehearsed)


def _tried(epsilon: float, rehearsal: ModelRehearsal) -> TriedModel:
    return TriedModel(epsilon, rehearsal.devices, rehearsal.auc, rehearsal.spread)


def _searched(epsilon: float, loss: Loss | None) -> TriedModel:
    if loss is None:
        return TriedModel(epsilon, MOST_DEVICES, None, None)
    return TriedModel(epsilon, loss.rehearsal.devices, loss.rehearsal.auc, loss.rehearsal.spread, loss.mean, loss.error)


def _with_epsilon(metric: Metric, epsilon: float) -> Metric:
    try:
        channel = channel_for(metric.kind, RequestedEpsilon.parse(epsilon), metric.channel.name)
    except ValueError as error:
        raise click.UsageError(f"--epsilon {error}") from None
    return replace(metric, channel=channel)
