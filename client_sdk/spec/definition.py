"""The definition of one metric: its table in the registry, read strictly."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime
from fractions import Fraction

from client_sdk.spec.budget import Budget
from client_sdk.spec.domain import (
    MAX_CATEGORIES,
    MAX_CELLS,
    MAX_COUNT,
    Boolean,
    Category,
    Count,
    Cross,
    Domain,
    Number,
    Ordinal,
    Subset,
)
from client_sdk.spec.epsilon import RequestedEpsilon
from client_sdk.spec.mechanisms import AUTO, channel_for
from client_sdk.spec.mechanisms.exponential import Utility
from client_sdk.spec.metric import Metric
from client_sdk.spec.report import METRIC_NAME
from client_sdk.spec.table import MAX_TEXT, Table, is_moderate, is_number, is_text

LEAST_DELTA, GREATEST_DELTA = Fraction(1, 10**10), Fraction(1, 100)
"""Below the least the integers of a table resolve nothing; above the greatest one in a hundred could be exposed."""

_DOMAIN_KEYS = ("values", "low", "high", "max", "statistic", "max_items")


def read_metric(name: str, table: Table, owner: str, budget: Budget, others: Mapping[str, Metric]) -> Metric | None:
    """Return the metric that a table defines, or none if it has mistakes, which the table remembers.

    Args:
        name: the metric's.
        table: its keys.
        owner: who answers for it where it does not say so.
        budget: its ceilings and its window are the metric's, too.
        others: the metrics that it may cross.

    """
    if not METRIC_NAME.fullmatch(name):
        table.mistake("", "must be named by 1 to 64 of a-z, 0-9 and _, a letter first")
    purpose = table.text("purpose", required=True)
    owner = table.text("owner", default=owner)
    window = table.window("window", budget.window)
    expires = table.take("expires")
    if expires is not None and (not isinstance(expires, date) or isinstance(expires, datetime)):
        table.mistake("expires", "must be a date such as 2027-12-31, without quotes")
    domain = _read_domain(table, others)
    epsilon, delta, utility = _read_epsilon(table), _read_delta(table), _read_utility(table, domain)
    mechanism = table.text("mechanism", default=AUTO)
    table.nothing_else()
    if domain is None or epsilon is None or not mechanism:
        return None
    try:
        channel = channel_for(domain, epsilon, mechanism, delta=delta, utility=utility)
    except ValueError as error:
        table.mistake("mechanism", str(error))
        return None
    metric = Metric(name, purpose, domain, channel, window, owner, expires)
    if metric.epsilon_nanos > min(budget.per_window_nanos, budget.lifetime_nanos):
        table.mistake("epsilon", "is above a ceiling of [budget], so that it could never be reported; lower it")
    return metric


def _read_epsilon(table: Table) -> RequestedEpsilon | None:
    raw = table.take("epsilon", required=True)
    if raw is None:
        return None
    try:
        return RequestedEpsilon.parse(raw)
    except ValueError as error:
        table.mistake("epsilon", str(error))
        return None


def _read_delta(table: Table) -> Fraction | None:
    delta = table.number("delta", required=False)
    if delta is not None and not LEAST_DELTA <= delta <= GREATEST_DELTA:
        table.mistake("delta", f"must be from {float(LEAST_DELTA):g} to {float(GREATEST_DELTA):g}")
        return None
    return delta


def _read_utility(table: Table, domain: Domain | None) -> Utility | None:
    rows = table.take("utility")
    if rows is None:
        return None
    if not isinstance(domain, Category):
        if domain is not None:
            table.mistake("utility", "is for the values of a category or an ordinal; remove it")
        return None
    size = domain.size
    square = isinstance(rows, list) and len(rows) == size and all(isinstance(r, list) and len(r) == size for r in rows)
    if not square or not all(is_number(one) and is_moderate(one) for row in rows for one in row):
        table.mistake("utility", f"must be {size} rows, one a true value, of {size} numbers, one a reported value")
        return None
    return tuple(tuple(Fraction(one) for one in row) for row in rows)


def _read_domain(table: Table, others: Mapping[str, Metric]) -> Domain | None:
    raw = table.take("cross")
    if raw is not None:
        if table.take("kind") is not None:
            table.mistake("kind", "must not stand beside cross, which says what may be answered")
        return _read_cross(table, raw, others)
    kind = table.text("kind", required=True)
    if kind in _READERS:
        return _READERS[kind](table)
    if kind:
        table.mistake("kind", f"must be one of: {', '.join(_READERS)}")
    for key in _DOMAIN_KEYS:
        table.take(key)
    return None


def _read_cross(table: Table, raw: object, others: Mapping[str, Metric]) -> Cross | None:
    if not isinstance(raw, list) or len(raw) != 2 or not all(isinstance(name, str) for name in raw):  # noqa: PLR2004
        table.mistake("cross", 'must name two metrics, such as ["os", "dark_mode"]')
        return None
    domains = [others[name].domain for name in raw if name in others]
    first, second = domains if len(domains) == len(set(raw)) == len(raw) else (None, None)
    if not isinstance(first, Boolean | Category) or not isinstance(second, Boolean | Category):
        table.mistake("cross", "must name two different metrics of this registry that are boolean, category or ordinal")
        return None
    if first.size * second.size > MAX_CELLS:
        table.mistake("cross", f"has {first.size * second.size} pairs of values; at most {MAX_CELLS} can be told apart")
        return None
    return Cross(first, second, (raw[0], raw[1]))


def _read_values(table: Table, most: int = MAX_CATEGORIES) -> tuple[str, ...] | None:
    values = table.take("values", required=True)
    if values is None:
        return None
    if not isinstance(values, list) or not 2 <= len(values) <= most:  # noqa: PLR2004 one value asks nothing
        table.mistake("values", f"must be a list of 2 to {most} texts")
        return None
    for value in values:
        if not is_text(value):
            table.mistake("values", f"must hold texts of 1 to {MAX_TEXT} printable characters")
            return None
    if len(set(values)) < len(values):
        table.mistake("values", "must not hold a value twice")
        return None
    return tuple(values)


def _read_category(table: Table) -> Category | None:
    values = _read_values(table)
    return None if values is None else Category(values)


def _read_ordinal(table: Table) -> Ordinal | None:
    values = _read_values(table)
    return None if values is None else Ordinal(values)


def _read_set(table: Table) -> Subset | None:
    values = _read_values(table, MAX_CATEGORIES - 1)
    max_items = table.whole("max_items", MAX_CATEGORIES if values is None else len(values))
    return None if values is None or max_items is None else Subset(values, max_items)


def _read_number(table: Table) -> Number | None:
    low, high = table.number("low"), table.number("high")
    statistic = _read_statistic(table)
    if low is not None and high is not None and low >= high:
        table.mistake("high", "must be above low")
        return None
    if not statistic or low is None or high is None:
        return None
    return Number(low, high, statistic)


def _read_count(table: Table) -> Count | None:
    most, statistic = table.whole("max", MAX_COUNT), _read_statistic(table)
    return None if most is None or not statistic else Count.up_to(most, statistic)


def _read_statistic(table: Table) -> str:
    statistic = table.text("statistic", required=True)
    if statistic and statistic not in ("mean", "distribution"):
        table.mistake("statistic", 'must be "mean" or "distribution"')
        return ""
    return statistic


_READERS: Mapping[str, Callable[[Table], Domain | None]] = {
    "boolean": lambda _: Boolean(),
    "category": _read_category,
    "ordinal": _read_ordinal,
    "set": _read_set,
    "number": _read_number,
    "count": _read_count,
}
