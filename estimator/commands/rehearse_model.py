"""The command ``hearsay-estimator rehearse-model``: is a model worth it, before anything ships?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from secrets import randbits
from typing import Final

import click

from client_sdk.protocol.epsilon import RequestedEpsilon, as_float
from client_sdk.protocol.mechanisms.catalogue import channel_for
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.registry import Registry
from estimator.commands.options import REGISTRY, examples
from estimator.rehearsal.model_answers import read_people
from estimator.rehearsal.model_rehearsal import People, auc_without_privacy, rehearse_model

SEED_BITS: Final = 32
"""The length of a seed that was not given: short enough to be typed again."""

MOST_DEVICES: Final = 10**7
"""Each report of products is drawn by itself; so many take some minutes."""

DIGITS: Final = 6
"""Of an epsilon that is tried."""

FACTORS: Final = (0.5, 1, 2)
"""Other epsilons that are tried, as multiples of the registry's."""


@click.command(
    "rehearse-model",
    epilog=examples(
        "hearsay-estimator rehearse-model --registry metrics.toml --csv people.csv --metric limitation --devices 10000"
    ),
)
@REGISTRY
@click.option(
    "--csv",
    "table",
    metavar="FILE",
    required=True,
    type=click.Path(path_type=Path),
    help="True answers: a column a feature, one with the metric's name for the label; person for repeated rows.",
)
@click.option("--metric", "name", metavar="NAME", required=True, help="The model: a metric with a label of yes or no.")
@click.option(
    "--devices",
    metavar="N",
    type=click.IntRange(100, MOST_DEVICES),
    multiple=True,
    default=(10_000, 100_000),
    show_default=True,
    help="How many devices report; may be repeated.",
)
@click.option("--rounds", metavar="N", type=click.IntRange(1), default=5, show_default=True, help="Draws of people.")
@click.option("--seed", metavar="N", type=click.IntRange(0), help="The same seed gives the same output.")
def rehearse_models(  # noqa: PLR0913 one argument an option
    *, registry: Path, table: Path, name: str, devices: tuple[int, ...], rounds: int, seed: int | None
) -> None:
    """Say how well a model would predict people that it was not learned from, with privacy and without."""
    definitions = Registry.read(registry)
    if name not in definitions.metrics:
        raise click.UsageError(f"the registry has no metric {name!r}; name one of: {', '.join(definitions.metrics)}")
    metric = definitions.metric(name)
    people = read_people(table, metric)
    seed = randbits(SEED_BITS) if seed is None else seed
    plain = auc_without_privacy(people, metric, rounds, seed)
    click.echo(
        f"{name}: {metric.channel.name}, mean AUC over {rounds} draws of {len(people.answers):,} rows, seed {seed}"
    )
    click.echo(f"  without privacy           {plain:.3f}")
    for line in _lines(metric, people, devices, rounds, seed):
        click.echo(line)


def _lines(metric: Metric, people: People, devices: Sequence[int], rounds: int, seed: int) -> list[str]:
    """Return a line for each epsilon and number of devices."""
    lines = []
    for factor in FACTORS:
        epsilon = round(factor * as_float(metric.epsilon_nanos), DIGITS)
        channel = channel_for(metric.domain, RequestedEpsilon.parse(epsilon), metric.channel.name)
        tried = replace(metric, channel=channel)
        for number in devices:
            found = rehearse_model(tried, people, number, rounds, seed)
            lines.append(f"  epsilon {epsilon:<6.4g} {number:>10,}  {found.auc:.3f} ± {found.spread:.3f}")
    return lines
