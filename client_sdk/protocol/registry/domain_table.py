"""The domain of a metric, read strictly from its table."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from client_sdk.protocol.domain import (
    MAX_CATEGORIES,
    MAX_CELLS,
    MAX_COUNT,
    MAX_LENGTH,
    PERIODS,
    Activity,
    Boolean,
    Category,
    Count,
    Cross,
    Crossed,
    Domain,
    MeanByGroup,
    Number,
    Ordinal,
    OrdinalMean,
    Subset,
    Vector,
)
from client_sdk.protocol.registry.features import read_model, read_norm
from client_sdk.protocol.registry.prototypes import read_nearest
from client_sdk.protocol.registry.table import MAX_TEXT, TomlTable, is_text, suggestion
from client_sdk.protocol.registry.texts import read_text

STATISTICS = ("mean", "distribution", "quantiles")
"""What may be estimated of a number."""

_CROSSED = "the groups boolean, category or ordinal; what is compared one of these too, or a number with a mean"

_DOMAIN_KEYS = (
    "values",
    "other",
    "prototypes",
    "low",
    "high",
    "max",
    "days",
    "statistic",
    "clip",
    "max_items",
    "length",
    "norm",
    "letters",
    "preset",
    "max_length",
    "discover",
    "cells",
    "features",
    "label",
)


def read_domain(table: TomlTable, others: Mapping[str, Domain | None]) -> Domain | None:
    """Return the domain of a metric; None if it has mistakes, which the table collects.

    Args:
        table: the metric's table.
        others: the domains of the metrics that it may cross, by name; None for a mistaken metric.

    """
    raw = table.take("cross")
    if raw is not None:
        if table.take("kind") is not None:
            table.mistake("kind", "must not stand beside cross, which says what may be answered")
        return _read_cross(table, raw, others)
    kind = table.text("kind", required=True)
    if kind in KINDS:
        return _READERS[kind](table)
    if kind:
        table.mistake("kind", f"must be one of: {', '.join(KINDS)}{suggestion(kind, KINDS)}")
    for key in _DOMAIN_KEYS:
        table.take(key)
    return None


def _read_cross(table: TomlTable, raw: object, others: Mapping[str, Domain | None]) -> Cross | MeanByGroup | None:
    if not isinstance(raw, list) or len(raw) != 2 or not all(isinstance(name, str) for name in raw):  # noqa: PLR2004
        table.mistake("cross", 'must name two metrics, such as ["os", "dark_mode"]')
        return None
    domains = [others[name] for name in raw if name in others]
    if None in domains:  # that metric has a mistake of its own
        return None
    first, second = domains if len(domains) == len(set(raw)) == len(raw) else (None, None)
    if not isinstance(first, Boolean | Category) or not isinstance(second, Boolean | Category | Number):
        table.mistake("cross", f"must name two different metrics of this registry: {_CROSSED}")
        return None
    if isinstance(second, Number):
        return _read_mean_by_group(table, first, second, (raw[0], raw[1]))
    if first.size * second.size > MAX_CELLS:
        table.mistake("cross", f"has {first.size * second.size} pairs of values; at most {MAX_CELLS} can be told apart")
        return None
    return Cross(first, second, (raw[0], raw[1]))


def _read_mean_by_group(table: TomlTable, first: Crossed, second: Number, names: tuple[str, str]) -> MeanByGroup | None:
    if isinstance(second, Activity | OrdinalMean) or second.statistic != "mean":
        table.mistake("cross", 'must name as its second metric a number or a count with statistic = "mean"')
        return None
    if 2 * first.size > MAX_CELLS:
        table.mistake("cross", f"has {first.size} groups; the means of at most {MAX_CELLS // 2} can be told apart")
        return None
    return MeanByGroup(first, second, names)


def _read_values(table: TomlTable, most: int = MAX_CATEGORIES) -> tuple[str, ...] | None:
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


def _read_category(table: TomlTable) -> Category | None:
    values, other = _read_with_other(table)
    return None if values is None else Category(values, other=other)


def _read_with_other(table: TomlTable, most: int = MAX_CATEGORIES) -> tuple[tuple[str, ...] | None, str | None]:
    """Return values and the one that stands for other texts; None for values if either is wrong."""
    values, other = _read_values(table, most), table.text("other")
    if other and values is not None and other not in values:
        table.mistake("other", f"must be one of values{suggestion(other, values)}")
        return None, None
    return values, other or None


def _read_ordinal(table: TomlTable) -> Ordinal | OrdinalMean | None:
    values, statistic = _read_values(table), table.text("statistic")
    if statistic and statistic != "mean":
        table.mistake("statistic", 'must be "mean" for an ordinal, or be removed to have the share of each value, too')
        return None
    scale = None if values is None else Ordinal(values)
    return OrdinalMean.of(scale) if scale and statistic else scale


def _read_set(table: TomlTable) -> Subset | None:
    values, other = _read_with_other(table, MAX_CATEGORIES - 1)
    max_items = table.whole("max_items", MAX_CATEGORIES if values is None else len(values))
    return None if values is None or max_items is None else Subset(values, max_items, other=other)


def _read_number(table: TomlTable) -> Number | None:
    low, high = table.number("low"), table.number("high")
    statistic, clip = _read_statistic(table), table.flag("clip", default=True)
    if low is not None and high is not None and low >= high:
        table.mistake("high", "must be above low")
        return None
    if not statistic or low is None or high is None:
        return None
    return Number(low, high, statistic, clip=clip)


def _read_count(table: TomlTable) -> Count | None:
    most, statistic = table.whole("max", MAX_COUNT), _read_statistic(table)
    clip = table.flag("clip", default=True)
    return None if most is None or not statistic else Count.up_to(most, statistic, clip=clip)


def _read_activity(table: TomlTable) -> Activity | None:
    days, statistic = table.take("days", required=True), _read_statistic(table)
    if days is not None and (type(days) is not int or days not in PERIODS):
        table.mistake("days", f"must be {' or '.join(map(str, PERIODS))}: the days that a report covers")
        return None
    return None if days is None or not statistic else Activity.of_last(days, statistic)


def _read_vector(table: TomlTable) -> Vector | None:
    length, norm = table.whole("length", MAX_LENGTH), read_norm(table, required=True)
    return None if length is None or norm is None else Vector(length, norm)


def _read_statistic(table: TomlTable) -> str:
    statistic = table.text("statistic", required=True)
    if statistic and statistic not in STATISTICS:
        meant = suggestion(statistic, STATISTICS)
        table.mistake("statistic", f'must be "mean", "distribution" or "quantiles"{meant}')
        return ""
    return statistic


_READERS: Mapping[str, Callable[[TomlTable], Domain | None]] = {
    "boolean": lambda _: Boolean(),
    "category": _read_category,
    "ordinal": _read_ordinal,
    "nearest": read_nearest,
    "set": _read_set,
    "number": _read_number,
    "count": _read_count,
    "activity": _read_activity,
    "vector": _read_vector,
    "text": read_text,
    "model": read_model,
}

KINDS = tuple(_READERS)
"""The values of ``kind``."""
