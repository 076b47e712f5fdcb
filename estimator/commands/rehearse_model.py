"""The command ``hearsay-estimator rehearse-model``: is a model worth it, before anything ships?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from secrets import randbits
from typing import Final

import click

from client_sdk.protocol.epsilon import as_float
from client_sdk.protocol.mechanisms.catalogue import channel_for
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.requested_epsilon import GREATEST_EPSILON, RequestedEpsilon
from estimator.commands.options import REGISTRY, NumberRange, examples
from estimator.commands.progress import progress
from estimator.rehearsal.model_answers import read_people
from estimator.rehearsal.model_rehearsal import People, auc_without_privacy, rehearse_model
from estimator.rehearsal.model_search import MOST_DEVICES, MOST_REHEARSALS, devices_for

SEED_BITS: Final = 32
"""The length of a seed that was not given: short enough to be typed again."""

DIGITS: Final = 6
"""Of an epsilon that is tried."""

FEWEST_ROUNDS: Final = 2
"""Of a search: one round tells nothing of chance."""

FACTORS: Final = (0.5, 1, 2)
"""Other epsilons that are tried, as multiples of the registry's."""


@click.command(
    "rehearse-model",
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
    help="True answers: one column per feature and one named like the metric for the label; person marks repetitions.",
)
@click.option("--metric", "name", metavar="NAME", required=True, help="The model: a metric whose label is yes or no.")
@click.option(
    "--devices",
    metavar="N",
    type=click.IntRange(100, MOST_DEVICES),
    multiple=True,
    default=(10_000, 100_000),
    show_default=True,
    help="The number of devices that report. Repeatable.",
)
@click.option(
    "--epsilon",
    "epsilons",
    metavar="EPSILON",
    type=float,
    multiple=True,
    help="An epsilon to try. Repeatable.  [default: the registry's, and without --loss half and twice of it]",
)
@click.option(
    "--loss",
    metavar="AUC",
    type=NumberRange(0, 0.5, min_open=True),
    help="Search for the fewest devices at which privacy costs no more AUC than this, in place of --devices.",
)
@click.option(
    "--rounds", metavar="N", type=click.IntRange(1), default=5, show_default=True, help="How often people are drawn."
)
@click.option(
    "--seed", metavar="N", type=click.IntRange(0), help="The same seed gives the same output.  [default: random]"
)
def rehearse_models(  # noqa: PLR0913 one argument an option
    *,
    registry: Path,
    table: Path,
    name: str,
    devices: tuple[int, ...],
    epsilons: tuple[float, ...],
    loss: float | None,
    rounds: int,
    seed: int | None,
) -> None:
    """Measure how well a model predicts people it was not trained on, with privacy and without."""
    definitions = Registry.read(registry)
    if name not in definitions.metrics:
        raise click.UsageError(f"the registry has no metric {name!r}; name one of: {', '.join(definitions.metrics)}")
    if loss is not None and rounds < FEWEST_ROUNDS:
        raise click.UsageError(f"--loss needs {FEWEST_ROUNDS} rounds to say how sure it is; 20 are better")
    metric = definitions.metric(name)
    people = read_people(table, metric)
    seed = randbits(SEED_BITS) if seed is None else seed
    plain = auc_without_privacy(people, metric, rounds, seed)
    click.echo(
        f"{name}: {metric.channel.name}, mean AUC over {rounds} draws of {len(people.answers):,} rows, seed {seed}"
    )
    click.echo(f"  without privacy           {plain:.3f}")
    own = as_float(metric.epsilon_nanos)
    others = tuple(round(factor * own, DIGITS) for factor in (FACTORS if loss is None else (1,)))
    tried = epsilons or tuple(each for each in others if each <= GREATEST_EPSILON)
    for epsilon, changed in [(each, _with_epsilon(metric, each)) for each in tried]:
        if loss is None:
            lines = list(_lines(changed, people, devices, rounds, seed))
        else:
            lines = [_search(changed, people, loss, rounds, seed)]
        for line in lines:
            click.echo(f"  epsilon {epsilon:<6.4g} {line}")


def _with_epsilon(metric: Metric, epsilon: float) -> Metric:
    """Return a metric with another epsilon, but the same mechanism and parts of ranges."""
    try:
        channel = channel_for(metric.kind, RequestedEpsilon.parse(epsilon), metric.channel.name)
    except ValueError as error:
        raise click.UsageError(f"--epsilon {error}") from None
    return replace(metric, channel=channel)


def _lines(metric: Metric, people: People, devices: Sequence[int], rounds: int, seed: int) -> Iterator[str]:
    """Yield a line for each number of devices."""
    for number in devices:
        rehearsal = rehearse_model(metric, people, number, rounds, seed)
        yield f"{number:>10,}  {rehearsal.auc:.3f} ± {rehearsal.spread:.3f}"


def _search(metric: Metric, people: People, most_loss: float, rounds: int, seed: int) -> str:
    """Return a line with the fewest devices that lose no more, and how sure that is."""
    with progress("searching", MOST_REHEARSALS) as advance:
        loss = devices_for(metric, people, most_loss, rounds=rounds, seed=seed, advance=advance)
    if loss is None:
        return f"{MOST_DEVICES:>10,}  devices lose more than {most_loss:g}"
    rehearsed = loss.rehearsal
    return f"{rehearsed.devices:>10,}  {rehearsed.auc:.3f}: loses {loss.mean:.3f} ± {loss.error:.3f}"
