"""The strict parser for a metric's table in the registry."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping
from datetime import date, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from client_sdk.protocol.budget import Budget, Strategy, attos_ceiling
from client_sdk.protocol.kinds import KINDS, kind_named
from client_sdk.protocol.kinds.key import FLAG, NUMBER, Key, Schema, listing, text, whole
from client_sdk.protocol.kinds.kind import REFUSED, Fill, Kind
from client_sdk.protocol.mechanisms.catalogue import AUTO, NAMES, channel_for
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.requested_epsilon import GREATEST_EPSILON, LEAST_EPSILON, RequestedEpsilon
from client_sdk.protocol.toml_table import TomlTable, is_moderate, is_number, suggestion
from client_sdk.protocol.window import WindowKind
from client_sdk.protocol.wire.report import METRIC_NAME

if TYPE_CHECKING:
    from client_sdk.protocol.mechanisms.catalogue import Utility

LEAST_DELTA, GREATEST_DELTA = Fraction(1, 10**10), Fraction(1, 100)
"""The minimum and maximum delta. The integers of a channel cannot represent a smaller delta. A
larger delta could expose one device in a hundred."""

Variables = Mapping[str, tuple[str, ...]]
"""Public variables, each with its values."""

VALUE: Final = r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}"
"""The format of a public variable's value: a word or a version that needs no quoting anywhere."""

MOST_STRATA: Final = 32
"""The maximum number of a metric's strata. With more strata, a stratum could consist of so few
devices that they are recognizable."""

MAX_UNIT: Final = 16
"""The maximum length of a unit, such as "ms", "km/h" or "open windows", in characters."""

MAX_TITLE: Final = 60
"""The maximum length of a title in characters. Titles appear above charts and in rows of tables."""

MOST_RETENTION_DAYS: Final = 36_500
"""The maximum retention in days: a hundred years. By default, tallies are kept forever."""


def _read_epsilon(table: TomlTable, key: Key, _: Mapping[str, Any]) -> RequestedEpsilon | None:
    raw = table.take(key.name, required=key.required)
    if raw is None:
        return None
    try:
        return RequestedEpsilon.parse(raw)
    except ValueError as error:
        table.mistake(key.name, str(error))
        return None


def _read_date(table: TomlTable, key: Key, _: Mapping[str, Any]) -> date | None:
    day = table.take(key.name)
    if day is not None and (not isinstance(day, date) or isinstance(day, datetime)):
        table.mistake(key.name, "must be a date such as 2027-12-31, without quotes")
        return date.max  # so that no second mistake says that the date is missing
    return day


def _read_name(table: TomlTable, key: Key, _: Mapping[str, Any]) -> str | None:
    name = table.text(key.name)
    if name and not METRIC_NAME.fullmatch(name):
        table.mistake(key.name, "must be a short name of 1 to 64 characters from a-z, 0-9 and _, such as usage")
        return None
    return name or None


def _read_delta(table: TomlTable, key: Key, _: Mapping[str, Any]) -> Fraction | None:
    delta = table.number(key.name, required=False)
    if delta is not None and not LEAST_DELTA <= delta <= GREATEST_DELTA:
        table.mistake(key.name, f"must be from {float(LEAST_DELTA):g} to {float(GREATEST_DELTA):g}")
        return None
    return delta


def _epsilon() -> Schema:
    dotted = r"[0-9]{1,40}(\.[0-9]{1,40})?"
    number = {"type": "number", "minimum": float(LEAST_EPSILON), "maximum": float(GREATEST_EPSILON)}
    return {"anyOf": [number, {"type": "string", "pattern": f"^ln +{dotted}$"}]}


_NAME: Final[Schema] = {"type": "string", "pattern": f"^{METRIC_NAME.pattern}$"}

