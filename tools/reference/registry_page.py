"""The tables of all keys, kinds and mechanisms in ``metrics.toml``.

Ranges of keys come from the JSON Schema of the registry. The kinds that each mechanism supports
come from the code. This module adds defaults, examples and explanations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

from client_sdk.commands.json_schema import KIND_CLASSES, OF_KINDS, registry_schema
from client_sdk.protocol.kinds import KINDS
from client_sdk.protocol.kinds.kind import REFUSED, Kind
from client_sdk.protocol.mechanisms.catalogue import MECHANISMS, Mechanism
from tools.reference.markdown import table


class Key(NamedTuple):
    """Facts about a key in addition to the schema.

    ``default`` is TOML, or an explanation in parentheses. ``beside`` contains the other lines of a
    complete example of the table, besides ``COMMON``. ``values`` describes the allowed values if
    the schema's own description is too long.
    """

    default: str
    example: str
    beside: str = 'kind = "boolean"'
    values: str = ""


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
    "accept": Key("(none: the limits apply)", 'accept = "A study with written consent."', _CEILINGS),
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
    "scale": Key("(an even scale)", 'scale = "log"', _NUMBER),
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
    "title": Key("(the name of the question)", 'title = "Dark mode"'),
    "unit": Key(NONE, 'unit = "ms"', _NUMBER),
    "mechanism": Key(
        'mechanism = "auto"',
        'mechanism = "laplace"',
        _NUMBER,
        "`auto`, or the name of [a mechanism](expert.md#mechanisms)",
    ),
    "delta": Key("(required by `gaussian`)", "delta = 1e-6", f'{_NUMBER}\nmechanism = "gaussian"'),
    "utility": Key(
        "(required by `exponential` of a category)",
        "utility = [[1, 0], [0, 1]]",
        f'{_CATEGORY}\nmechanism = "exponential"',
    ),
    "window": Key("(the window of the budget)", 'window = "week"'),
    "strata": Key("(none: all are counted together)", 'strata = ["platform"]'),
    "owner": Key("(the owner of the app)", 'owner = "notes@example.com"'),
    "consent": Key("(consent to everything)", 'consent = "usage"'),
    "sensitive": Key("sensitive = false", "sensitive = true"),
    "public": Key("public = false", "public = true"),
    "expires": Key('(none; required by `strategy = "pace"`)', "expires = 2027-12-31"),
    "retention": Key("(kept forever)", "retention = 365"),
    "permanent_epsilon": Key(NONE, "permanent_epsilon = 2.0", 'kind = "boolean"'),
    "fill_in": Key("fill_in = false", "fill_in = true"),
    "fill_value": Key("(required by `fill_in` of a mean or count)", "fill_value = 0", f"{_NUMBER}\nfill_in = true"),
    "persist": Key("persist = false", "persist = true", _COUNT),
}


MECHANISM_WORDS: Final[Mapping[str, str]] = {
    "randomized-response": "the answer, or its opposite",
    "k-ary-randomized-response": "the answer, or one of the other answers, which are equally likely",
    "cyclic-design": "a block of answers that probably contains the true answer; there are few blocks",
    "projective-geometry": "a block of answers that probably contains the true answer; few blocks for many values",
    "balanced-design": "a block of answers that probably contains the true answer, with the least variance",
    "one-of": "yes or no to one value, drawn before the answer is read",
    "pair-geometry": "a block of values that probably contains one or both of two randomly drawn members",
    "exponential": "a value; values with a higher utility are likelier, by default values near the answer",
    "optimal-mean": "a point of the range, with the least worst-case variance of the mean",
    "one-bit": "an end of the range; the nearer end is likelier",
    "square-wave": "a place near the answer, or any place",
    "hierarchical": "a part of the range; the size of the part is drawn at random",
    "laplace": "the answer with Laplace noise",
    "gaussian": "the answer with Gaussian noise; needs a [delta](#delta)",
    "rotated-axes": "an axis of a random rotation; axes in the direction of the vector are likelier",
    "crosses": "one feature, drawn at random, together with the label",
    "grouped-geometry": "a block of cells that probably contains the hash of the text, in a randomly drawn group",
}
"""The content of a report, by mechanism."""

OF_A_KIND: Final = re.compile(r"of (?:an? )?(\w+)(?: or an? (\w+))?: (?!.*; of )")
"""The pattern of a description in the schema that begins with the kinds that have the key."""

ESTIMATES: Final[Mapping[str, str]] = {"ball": "mean vector, linear model", "features": "model"}
"""The estimates for vectors and models, by the shape of their kind.

