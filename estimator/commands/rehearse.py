"""The command ``hearsay-estimator rehearse``: known answers through the real mechanisms."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from secrets import randbits

import click

from client_sdk.protocol.registry.registry import Registry
from estimator.commands.options import RANGES, REGISTRY, examples
from estimator.commands.printing import progress, put
from estimator.rehearsal import rehearsal
from estimator.rehearsal.ground_truth import MAX_DEVICES, GroundTruth, from_shares, read_csv
from estimator.render.text.rehearsal import FORMATS
from estimator.report.report import check_ranges

DEVICES = click.IntRange(1, MAX_DEVICES)

SEED_BITS = 32
"""The length of a seed that was not given: short enough to be typed again."""


@click.command(
    epilog=examples(
        "hearsay-estimator rehearse --registry metrics.toml --csv answers.csv --repeat 5000 --seed 7",
        "hearsay-estimator rehearse --registry metrics.toml --population 1000000 --rounds 20",
    )
)
@REGISTRY
@click.option(
    "--csv",
    "table",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="True answers: one column per metric, one row per device.",
)
@click.option(
    "--repeat", metavar="N", type=DEVICES, help="With --csv: how many devices each row represents.  [default: 1]"
)
@click.option("--population", metavar="N", type=DEVICES, help="Draw N devices instead, uniformly or by --shares.")
@click.option(
    "--shares",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="With --population: the share of each answer of each metric, in TOML or JSON.",
)
@click.option(
    "--seed", metavar="N", type=click.IntRange(0), help="The same seed gives the same output.  [default: random]"
)
@click.option(
    "--rounds",
    metavar="N",
    type=click.IntRange(0),
    default=0,
    help="Repeat the draw N times to measure how often intervals contain the truth.",
)
@RANGES
@click.option(
    "--format", "form", type=click.Choice(list(FORMATS)), default="table", show_default=True, help="The format."
)
def rehearse(  # noqa: PLR0913 one argument an option
    *,
    registry: Path,
    table: Path | None,
    repeat: int | None,
    population: int | None,
    shares: Path | None,
    seed: int | None,
    rounds: int,
    ranges: tuple[tuple[str, float, float], ...],
    form: str,
) -> None:
    """Run known answers through the real mechanisms, and print estimates next to the truth."""
    definitions = Registry.read(registry)
    check_ranges(definitions, ranges)
    truth = _ground_truth(definitions, table, repeat, population, shares)
    if truth.ignored:
        click.echo(f"ignored columns, which are no metrics: {', '.join(map(repr, truth.ignored))}", err=True)
    for metric, reason in truth.missing:
        click.echo(f"skipped {metric.name}: {reason}", err=True)
    seed = randbits(SEED_BITS) if seed is None else seed
    with progress("rehearsing", rounds * len(truth.crowds)) as advance:
        outcome = rehearsal.rehearse(truth, seed=seed, rounds=rounds, ranges=ranges, after_round=partial(advance, 1))
    put(FORMATS, form, outcome)


def _ground_truth(
    registry: Registry, table: Path | None, repeat: int | None, population: int | None, shares: Path | None
) -> GroundTruth:
    if (table is None) == (population is None):
        raise click.UsageError("say what is true: either --csv FILE or --population N")
    if shares is not None and population is None:
        raise click.UsageError("--shares belongs to --population; a CSV has shares of its own")
    if repeat is not None and table is None:
        raise click.UsageError("--repeat belongs to --csv; give --population the number of devices")
    if table is not None:
        return read_csv(table, registry, repeat or 1)
    return from_shares(registry, population or 0, shares)