KEYS: Final[Mapping[str, Key]] = {
    key.name: key
    for key in (
        Key("purpose", text(), "the reason for asking, in a sentence for the user"),
        Key("epsilon", _epsilon(), 'the privacy loss of one report: a number, or "ln 3"', read=_read_epsilon),
        Key("kind", {"enum": list(KINDS)}, "the kind of answer", required=False),
        Key(
            "cross",
            listing({"type": "string"}, 2, 2),
            "instead of kind: two other questions, reported as a pair; the second may be a number whose mean is "
            "estimated",
            required=False,
        ),
        Key("title", text(MAX_TITLE), "a human-readable name, shown in place of the key", required=False),
        Key("unit", text(MAX_UNIT), "the unit of the numbers, shown after figures", required=False),
        Key("mechanism", {"enum": list(NAMES)}, "how answers are randomized; auto by default", required=False),
        Key(
            "delta",
            {"type": "number", "minimum": float(LEAST_DELTA), "maximum": float(GREATEST_DELTA)},
            "with gaussian: how far a report's probability may exceed e^epsilon times that for another answer",
            required=False,
            read=_read_delta,
        ),
        Key(
            "utility",
            listing(listing(NUMBER, 2), 2),
            "with exponential: the utility of each reported value (column) for each true value (row)",
            required=False,
        ),
        Key("window", {"enum": [str(kind) for kind in WindowKind]}, "how often the question is asked", required=False),
        Key(
            "strata",
            listing({"type": "string"}, 1, MOST_STRATA) | {"uniqueItems": True},
            "variables of [strata]; reports are counted separately for each combination of their values",
            required=False,
        ),
        Key("owner", text(), "the person or team that is responsible for the question", required=False),
        Key("consent", _NAME, "the name of the purpose to which the user must agree", required=False, read=_read_name),
        Key("sensitive", FLAG, "whether the limit for the epsilon is ln 3 instead of ln 9", required=False),
        Key("public", FLAG, "whether the figures may be published", required=False),
        Key(
            "expires",
            {"type": "string", "format": "date"},
            "the last date on which a window may begin; the question is asked until that window ends",
            required=False,
            read=_read_date,
        ),
        Key(
            "retention",
            whole(MOST_RETENTION_DAYS),
            "the number of days that the collector keeps closed tallies",
            required=False,
        ),
        Key(
            "permanent_epsilon",
            _epsilon(),
            'the privacy loss of all reports of an unchanged answer within an edition: a number, or "ln 3"',
            required=False,
            read=_read_epsilon,
        ),
        Key("fill_in", FLAG, "report even if nothing was recorded", required=False),
        Key("fill_value", NUMBER, "the value reported if nothing was recorded", required=False),
        Key("persist", FLAG, "store the running sum of a count on disk", required=False),
    )
}
"""The keys of a metric's table, in addition to the keys of its kind."""


def _refuse_others(table: TomlTable, kind: Kind) -> None:
    """Add a mistake for each remaining key that belongs only to kinds other than ``kind``."""
    for key in table.left:
        names = [name for name in KINDS if key in {each.name for each in kind_named(name).keys}]
        if names and kind.name not in names:
            table.take(key)
            others = " or ".join(f'"{name}"' for name in names)
            table.mistake(key, f'belongs to kind = {others}; this question is of kind "{kind.name}": remove it')


def read_metric(  # noqa: PLR0913, PLR0917 the values on which a metric depends
    name: str,
    table: TomlTable,
    owner: str,
    budget: Budget,
    strata: Variables,
    others: Mapping[str, Kind | None],
) -> Metric | None:
    """Return the metric that a table defines.

    If there are mistakes, they are added to the table, and the result is None.

    If a metric sets no owner, ``owner`` applies. If a metric sets no window, the budget's window
    applies. ``strata`` contains the registry's public variables. ``others`` maps the name of each
    metric read so far to the metric's kind, which is None if the metric has mistakes. A metric that
    has the key ``cross`` combines two of these metrics.
    """
    if not METRIC_NAME.fullmatch(name):
        table.mistake("", "must have a name of 1 to 64 characters from a-z, 0-9 and _, starting with a letter")
    keys = ("purpose", "title", "expires", "retention", "sensitive", "public", "consent")
    told = {key: _take(table, key) for key in keys}
    owner, window = table.text("owner", default=owner), table.window("window", budget.window)
    before = table.mistake_count
    kind = _read_kind(table, others)
    if kind is not None:
        _refuse(table, kind)
    names, unit, fill = read_strata(table, strata), _take(table, "unit"), _read_fill(table, kind)
    epsilon, permanent, delta = (_take(table, key) for key in ("epsilon", "permanent_epsilon", "delta"))
    utility, mechanism = _read_utility(table, kind), table.text("mechanism", default=AUTO)
    persist = bool(_take(table, "persist"))
    if kind is not None and epsilon is not None:
        kind = kind.fitted(table, epsilon, mechanism)
    if kind is not None:
        _refuse_others(table, kind)
    table.nothing_else()
    if told["public"] and told["sensitive"]:
        table.mistake("public", "cannot be combined with sensitive = true: sensitive figures are not published")
    if kind is not None and kind.approved and not told["public"]:
        table.mistake("approved", "is only for a question with public = true, because only its texts are published")
    if table.mistake_count > before or kind is None or epsilon is None:
        return None
    has_no_answer = fill is not None and fill.answer is None
    try:
        channel = channel_for(
            kind, epsilon, mechanism, delta=delta, utility=utility, permanent=permanent, has_no_answer=has_no_answer
        )
    except ValueError as error:
        table.mistake("mechanism", f"{error}{'' if mechanism in NAMES else suggestion(mechanism, NAMES)}")
        return None
    metric = Metric(
        name=name,
        purpose=told["purpose"] or "",
        kind=kind,
        channel=channel,
        window=window,
        owner=owner,
        expires=told["expires"],
        fill=fill,
        has_no_answer=has_no_answer,
        persist=persist or kind.always_persists,
        retention_days=told["retention"],
        unit=unit or kind.unit,
        consent=frozenset({told["consent"]} - {None}),
        is_sensitive=bool(told["sensitive"]),
        title=told["title"] or name,
        is_public=bool(told["public"]),
        strata=names,
    )
    _check_ceilings(table, metric, delta or Fraction(0), budget)
    return metric