For other kinds, the mechanism determines the estimates.
"""


def properties(name: str) -> dict[str, dict[str, Any]]:
    """Return the schema of the keys of ``app``, ``budget`` or ``metric``."""
    part = registry_schema()["properties"][name]
    keys: dict[str, dict[str, Any]] = part.get("properties") or part["additionalProperties"]["properties"]
    return keys


def app() -> str:
    """Return the table of the keys of ``[app]``."""
    return _table("app", APP)


def budget() -> str:
    """Return the table of the keys of ``[budget]``."""
    return _table("budget", BUDGET)


def kinds() -> str:
    """Return the table of the keys that each kind accepts or refuses."""
    rows = [(f"`{kind.name}`", f"`{kind.call}`", *map(_listed, _keys(kind))) for kind in KIND_CLASSES]
    return table(("kind", "method", "required", "optional", "refused"), rows)


def metric() -> str:
    """Return the table of the keys of ``[metric.NAME]``."""
    known = properties("metric")
    rows = [
        (f'<a id="key-{key}"></a>`{key}`', _kinds_with(key), *_row(known[key], said)) for key, said in METRIC.items()
    ]
    return table(("key", "kinds", "meaning", "value", "example"), rows)


def mechanisms() -> str:
    """Return the table of the mechanisms that a registry may name."""
    rows = [(f"`{name}`", says, *_uses(MECHANISMS[name])) for name, says in MECHANISM_WORDS.items()]
    return table(("mechanism", "a report is", "kinds", "estimates", "[permanent](#permanent-answers)"), rows)


def _uses(mechanism: Mechanism) -> tuple[str, ...]:
    names = [kind.name for kind in KIND_CLASSES if mechanism.shape in _shapes(kind) and _is_open(mechanism, kind)]
    estimates = ", ".join(mechanism.statistics) or ESTIMATES.get(mechanism.shape, "shares")
    return ", ".join(names), estimates, "yes" if mechanism.is_permanent else ""


def _is_open(mechanism: Mechanism, kind: type[Kind]) -> bool:
    return mechanism.is_open_to(cast("Kind", kind))  # it reads only properties that all questions of a kind share


def _shapes(kind: type[Kind]) -> Iterator[str]:
    """Yield the possible shapes of a kind's answers. A count has several, by its statistic."""
    waiting: list[type[Kind]] = Kind.__subclasses__()
    while waiting:
        each = waiting.pop()
        waiting += each.__subclasses__()
        if getattr(each, "name", "").partition("-of-")[0] == kind.name:
            yield from each.shapes if isinstance(each.shapes, tuple) else ("grid", "labels")


def _keys(kind: type[Kind]) -> tuple[list[str], list[str], list[str]]:
    """Return the keys that a kind requires, accepts and refuses.

    Keys that belong only to other kinds are left out.
    """
    either = [name for choice in kind.rule.get("oneOf", []) for name in choice["required"]]
    own = {key.name: key.required for key in kind.keys if key.name not in either}
    required = [" or ".join(either)] if either else []
    required += [name for name, needed in own.items() if needed]
    optional = [name for name, needed in own.items() if not needed]
    optional += [key for key in REFUSED if key not in kind.refused]
    return required, optional, [key for key in kind.refused if key not in REFUSED]


def _kinds_with(key: str) -> str:
    if key in OF_KINDS:
        return ", ".join(kind.name for kind in KIND_CLASSES if key in {own.name for own in kind.keys})
    if key in REFUSED:
        return ", ".join(kind.name for kind in KIND_CLASSES if key not in kind.refused)
    return "every"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(" or ".join(map(_link, name.split(" or "))) for name in names)


def _link(key: str) -> str:
    """Return a link to the row of a key, in HTML because rows have no anchors in Markdown."""
    return f'<a class="reference internal" href="#key-{key}"><code class="docutils literal">{key}</code></a>'


def _table(name: str, keys: Mapping[str, Key]) -> str:
    known = properties(name)
    rows = [(f"`{key}`", *_row(known[key], said)) for key, said in keys.items()]
    return table(("key", "meaning", "value", "example"), rows)


def _row(schema: Mapping[str, Any], key: Key) -> tuple[str, ...]:
    default = key.default.strip("()") if key.default.startswith("(") else f"`{key.default.partition(' = ')[2]}`"
    stated = default if default.startswith("required") else f"default: {default}"
    said, prefix = schema["description"], OF_A_KIND.match(schema["description"])
    if prefix and {*prefix.groups()} <= {None, *KINDS}:
        said = said[prefix.end() :]  # the kinds have their own column
    return said, f"{key.values or kind_of(schema)}; {stated}", f"`{key.example}`"


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
    item = re.sub(r"^(whole number|number|text|list|table)", r"\1s", kind_of(schema["items"]))
    return f"list of {_items(schema)} {item}"


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
    start = f" from {_figure(least)}" if least is not None else f" above {above}" if above is not None else ""
    return start + (f" to {_figure(most)}" if most is not None else f" to below {below}" if below is not None else "")


def _figure(number: float) -> str:
    return f"{int(number):,}" if number == int(number) else f"{number:g}".replace("e-0", "e-")
