"""The command ``hearsay-estimator plan``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from fractions import Fraction
from pathlib import Path
from typing import Final

import click

from client_sdk.protocol.command_line import ExitStatus
from client_sdk.protocol.epsilon import NANOS
from client_sdk.protocol.errors import LanguageError
from client_sdk.protocol.horizon import Horizon, most_nanos, windows_left
from client_sdk.protocol.registry import differences, history, limits
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.sentences import ENGLISH
from client_sdk.protocol.statement import changed, statement
from client_sdk.protocol.window import LATEST_YEAR
from estimator.analyses.clips import Numbers
from estimator.analyses.metric import analysis_of
from estimator.commands.options import REGISTRY, Day, NumberRange, WholeRange, examples
from estimator.commands.printing import put, put_document
from estimator.errors import metric_named
from estimator.plan.allocation import allocate
from estimator.plan.paid_windows import ceiling_notes, exhaustions
from estimator.plan.plan import DELTA, PlanRequest, make_plan, too_much, unseen, year_words
from estimator.plan.record import as_yaml, deployment_record, left_out
from estimator.plan.regressions import regressions, remarks
from estimator.plan.target_error import usual_error
from estimator.plan.windows_together import width_of
from estimator.rehearsal.ground_truth import MAX_DEVICES, from_shares
from estimator.render.text.plan import ALLOCATION_FORMATS, PLAN_FORMATS
from estimator.tallies import Bounds, read_file

LEAST_DELTA = 1e-9
"""The minimum value of ``--delta``. For smaller probabilities, sums of floats are too inexact."""

NO_POPULATION: Final = "[app] states no population, so there was no check for questions that would show nothing"

ERRORS = (1e-102, 1e100)
"""The limits of ``--wanted-error``: 1% of the length of the narrowest possible range, and the
length of the widest.
"""

MOST_WINDOWS: Final = 10_000
"""The maximum value of ``--windows``."""

WEIGHTS = (1e-9, 1e9)
"""The limits of ``--weight``. Within these limits, floats can represent every squared error divided
by a weight.
"""


class MetricValue(click.ParamType[tuple[str, float]]):
    """The type of an argument such as ``os=0.02``: a metric's name, and a number within bounds."""

    name = "metric=value"

    def __init__(self, bounds: tuple[float, float]) -> None:
        """Store the minimum and the maximum."""
        self._least, self._greatest = bounds

    def convert(
        self, value: str | tuple[str, float], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, float]:
        """Return the name and the number. Any other string is a usage error."""
        if isinstance(value, tuple):
            return value
        name, _, text = value.partition("=")
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not (name and self._least <= number <= self._greatest):
            bounds = f"from {self._least:g} to {self._greatest:g}"
            self.fail(f"{value!r}: write METRIC=NUMBER with a number {bounds}, such as os=0.02", param, ctx)
        return name, number


