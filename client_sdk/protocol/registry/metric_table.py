"""The definition of one metric: its table in the registry, read strictly."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from fractions import Fraction
from typing import TYPE_CHECKING

from client_sdk.protocol.budget import Budget, Strategy, attos_ceiling
from client_sdk.protocol.domain import (
    Activity,
    Boolean,
    Category,
    Count,
    Cross,
    CrossedModel,
    Domain,
    Filled,
    MeanByGroup,
    Model,
    Number,
    OrdinalMean,
    Subset,
    Text,
    Vector,
)
from client_sdk.protocol.epsilon import RequestedEpsilon
from client_sdk.protocol.mechanisms.catalogue import AUTO, CROSSES, NAMES, ROTATED_AXES, channel_for
from client_sdk.protocol.mechanisms.crossed.choice import bins_for, crosses_are_better
from client_sdk.protocol.metric import Fill, Metric
from client_sdk.protocol.registry.domain_table import read_domain
from client_sdk.protocol.registry.table import TomlTable, is_moderate, is_number, suggestion
from client_sdk.protocol.wire.report import METRIC_NAME

if TYPE_CHECKING:
    from client_sdk.protocol.mechanisms.exponential import Utility

LEAST_DELTA, GREATEST_DELTA = Fraction(1, 10**10), Fraction(1, 100)
"""Below the least, a table's integers resolve nothing. Above the greatest, one device in a hundred
could be exposed."""


MAX_UNIT = 16
"""The most characters of a unit, which stands behind figures: "ms", "km/h" or "open windows"."""

MOST_DEVICES = 10**12
"""A hundred times mankind."""

MOST_RETENTION_DAYS = 36_500
"""A hundred years: to keep tallies for longer, leave the key out."""


def read_metric(
    name: str, table: TomlTable, owner: str, budget: Budget, others: Mapping[str, Domain | None]
) -> Metric | None:
    """Return the metric of a table; None if it has mistakes, which the table collects.

    Args:
        name: the metric's name.
        table: its keys.
        owner: the owner of a metric that names none.
        budget: the ceilings, and the window of a metric that names none.
        others: the domains of the metrics that it may cross; None for a mistaken metric.

    """
    if not METRIC_NAME.fullmatch(name):
        table.mistake("", "must have a name of 1 to 64 characters from a-z, 0-9 and _, beginning with a letter")
    purpose = table.text("purpose", required=True)
    owner = table.text("owner", default=owner)
    window = table.window("window", budget.window)
    expires = table.take("expires")
    if expires is not None and (not isinstance(expires, date) or isinstance(expires, datetime)):
        table.mistake("expires", "must be a date such as 2027-12-31, without quotes")
    retention_days = table.whole("retention", MOST_RETENTION_DAYS, required=False)
    unit = table.text("unit", most=MAX_UNIT)
    is_sensitive = table.flag("sensitive")
    consent = table.text("consent")
    if consent and not METRIC_NAME.fullmatch(consent):
        table.mistake("consent", "must be a short name of 1 to 64 characters from a-z, 0-9 and _, such as usage")
    mistakes_before = table.mistake_count
    domain, fill = _read_fill(table, read_domain(table, others))
    is_number = isinstance(domain, Number | MeanByGroup) and not isinstance(domain, OrdinalMean)
    if unit and domain is not None and not is_number:
        table.mistake("unit", "is for a number or a count; remove it")
    epsilon, delta, utility = _read_epsilon(table), _read_delta(table), _read_utility(table, domain)
    permanent = _read_permanent(table, domain)
    if isinstance(domain, MeanByGroup) and epsilon is not None:
        domain = domain.rounded_for(epsilon.odds)
    mechanism, persist = table.text("mechanism", default=AUTO), _read_persist(table, domain)
    population = table.whole("population", MOST_DEVICES, required=False)
    if isinstance(domain, Model) and epsilon is not None:
        domain = _model_for(table, domain, epsilon, mechanism, population)
    elif population is not None:
        table.mistake("population", "is for a model, whose mechanism is chosen by it; remove it")
    channel_mistakes = table.mistake_count - mistakes_before
    table.nothing_else()
    if channel_mistakes or domain is None or epsilon is None or not mechanism:
        return None
    try:
        channel = channel_for(domain, epsilon, mechanism, delta=delta, utility=utility, permanent=permanent)
    except ValueError as error:
        known = mechanism in NAMES
        table.mistake("mechanism", f"{error}{'' if known else suggestion(mechanism, NAMES)}")
        return None
    metric = Metric(
        name=name,
        purpose=purpose,
        domain=domain,
        channel=channel,
        window=window,
        owner=owner,
        expires=expires,
        fill=fill,
        persist=persist,
        retention_days=retention_days,
        unit=unit or ("days" if isinstance(domain, Activity) else ""),
        consent=frozenset({consent} - {""}),
        is_sensitive=is_sensitive,
    )
    _check_ceilings(table, metric, delta or Fraction(0), budget)
    return metric


def _model_for(
    table: TomlTable, model: Model, epsilon: RequestedEpsilon, mechanism: str, population: int | None
) -> Model | CrossedModel:
    """Return the model as its mechanism takes it: a vector, or features of which one is drawn."""
    may_cross = isinstance(model.observation.label, Boolean)
    if mechanism not in (AUTO, ROTATED_AXES, CROSSES):
        table.mistake("mechanism", f"must be one of those for a model: {AUTO}, {ROTATED_AXES}, {CROSSES}")
    if mechanism == CROSSES and not may_cross:
        table.mistake(
            "mechanism", f"{CROSSES!r} is for a label of yes or no; let auto choose, or name {ROTATED_AXES!r}"
        )
    if mechanism == AUTO and population is None and may_cross:
        table.mistake("population", "is missing: the devices that will report, by which auto chooses a mechanism")
    features, inputs = len(model.observation.features), len(model.observation.coordinates)
    if mechanism == AUTO and population is not None and may_cross:
        mechanism = CROSSES if crosses_are_better(features, inputs, epsilon.odds, population) else ROTATED_AXES
    if mechanism != CROSSES:
        return model
    return CrossedModel.of(model.observation, bins_for(features, epsilon.odds, population))


def _check_ceilings(table: TomlTable, metric: Metric, delta: Fraction, budget: Budget) -> None:
    if metric.epsilon_nanos > budget.least_ceiling_nanos:
        table.mistake("epsilon", "is above a ceiling of [budget], so that it could never be reported; lower it")
    if attos_ceiling(delta) > budget.lifetime_attos:
        table.mistake(
            "delta", "is above the delta of [budget], so that it could never be reported; raise the delta of [budget]"
        )
    if budget.strategy is not Strategy.SPLIT and metric.window is not budget.window:
        table.mistake("window", f'must be that of [budget], "{budget.window}", where strategy = "{budget.strategy}"')
    if budget.strategy is Strategy.PACE and metric.expires is None:
        table.mistake(
            "expires", 'is missing: where strategy = "pace" it sets the day until which the lifetime must last'
        )


def _read_epsilon(table: TomlTable, key: str = "epsilon", *, required: bool = True) -> RequestedEpsilon | None:
    raw = table.take(key, required=required)
    if raw is None:
        return None
    try:
        return RequestedEpsilon.parse(raw)
    except ValueError as error:
        table.mistake(key, str(error))
        return None


def _read_permanent(table: TomlTable, domain: Domain | None) -> RequestedEpsilon | None:
    """Return the epsilon of permanent answers; None if answers are not permanent."""
    permanent = _read_epsilon(table, "permanent_epsilon", required=False)
    if permanent is not None and isinstance(domain, Model):
        table.mistake("permanent_epsilon", "is not for a model, of which each report may tell something else")
        return None
    if permanent is not None and isinstance(domain, Vector):
        table.mistake("permanent_epsilon", "is not for a vector, whose rotations are new in every window")
        return None
    if permanent is not None and isinstance(domain, Text):
        table.mistake("permanent_epsilon", "is not for a text: of a permanent answer about many cells nothing is left")
        return None
    if permanent is not None and isinstance(domain, Subset):
        table.mistake("permanent_epsilon", "is not for a set, because each report may reveal another member")
        return None
    if permanent is not None and isinstance(domain, MeanByGroup):
        table.mistake("permanent_epsilon", "is not for the mean of a number by group; remove it")
        return None
    return permanent


def _read_fill(table: TomlTable, domain: Domain | None) -> tuple[Domain | None, Fill | None]:
    """Return the domain, with an input for no answer if it is filled in, and what to fill in."""
    fill_in, fill_value = table.flag("fill_in"), table.number("fill_value", required=False)
    takes_value = isinstance(domain, Count) or (isinstance(domain, Number) and domain.statistic == "mean")
    takes_value &= not isinstance(domain, Activity | OrdinalMean)
    if fill_value is not None and not (fill_in and takes_value):
        table.mistake("fill_value", "is for a count or a mean with fill_in = true; remove it")
    if not fill_in or domain is None:
        return domain, None
    if isinstance(domain, Boolean | Category | Cross):
        return Filled(domain), Fill(None)
    if isinstance(domain, Activity):  # until the window has ended: then the device knows the number of days
        return domain, Fill(0)
    if not isinstance(domain, Number) or not takes_value:
        table.mistake("fill_in", f"is not for this {domain.kind}; record an answer in every window instead")
        return domain, None
    is_whole = fill_value is not None and fill_value.denominator == 1
    if (
        fill_value is None
        or not domain.low <= fill_value <= domain.high
        or (isinstance(domain, Count) and not is_whole)
    ):
        table.mistake(
            "fill_value", f"must be {domain.expected}: the value reported for a window in which nothing was recorded"
        )
        return domain, None
    return domain, Fill(int(fill_value) if isinstance(domain, Count) else fill_value)


def _read_persist(table: TomlTable, domain: Domain | None) -> bool:
    if isinstance(domain, Activity):
        if table.take("persist") is not None:
            table.mistake("persist", "is not for an activity, whose days always stand on the disk; remove it")
        return True
    persist = table.flag("persist")
    if persist and not isinstance(domain, Count):
        table.mistake("persist", "is for a count, which is added up over a window; remove it")
    return persist


def _read_delta(table: TomlTable) -> Fraction | None:
    delta = table.number("delta", required=False)
    if delta is not None and not LEAST_DELTA <= delta <= GREATEST_DELTA:
        table.mistake("delta", f"must be from {float(LEAST_DELTA):g} to {float(GREATEST_DELTA):g}")
        return None
    return delta


def _read_utility(table: TomlTable, domain: Domain | None) -> Utility | None:
    rows = table.take("utility")
    if rows is None:
        return None
    if not isinstance(domain, Category):
        if domain is not None:
            table.mistake("utility", "is for the values of a category or an ordinal; remove it")
        return None
    size = domain.size
    square = isinstance(rows, list) and len(rows) == size and all(isinstance(r, list) and len(r) == size for r in rows)
    if not square or not all(is_number(utility) and is_moderate(utility) for row in rows for utility in row):
        table.mistake("utility", f"must be {size} rows, one per true value, of {size} numbers, one per reported value")
        return None
    return tuple(tuple(Fraction(utility) for utility in row) for row in rows)
