"""Every key of a registry: ranges from its schema, defaults and examples from here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from client_sdk.commands.json_schema import registry_schema
from tools.reference.markdown import table


class Key(NamedTuple):
    """What the schema does not say of a key.

    Attributes:
        default: what holds if the key is left out, as it is written; or a word in parentheses.
        example: a line of TOML.
        beside: the other lines that its table needs, with those of ``COMMON``.

    """

    default: str
    example: str
    beside: str = 'kind = "boolean"'


REQUIRED: Final = "(required)"
NONE: Final = "(none)"

APP: Final[Mapping[str, Key]] = {
    "name": Key(REQUIRED, 'name = "acme-notes"', ""),
    "owner": Key("(each metric names one)", 'owner = "telemetry@example.com"', 'name = "a"'),
    "population": Key(NONE, "population = 5000", 'name = "a"'),
}

_CEILINGS: Final = "per_window = 6\nlifetime = 60"
BUDGET: Final[Mapping[str, Key]] = {
    "per_window": Key(REQUIRED, "per_window = 2.5", "lifetime = 60"),
    "lifetime": Key(REQUIRED, "lifetime = 5.0", "per_window = 5.0"),
    "per_month": Key(NONE, "per_month = 10", _CEILINGS),
    "web_year": Key(NONE, "web_year = 324", _CEILINGS),
    "window": Key('window = "day"', 'window = "week"', _CEILINGS),
    "delta": Key("delta = 0", "delta = 1e-6", _CEILINGS),
    "strategy": Key('strategy = "split"', 'strategy = "pace"', _CEILINGS),
    "accept": Key("(none: the limits hold)", 'accept = "A study with written consent."', _CEILINGS),
    "answers": Key('(required by `strategy = "sample"`)', "answers = 1", f'{_CEILINGS}\nstrategy = "sample"'),
}

_NUMBER: Final = 'kind = "number"\nlow = 0\nhigh = 10\nstatistic = "mean"'
_COUNT: Final = 'kind = "count"\nmax = 5\nstatistic = "mean"'
_CATEGORY: Final = 'kind = "category"\nvalues = ["a", "b"]'
_TEXT: Final = 'kind = "text"\nmax_length = 16\ndiscover = true'
_FEATURES: Final = 'features = [{ name = "age", low = 18, high = 90 }]'

METRIC: Final[Mapping[str, Key]] = {
    "purpose": Key(REQUIRED, 'purpose = "Which systems must we test on?"'),
    "epsilon": Key(REQUIRED, 'epsilon = "ln 3"'),
    "kind": Key("(required, or `cross`)", 'kind = "boolean"', ""),
    "cross": Key("(required, or `kind`)", 'cross = ["first", "second"]', ""),
    "values": Key("(required by category, ordinal, set)", 'values = ["linux", "macos"]', 'kind = "category"'),
    "other": Key(NONE, 'other = "b"', _CATEGORY),
    "prototypes": Key(
        "(required by nearest)", 'prototypes = { cat = "0.9 -0.2", dog = "-0.7 0.4" }', 'kind = "nearest"'
    ),
    "max_items": Key("(required by set)", "max_items = 2", 'kind = "set"\nvalues = ["a", "b", "c"]'),
    "low": Key("(required by number)", "low = 0", 'kind = "number"\nhigh = 10\nstatistic = "mean"'),
    "high": Key("(required by number)", "high = 5000", 'kind = "number"\nlow = 0\nstatistic = "mean"'),
    "max": Key("(required by count)", "max = 5", 'kind = "count"\nstatistic = "mean"'),
    "clip": Key("clip = true", "clip = false", _NUMBER),
    "thresholds": Key(
        NONE,
        "thresholds = [200, 500, 1000]",
        'kind = "number"\nlow = 0\nhigh = 5000\nstatistic = "quantiles"',
    ),
    "scale": Key("(an even one)", 'scale = "log"', _NUMBER),
    "days": Key("(required by activity)", "days = 28", 'kind = "activity"\nstatistic = "distribution"'),
    "statistic": Key(
        "(required by number, count, activity)", 'statistic = "quantiles"', 'kind = "number"\nlow = 0\nhigh = 10'
    ),
    "length": Key("(required by vector)", "length = 300", 'kind = "vector"\nnorm = 1'),
    "features": Key(
        "(required by model)",
        'features = [{ name = "age", low = 18, high = 90 }, { name = "sex", values = ["f", "m"] }]',
        'kind = "model"\nlabel = "boolean"\nmechanism = "crosses"',
    ),
    "label": Key(
        "(required by model)", 'label = "boolean"', f'kind = "model"\n{_FEATURES}\nmechanism = "rotated-axes"'
    ),
    "population": Key(
        "(required by `auto` of a model)", "population = 100000", f'kind = "model"\n{_FEATURES}\nlabel = "boolean"'
    ),
    "norm": Key("(required by vector)", "norm = 1", 'kind = "vector"\nlength = 300'),
    "letters": Key("(required by text, or `preset`)", 'letters = "abcdefghijklmnopqrstuvwxyz"', _TEXT),
    "preset": Key("(required by text, or `letters`)", 'preset = "domain"', _TEXT),
    "max_length": Key(
        "(required by text)", "max_length = 20", 'kind = "text"\npreset = "identifier"\ndiscover = false'
    ),
    "discover": Key("(required by text)", "discover = true", 'kind = "text"\npreset = "identifier"\nmax_length = 20'),
    "approved": Key(
        "(none: no text is published)",
        'approved = ["zebra"]',
        f'{_TEXT}\nletters = "abcdefghijklmnopqrstuvwxyz"\npublic = true',
    ),
    "cells": Key("cells = 131072", "cells = 16384", f'{_TEXT}\npreset = "domain"'),
    "title": Key("(its name)", 'title = "Dark mode"'),
    "unit": Key(NONE, 'unit = "ms"', _NUMBER),
    "mechanism": Key('mechanism = "auto"', 'mechanism = "laplace"', _NUMBER),
    "delta": Key("(required by `gaussian`)", "delta = 1e-6", f'{_NUMBER}\nmechanism = "gaussian"'),
    "utility": Key(
        "(required by `exponential` of a category)",
        "utility = [[1, 0], [0, 1]]",
        f'{_CATEGORY}\nmechanism = "exponential"',
    ),
    "window": Key("(the budget's)", 'window = "week"'),
    "strata": Key("(none: all are counted together)", 'strata = ["platform"]'),
    "owner": Key("(the app's)", 'owner = "notes@example.com"'),
    "consent": Key("(an agreement to everything)", 'consent = "usage"'),
    "sensitive": Key("sensitive = false", "sensitive = true"),
    "public": Key("public = false", "public = true"),
    "expires": Key('(none; required by `strategy = "pace"`)', "expires = 2027-12-31"),
    "retention": Key("(for good)", "retention = 365"),
    "permanent_epsilon": Key(NONE, "permanent_epsilon = 2.0", 'kind = "boolean"'),
    "fill_in": Key("fill_in = false", "fill_in = true"),
    "fill_value": Key("(required by `fill_in` of a mean or count)", "fill_value = 0", f"{_NUMBER}\nfill_in = true"),
    "persist": Key("persist = false", "persist = true", _COUNT),
}


def properties(name: str) -> dict[str, dict[str, Any]]:
    """Return the schema's keys of a table of the registry: ``app``, ``budget`` or ``metric``."""
    part = registry_schema()["properties"][name]
    keys: dict[str, dict[str, Any]] = part.get("properties") or part["additionalProperties"]["properties"]
    return keys