@click.command(
    short_help="Predict precision and privacy loss.",
    epilog=examples(
        "hearsay-estimator plan --registry metrics.toml --population 50000 --wanted-error os=0.02",
        "hearsay-estimator plan --registry metrics.toml --check --at-most 5",
    ),
)
@REGISTRY
@click.option(
    "--population",
    metavar="N",
    type=WholeRange(1, MAX_DEVICES),
    help="The number of devices.  [default: population in [app]]",
)
@click.option(
    "--wanted-error",
    "errors",
    metavar="METRIC=VALUE",
    type=MetricValue(ERRORS),
    multiple=True,
    help="The standard error that a metric should have. Repeatable.",
)
@click.option(
    "--windows",
    metavar="N",
    type=WholeRange(1, MOST_WINDOWS),
    help="The number of windows to judge together, such as 13 weeks for a quarter.  [default: 1; with the strategy "
    "pace, all]",
)
@click.option(
    "--shares",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="With --population: the share of each answer to some numeric metrics, in TOML or JSON. The plan then "
    "suggests ranges for clipping.",
)
@click.option(
    "--pilot",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="With --population: tallies of a pilot that asked for the distributions of numbers. The plan then "
    "suggests ranges for clipping.",
)
@click.option(
    "--delta",
    type=NumberRange(LEAST_DELTA, 0.1),
    default=DELTA,
    show_default=True,
    help="The delta at which the losses of many reports are composed.",
)
@click.option(
    "--allocate",
    "total",
    metavar="TOTAL",
    type=NumberRange(0, 1000, min_open=True),
    help="Print a patch that divides this epsilon per window among the metrics so that the largest error is as small "
    "as possible.",
)
@click.option(
    "--weight",
    "weights",
    metavar="METRIC=W",
    type=MetricValue(WEIGHTS),
    multiple=True,
    help="With --allocate: the weight of a metric's error. Repeatable.",
)
@click.option(
    "--check", is_flag=True, help="Print warnings on stderr, one per line, and exit with status 1 if there are any."
)
@click.option(
    "--at-most",
    metavar="EPSILON",
    type=NumberRange(0, 1000, min_open=True),
    help="With --check: warn if a device may reveal more than this epsilon within a year.",
)
@click.option(
    "--against",
    metavar="OLD",
    type=click.Path(path_type=Path),
    help="With --check: list all changes, and warn about changes that reveal more. With --statement: print what "
    f"changed on the page. OLD is {differences.HELP}.",
)
@click.option("--statement", "page", is_flag=True, help="Print the page for users, as Markdown.")
@click.option(
    "--record",
    is_flag=True,
    help="Print a draft for the OpenDP registry of deployments, as YAML. Entries that only you can provide say "
    "FILL IN.",
)
@click.option(
    "--language",
    metavar="TAG",
    help="With --statement: en, de or a language of [sentences] in the registry.  [default: en]",
)
@click.option("--today", metavar="DATE", type=Day(), help="The UTC day on which the plan begins.  [default: today]")
@click.option(
    "--format", "form", type=click.Choice(list(PLAN_FORMATS)), default="table", show_default=True, help="The format."
)
def plan(  # noqa: PLR0913 one argument for each option
    *,
    registry: Path,
    population: int | None,
    errors: Sequence[tuple[str, float]],
    windows: int | None,
    shares: Path | None,
    pilot: Path | None,
    delta: float,
    total: float | None,
    weights: Sequence[tuple[str, float]],
    check: bool,
    at_most: float | None,
    against: Path | None,
    page: bool,
    record: bool,
    language: str | None,
    today: date | None,
    form: str,
) -> None:
    """Predict how precise each metric will be, and how much a device reveals at most."""
    _refuse_together(total=total, weights=weights, check=check, page=page, record=record)
    _refuse_astray(against=against, at_most=at_most, check=check, page=page)
    if (shares or pilot or windows) and (check or page or record or total is not None):
        raise click.UsageError(
            "--shares, --pilot and --windows cannot be combined with --allocate, --check, --statement or --record"
        )
    if not page and language is not None:
        raise click.UsageError("--language requires --statement")
    if today is not None and today.year > LATEST_YEAR:
        raise click.UsageError(f"--today must not be after the year {LATEST_YEAR}, because no later windows exist")
    definitions = history.read(registry) if against else Registry.read(registry)
    day = datetime.now(UTC).date() if today is None else today
    old = differences.read(against) if against else None
    population = population or definitions.population
    if against and old is None:
        click.echo(differences.nothing_at(against), err=True)
    if check:
        _check(definitions, old, day, at_most, population)
        return
    if page:
        put_document(_statement(definitions, old, language or ENGLISH, is_change=against is not None))
        return
    if record:
        put_document(as_yaml(deployment_record(definitions, day, population)))
        click.echo(left_out(population), err=True)
        return
    target_errors, weight_of = _by_metric(definitions, errors), _by_metric(definitions, weights)
    _check_errors(definitions, target_errors)
    if population is None:
        raise click.UsageError(
            "the number of devices is missing: add --population N, or population to [app] in the registry"
        )
    if total is None:
        people = _people(definitions, population, shares, pilot)
        request = PlanRequest(population, day, delta, target_errors, windows, people)
        put(PLAN_FORMATS, form, make_plan(definitions, request))
        return
    text = registry.read_bytes().decode()
    goals = _goals(definitions, target_errors, weight_of, day)
    put(ALLOCATION_FORMATS, form, allocate(text, int(total * NANOS), goals, population, registry.name))