def _take(table: TomlTable, name: str) -> Any:  # noqa: ANN401 what TOML holds
    key = KEYS[name]
    return key.read(table, key, {})


def _read_kind(table: TomlTable, others: Mapping[str, Kind | None]) -> Kind | None:
    raw = table.take("cross")
    if raw is not None:
        from client_sdk.protocol.kinds.cross import read_cross  # noqa: PLC0415 2 ms

        if table.take("kind") is not None:
            table.mistake("kind", "cannot be combined with cross, which defines the answers; remove it")
        return read_cross(table, raw, others)
    name = table.text("kind", required=True)
    if name in KINDS:
        return kind_named(name).read(table)
    if name:
        table.mistake("kind", f"must be one of: {', '.join(KINDS)}{suggestion(name, KINDS)}")
    for key in (key.name for known in KINDS for key in kind_named(known).keys):
        table.take(key)
    return None


def _refuse(table: TomlTable, kind: Kind) -> None:
    for key, problem in kind.refused.items():
        if table.take(key) is not None:
            table.mistake(key, problem)


def _read_fill(table: TomlTable, kind: Kind | None) -> Fill | None:
    """Return the answer to report if nothing was recorded in a window; None to report nothing."""
    is_filled, value = _take(table, "fill_in"), _take(table, "fill_value")
    if kind is None or not is_filled:
        if value is not None and kind is not None:
            table.mistake("fill_value", REFUSED["fill_value"])
        return None
    return kind.fill(table, value)


def _read_utility(table: TomlTable, kind: Kind | None) -> Utility | None:
    rows = table.take("utility")
    if rows is None or kind is None:
        return None
    size = kind.size
    if size is None:
        table.mistake("utility", REFUSED["utility"])
        return None
    square = isinstance(rows, list) and len(rows) == size and all(isinstance(r, list) and len(r) == size for r in rows)
    if not square or not all(is_number(utility) and is_moderate(utility) for row in rows for utility in row):
        table.mistake(
            "utility", f"must have {size} rows, one per true value, with {size} numbers each, one per reported value"
        )
        return None
    return tuple(tuple(Fraction(utility) for utility in row) for row in rows)


def _check_ceilings(table: TomlTable, metric: Metric, delta: Fraction, budget: Budget) -> None:
    if metric.epsilon_nanos > budget.least_ceiling_nanos:
        table.mistake("epsilon", "is above a ceiling in [budget], so it could never be reported; lower it")
    if attos_ceiling(delta) > budget.lifetime_attos:
        table.mistake(
            "delta", "is above the delta in [budget], so it could never be reported; raise the delta in [budget]"
        )
    if budget.strategy is not Strategy.SPLIT and metric.window is not budget.window:
        table.mistake("window", f'must be "{budget.window}", as in [budget], because strategy = "{budget.strategy}"')
    if budget.strategy is Strategy.PACE and metric.expires is None:
        table.mistake("expires", 'is missing: with strategy = "pace", the lifetime budget must last until this day')


def read_variables(raw: object, mistakes: list[tuple[str, str]]) -> Variables:
    """Return the variables in the table [strata]; add any mistakes to ``mistakes``."""
    if raw is None:
        return {}
    table, read = TomlTable(raw, "strata", mistakes), {}
    for name in list(raw) if isinstance(raw, dict) else []:
        values = table.take(name)
        if not METRIC_NAME.fullmatch(name) or not _are_values(values):
            what = f"must be a name with a list of 1 to {MOST_STRATA} different values, each of letters, digits"
            table.mistake(name, f"""{what}, '.', '_' and '-', such as platform = ["ios", "android"]""")
        else:
            read[name] = tuple(values)
    return read


def _are_values(values: object) -> bool:
    if not isinstance(values, list) or not 1 <= len(values) <= MOST_STRATA:
        return False
    return all(isinstance(value, str) and re.fullmatch(VALUE, value) for value in values) and len(set(values)) == len(
        values
    )


def read_strata(table: TomlTable, variables: Variables) -> tuple[str, ...]:
    """Return the names of a metric's strata: one for each combination of the variables' values."""
    names = table.take("strata")
    if names is None:
        return ()
    known = isinstance(names, list) and names and all(isinstance(name, str) and name in variables for name in names)
    if not known or len(set(names)) < len(names):
        table.mistake("strata", 'must list variables of [strata], without repetition, such as ["platform"]')
        return ()
    if math.prod(len(variables[name]) for name in names) > MOST_STRATA:
        table.mistake("strata", f"has more than {MOST_STRATA} combinations of values; remove a variable or values")
        return ()
    if table.has("permanent_epsilon"):
        table.mistake(
            "strata",
            "cannot be combined with permanent answers: a device would draw them again whenever its stratum changes",
        )
    combinations = itertools.product(*(variables[name] for name in names))
    return tuple(", ".join(map("{}={}".format, names, values)) for values in combinations)