def app() -> str:
    """Return the table of ``[app]``."""
    return _table("app", APP)


def budget() -> str:
    """Return the table of ``[budget]``."""
    return _table("budget", BUDGET)


def metric() -> str:
    """Return the table of ``[metric.NAME]``."""
    return _table("metric", METRIC)


def _table(name: str, keys: Mapping[str, Key]) -> str:
    known = properties(name)
    rows = [_row(key, known[key], said) for key, said in keys.items()]
    return table(("key", "says", "type and range", "default", "example"), rows)


def _row(name: str, schema: Mapping[str, Any], key: Key) -> tuple[str, ...]:
    default = key.default.strip("()") if key.default.startswith("(") else f"`{key.default.partition(' = ')[2]}`"
    return (
        f"`{name}`",
        schema["description"],
        kind_of(schema),
        default,
        f"`{key.example}`",
    )


def kind_of(schema: Mapping[str, Any]) -> str:
    """Return the type and the range of a key in words."""
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(kind_of(each) for each in schema["anyOf"]))
    if "enum" in schema:
        return ", ".join(f"`{each}`" for each in schema["enum"])
    match schema["type"]:
        case "array" | "object":
            return _collection(schema)
        case "string":
            return "date" if schema.get("format") == "date" else _text(schema)
        case "boolean":
            return "`true` or `false`"
        case numeric:
            return f"{'whole number' if numeric == 'integer' else 'number'}{_range(schema)}"


def _collection(schema: Mapping[str, Any]) -> str:
    if schema["type"] == "object" and "properties" in schema:
        return f"table of {', '.join(schema['properties'])}"
    if schema["type"] == "object":
        return f"table of {schema['minProperties']} to {schema['maxProperties']:,} labels, each with a text"
    return f"list of {_items(schema)} {kind_of(schema['items'])}".replace("  ", " ")


def _items(schema: Mapping[str, Any]) -> str:
    least, most = schema.get("minItems"), schema.get("maxItems")
    if least == most:
        return f"{least}"
    return f"{least} to {most:,}" if most else f"{least} or more"


def _text(schema: Mapping[str, Any]) -> str:
    if "ln" in schema.get("pattern", ""):
        return '`"ln N"`'
    return f"text of 1 to {schema['maxLength']} characters" if "maxLength" in schema else "text"


def _range(schema: Mapping[str, Any]) -> str:
    least, above = schema.get("minimum"), schema.get("exclusiveMinimum")
    most, below = schema.get("maximum"), schema.get("exclusiveMaximum")
    start = f" from {least:,}" if least is not None else f" above {above}" if above is not None else ""
    return start + (f" to {most:,}" if most is not None else f" to below {below}" if below is not None else "")