def _statement(registry: Registry, old: Registry | None, language: str, *, is_change: bool) -> str:
    try:
        return changed(old, registry, language) if is_change else statement(registry, language)
    except LanguageError as error:
        raise click.UsageError(f"--language: {error}") from error


def _people(registry: Registry, population: int, shares: Path | None, pilot: Path | None) -> dict[str, Numbers]:
    """Return the assumed distribution of answers for each metric whose answers are numbers.

    The source is a file of shares, or the last window of a pilot's tallies.
    """
    people: dict[str, Numbers] = {}
    for tally in [] if pilot is None else read_file(pilot, Bounds.from_metrics(registry.counted)):
        metric = registry.metrics.get(tally.metric)
        if metric is not None and tally.edition == metric.edition:
            analysis_of(metric).check(tally)
            numbers = analysis_of(metric).pilot(tally)
            people |= {} if numbers is None else {tally.metric: numbers}
    if pilot is not None and not people:
        raise click.UsageError(
            f"{pilot} has no tally of a number whose distribution this registry asks for; give the tallies of the "
            'pilot and its registry, with statistic = "distribution" or "quantiles" and without thresholds'
        )
    if shares is not None:
        asked = from_shares(registry, population, shares).populations
        people |= {each.metric.name: numbers for each in asked if (numbers := each.unclipped) is not None}
    return people


def _goals(
    registry: Registry, target_errors: Mapping[str, float], weights: Mapping[str, float], day: date
) -> dict[str, float]:
    return {
        name: target_errors.get(name, usual_error(metric)) / weights.get(name, 1.0)
        for name, metric in registry.metrics.items()
        if windows_left(metric, day) != 0
    }


def _refuse_together(
    *, total: float | None, weights: Sequence[tuple[str, float]], check: bool, page: bool, record: bool
) -> None:
    if sum([total is not None, check, page, record]) > 1:
        raise click.UsageError("use only one of --allocate, --check, --statement and --record")
    if weights and total is None:
        raise click.UsageError("--weight requires --allocate TOTAL")


def _refuse_astray(*, against: Path | None, at_most: float | None, check: bool, page: bool) -> None:
    if at_most is not None and not check:
        raise click.UsageError("--at-most requires --check")
    if against is not None and not (check or page):
        raise click.UsageError("--against requires --check or --statement")


def _by_metric(registry: Registry, values: Sequence[tuple[str, float]]) -> dict[str, float]:
    for name, _ in values:
        metric_named(registry, name)
    return dict(values)


def _check_errors(registry: Registry, target_errors: Mapping[str, float]) -> None:
    """Refuse a target error that is not smaller than the range of the metric's possible figures."""
    for name, error in target_errors.items():
        width = width_of(analysis_of(registry.metric(name)))
        if error >= width:
            raise click.UsageError(
                f"--wanted-error {name}={error:g} must be smaller than the length of the figure's range, {width:,g}; "
                f"try {name}={width / 50:g}"
            )


def _check(new: Registry, old: Registry | None, day: date, at_most: float | None, population: int | None) -> None:
    """Print the changes in the text for users and in the yearly privacy loss, and print warnings.

    If the number of devices is known, there is a warning for each metric whose figures are useless.
    The exit status is 1 if there are warnings.
    """
    for remark in [] if old is None else [*differences.between(old, new), *remarks(old, new)]:
        click.echo(remark)
    year = most_nanos(new, Horizon.YEAR, day)
    click.echo(year_words(new, day))
    for note in (
        *limits.remarks(new, day),
        *ceiling_notes(new, day, exhaustions(new, day)),
        *([] if population else [NO_POPULATION]),
    ):
        click.echo(f"note: {note}")
    if old is not None:
        put_document(changed(old, new))
    sentences = unseen(new, population, day) if population else []
    sentences += [*new.objections(day), *new.neglected(day), *([] if old is None else regressions(old, new))]
    if at_most is not None:
        sentences += too_much(year, Fraction(repr(at_most)), may_be_wiped=new.budget.may_be_wiped)
    for sentence in sentences:
        click.echo(sentence, err=True)
    if sentences:
        raise click.exceptions.Exit(ExitStatus.FAILED)
