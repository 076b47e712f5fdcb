"""The command ``plan``: parse, call, print, exit code (0 done, 1 warnings of ``--check``, 2 usage or registry)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

import click

from client_sdk.protocol import Registry, RegistryError
from client_sdk.protocol.epsilon import NANOS
from estimator.commands.options import NumberRange
from estimator.commands.printing import put, put_document
from estimator.errors import PlanError
from estimator.plan.allocation import allocate
from estimator.plan.plan import DELTA, Wish, make_plan
from estimator.plan.registry_patch import diff
from estimator.plan.regressions import regressions, remarks, warnings
from estimator.plan.target_error import usual_error
from estimator.privacy.horizon import windows_left
from estimator.rehearsal.ground_truth import MAX_DEVICES
from estimator.render.statement import statement
from estimator.render.text.plan import ALLOCATION_FORMATS, PLAN_FORMATS

LEAST_DELTA = 1e-9
"""Below it sums of floats no longer resolve how rarely a loss is large."""


ERRORS = (1e-102, 1e100)
"""From a hundredth of the narrowest range that a number can have to the widest one."""

WEIGHTS = (1e-9, 1e9)
"""Nobody needs more, and floats hold the squares of errors by their weights."""


class _OfMetric(click.ParamType[tuple[str, float]]):
    """A metric's name and a number within bounds: ``os=0.02``."""

    name = "metric=value"

    def __init__(self, bounds: tuple[float, float]) -> None:
        """Keep the least and the greatest number."""
        self._least, self._greatest = bounds

    def convert(
        self, value: str | tuple[str, float], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, float]:
        """Return the two, or refuse the text with a usage error."""
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


@dataclass(frozen=True, slots=True)
class _Asked:
    """What ``--wanted-error`` and ``--weight`` say, by metric."""

    errors: dict[str, float]
    weights: dict[str, float]


@click.command()
@click.option("--registry", required=True, metavar="FILE", type=click.Path(path_type=Path), help="The metrics.toml.")
@click.option("--population", metavar="N", type=click.IntRange(1, MAX_DEVICES), help="How many devices there are.")
@click.option(
    "--wanted-error", "wanted", metavar="METRIC=VALUE", type=_OfMetric(ERRORS), multiple=True, help="A standard error."
)
@click.option(
    "--delta",
    type=NumberRange(LEAST_DELTA, 0.1),
    default=DELTA,
    show_default=True,
    help="Of the figures for many reports: how often they may not hold.",
)
@click.option(
    "--allocate",
    "total",
    metavar="TOTAL",
    type=NumberRange(0, 1000, min_open=True),
    help="Print a patch with the epsilons that make the worst error least, for so much epsilon a window.",
)
@click.option(
    "--weight",
    "weights",
    metavar="METRIC=W",
    type=_OfMetric(WEIGHTS),
    multiple=True,
    help="Of an error, with --allocate.",
)
@click.option("--check", is_flag=True, help="Print warnings on stderr, one a line; then the exit status is 1.")
@click.option("--against", metavar="OLD", type=click.Path(path_type=Path), help="With --check: warn of what grew.")
@click.option("--statement", "page", is_flag=True, help="Print a page for users, as Markdown.")
@click.option(
    "--today", metavar="DATE", type=click.DateTime(["%Y-%m-%d"]), help="The UTC day that counts as the present one."
)
@click.option("--format", "form", type=click.Choice(list(PLAN_FORMATS)), default="table", show_default=True)
def plan(  # noqa: PLR0913 one argument an option
    *,
    registry: Path,
    population: int | None,
    wanted: Sequence[tuple[str, float]],
    delta: float,
    total: float | None,
    weights: Sequence[tuple[str, float]],
    check: bool,
    against: Path | None,
    page: bool,
    today: datetime | None,
    form: str,
) -> None:
    """Say before any data what each metric will tell, and what a device reveals at most."""
    _refuse_together(total=total, weights=weights, check=check, against=against, page=page)
    text, definitions = _load(registry)
    day = datetime.now(UTC).date() if today is None else today.date()
    if check:
        _check(definitions, None if against is None else _load(against)[1], day)
        return
    if page:
        put_document(statement(definitions, day))
        return
    asked = _Asked(_known(definitions, wanted), _known(definitions, weights))
    if population is None:
        raise click.UsageError("say how many devices there are: --population N")
    if total is None:
        made = make_plan(definitions, Wish(population, day, delta, asked.errors))
        put(PLAN_FORMATS, form, made)
        return
    try:
        found = allocate(text, int(total * NANOS), _goals(definitions, asked, day), population)
    except PlanError as error:
        raise click.UsageError(str(error)) from error
    put(ALLOCATION_FORMATS, form, found, diff(registry.name, text, found.text))


def _goals(registry: Registry, asked: _Asked, day: date) -> dict[str, float]:
    """Return the error that counts as one, of each metric that is still asked."""
    return {
        name: asked.errors.get(name, usual_error(metric)) / asked.weights.get(name, 1.0)
        for name, metric in registry.metrics.items()
        if windows_left(metric, day) != 0
    }


def _refuse_together(
    *, total: float | None, weights: Sequence[tuple[str, float]], check: bool, against: Path | None, page: bool
) -> None:
    if sum([total is not None, check, page]) > 1:
        raise click.UsageError("ask for one thing: --allocate, --check or --statement")
    if weights and total is None:
        raise click.UsageError("--weight belongs to --allocate TOTAL")
    if against is not None and not check:
        raise click.UsageError("--against belongs to --check")


def _known(registry: Registry, given: Sequence[tuple[str, float]]) -> dict[str, float]:
    for name, _ in given:
        if name not in registry.metrics:
            raise click.UsageError(f"{name!r} is no metric of the registry; it has: {', '.join(registry.metrics)}")
    return dict(given)


def _check(new: Registry, old: Registry | None, day: date) -> None:
    for remark in [] if old is None else remarks(old, new):
        click.echo(remark)
    found = [*warnings(new, day), *([] if old is None else regressions(old, new))]
    for one in found:
        click.echo(one, err=True)
    if found:
        raise click.exceptions.Exit(1)


def _load(path: Path) -> tuple[str, Registry]:
    try:
        registry = Registry.load(path)
        return path.read_bytes().decode(), registry
    except RegistryError as error:
        raise click.UsageError(f"the registry cannot be used:\n{error}") from error
