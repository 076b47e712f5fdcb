"""``hearsay-client schema``: a JSON Schema of metrics.toml for editors such as those with taplo.

It knows what a single table may hold, and says so while one types. What several tables or numbers
decide together only the reader knows: ``hearsay-client check``.
"""

from __future__ import annotations

import json
from typing import Any

from client_sdk.commands import Outcome
from client_sdk.protocol.budget import Strategy
from client_sdk.protocol.domain import (
    MAX_CATEGORIES,
    MAX_COUNT,
    MAX_INPUTS,
    MAX_LENGTH,
    MAX_LETTERS,
    MAX_PROTOTYPES,
    MAX_TEXT_LENGTH,
    PERIODS,
)
from client_sdk.protocol.domain.vector import GREATEST_NORM, LEAST_NORM
from client_sdk.protocol.epsilon import GREATEST_EPSILON, LEAST_EPSILON
from client_sdk.protocol.mechanisms.catalogue import NAMES
from client_sdk.protocol.registry.domain_table import KINDS, STATISTICS
from client_sdk.protocol.registry.metric_table import (
    GREATEST_DELTA,
    LEAST_DELTA,
    MAX_UNIT,
    MOST_DEVICES,
    MOST_RETENTION_DAYS,
)
from client_sdk.protocol.registry.prototypes import VECTOR
from client_sdk.protocol.registry.registry import MOST_ANSWERS, SCHEMA
from client_sdk.protocol.registry.strata import MOST_STRATA, VALUE
from client_sdk.protocol.registry.table import MAX_TEXT
from client_sdk.protocol.registry.texts import CELLS_ALLOWED, PRESETS
from client_sdk.protocol.sentences import LANGUAGE, PURPOSE, shipped
from client_sdk.protocol.window import WindowKind
from client_sdk.protocol.wire.report import EDITION, METRIC_NAME
from client_sdk.protocol.wire.stopped import MAX_STOPPED

Schema = dict[str, Any]

DOMAIN_KEYS: dict[str, tuple[str, ...]] = {
    "boolean": (),
    "category": ("values",),
    "ordinal": ("values",),
    "nearest": ("prototypes",),
    "set": ("values", "max_items"),
    "number": ("low", "high", "statistic"),
    "count": ("max", "statistic"),
    "activity": ("days", "statistic"),
    "vector": ("length", "norm"),
    "text": ("max_length", "discover"),
    "model": ("features", "label"),
}
"""The keys that each kind must have; those of other kinds it must not have."""

_OPTIONAL: dict[str, tuple[str, ...]] = {
    "number": ("clip",),
    "count": ("clip",),
    "text": ("letters", "preset", "max_items", "cells"),
    "model": ("norm", "population"),
}
"""The keys that a kind may have, too."""

_KEYS = sorted({key for keys in (*DOMAIN_KEYS.values(), *_OPTIONAL.values()) for key in keys})
_DOTTED_NUMBER = r"[0-9]{1,40}(\.[0-9]{1,40})?"


def schema() -> Outcome:
    """Return the schema as text."""
    return Outcome(json.dumps(registry_schema(), indent=2, ensure_ascii=False) + "\n")


def registry_schema() -> Schema:
    """Return the schema of a whole registry."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "metrics.toml: the questions of an app (Hearsay)",
        **_closed(
            {
                "schema": {"const": SCHEMA},
                "app": _app(),
                "budget": _budget(),
                "metric": _metrics(),
                "stopped": _stopped(),
                "strata": _variables(),
                "sentences": _sentences(),
            },
            4,
        ),
        "if": {"properties": {"budget": _has("strategy", Strategy.PACE)}, "required": ["budget"]},
        "then": {"properties": {"metric": {"additionalProperties": {"required": ["expires"]}}}},
    }


def _stopped() -> Schema:
    entry = {"type": "string", "pattern": f"^{METRIC_NAME.pattern}:{EDITION.pattern}$"}
    what = "on a collector: the questions that all devices shall ask no more, as metric:edition"
    return _list(entry, 1, MAX_STOPPED) | {"uniqueItems": True, "description": what}


def _variables() -> Schema:
    values = _list({"type": "string", "pattern": f"^{VALUE.pattern}$"}, 1, MOST_STRATA) | {"uniqueItems": True}
    return {
        "type": "object",
        "description": "public variables, whose values devices send in the clear",
        "propertyNames": {"pattern": f"^{METRIC_NAME.pattern}$"},
        "additionalProperties": values,
    }


def _sentences() -> Schema:
    """Return the schema of ``[sentences]``: dotted keys are tables within tables."""
    keys = {key.partition(".")[0] for key in (*shipped().texts, PURPOSE)}
    return {
        "type": "object",
        "description": "the app's own sentences for users, by language",
        "propertyNames": {"pattern": f"^{LANGUAGE.pattern}$"},
        "additionalProperties": _closed({key: {"type": "object"} for key in sorted(keys)}, 0),
    }


def _has(key: str, value: object) -> Schema:
    """Return the condition that a key has a value."""
    return {"properties": {key: {"const": value}}, "required": [key]}


def _closed(properties: dict[str, Schema], required: int) -> Schema:
    """Return the schema of a table whose first keys are required, and that allows no other keys."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties)[:required],
        "additionalProperties": False,
    }


def _app() -> Schema:
    return _closed({"name": _text("the app's name"), "owner": _text("who answers for its questions")}, 1)


def _budget() -> Schema:
    number = {"type": "number", "exclusiveMinimum": 0}
    return _closed(
        {
            "per_window": number | {"description": "the most that all reports of a window may cost"},
            "lifetime": number | {"description": "the most that all reports of a device may ever cost"},
            "per_month": number | {"description": "the most that all reports of a calendar month may cost"},
            "web_year": number | {"description": "for browsers: the most of a year whose storage is wiped"},
            "window": _one_of(WindowKind, "the period of per_window, and of metrics that name none"),
            "delta": {"type": "number", "minimum": 0, "exclusiveMaximum": 1, "description": "for gaussian"},
            "strategy": _one_of(Strategy, "which questions a device answers in a window"),
            "answers": _whole(MOST_ANSWERS, "with sample: how many questions are drawn for a window"),
            "accept": _text("why more may be revealed than the limits of a report or a year allow"),
        },
        2,
    ) | {
        "if": _has("strategy", Strategy.SAMPLE),
        "then": {"required": ["answers"]},
        "else": {"properties": {"answers": False}},
    }


def _metrics() -> Schema:
    return {
        "type": "object",
        "minProperties": 1,
        "propertyNames": {"pattern": f"^{METRIC_NAME.pattern}$"},
        "additionalProperties": _metric(),
    }


def _metric() -> Schema:
    rules = [_rule_of_kind(kind) for kind in KINDS]
    crossed: Schema = {"kind": False, "other": False} | dict.fromkeys(_KEYS, False)
    return _closed(_metric_keys(), 2) | {
        "oneOf": [{"required": ["kind"]}, {"required": ["cross"]}],
        "allOf": [
            *rules,
            {"if": {"required": ["cross"]}, "then": {"properties": crossed}},
        ],
        "dependencies": {
            "fill_value": _has("fill_in", value=True),
        },
    }


def _rule_of_kind(kind: str) -> Schema:
    own = DOMAIN_KEYS[kind]
    foreign: dict[str, Schema | bool] = {key: False for key in _KEYS if key not in (*own, *_OPTIONAL.get(kind, ()))}
    if kind == "ordinal":
        foreign["statistic"] = {"const": "mean"}
    if kind not in ("number", "count"):
        foreign |= {"persist": False} if kind == "activity" else {"unit": False}
        foreign["fill_value"] = False
    if kind not in ("category", "ordinal"):
        foreign["utility"] = False
    if kind not in ("category", "set", "text"):
        foreign["other"] = False
    if kind in ("set", "vector", "model", "text"):
        foreign["permanent_epsilon"] = False
    rule: Schema = {"required": list(own), "properties": foreign}
    if kind == "text":
        rule["oneOf"] = [{"required": ["letters"]}, {"required": ["preset"]}]
    return {"if": _has("kind", kind), "then": rule}


def _metric_keys() -> dict[str, Schema]:
    """Return all keys of a metric; the first two are required."""
    return {
        "purpose": _text("why it is asked, in a sentence for the user"),
        "epsilon": _epsilon("the privacy loss of one report"),
        "kind": {"enum": list(KINDS), "description": "what may be answered"},
        "cross": _list({"type": "string"}, 2, 2)
        | {"description": "instead of kind: two other questions together; the second may be a number with a mean"},
        "values": _list(_text("a value"), 2, MAX_CATEGORIES) | {"uniqueItems": True, "description": "the answers"},
        "other": _text(
            "of a category or a set: the value that stands for every answer or member which is not listed; of a text: "
            "the letter that stands for every other letter"
        ),
        "prototypes": _prototypes(),
        "max_items": _whole(
            MAX_CATEGORIES, "of a set: the most members; of texts: the most of one answer, 1 by default"
        ),
        "low": {"type": "number", "description": "the least answer"},
        "high": {"type": "number", "description": "the greatest answer"},
        "max": _whole(MAX_COUNT, "of a count: the greatest answer"),
        "clip": {
            "type": "boolean",
            "description": "of a number or a count: whether an answer beyond an end counts as that end, true by "
            "default; if false it is invalid, and a random one is reported",
        },
        "days": {"enum": list(PERIODS), "description": "of an activity: the days that a report covers"},
        "features": _features(),
        "label": {"anyOf": [{"enum": ["boolean"]}, _closed(_ends(), 2)], "description": "of a model: what to predict"},
        "population": _whole(MOST_DEVICES, "of a model: the devices that will report, by which auto chooses"),
        "length": _whole(MAX_LENGTH, "of a vector: how many numbers it has"),
        "norm": {
            "type": "number",
            "minimum": float(LEAST_NORM),
            "maximum": float(GREATEST_NORM),
            "description": "of a vector or the features of a model: the greatest length; longer ones are shortened",
        },
        "statistic": {"enum": list(STATISTICS), "description": "what is estimated; of an ordinal only the mean"},
        "letters": _text("of a text: the letters that are told apart", MAX_LETTERS),
        "preset": _one_of(PRESETS, "of a text: letters by a name"),
        "max_length": _whole(MAX_TEXT_LENGTH, "of a text: the most letters; longer ones are cut"),
        "discover": {"type": "boolean", "description": "of a text: whether texts can be found that nobody names"},
        "cells": {"enum": list(CELLS_ALLOWED), "description": "of a text: about how many cells a group's table has"},
        "unit": _text("of its numbers, shown behind figures", MAX_UNIT),
        "mechanism": {"enum": list(NAMES), "description": "how answers are perturbed; auto by default"},
        "delta": {"type": "number", "minimum": float(LEAST_DELTA), "maximum": float(GREATEST_DELTA)},
        "utility": _list(_list({"type": "number"}, 2), 2),
        "window": _one_of(WindowKind, "how often it is asked"),
        "strata": _list({"type": "string"}, 1, MOST_STRATA)
        | {"uniqueItems": True, "description": "the variables of [strata] by which its reports are counted apart"},
        "owner": _text("who answers for it"),
        "consent": {
            "type": "string",
            "pattern": f"^{METRIC_NAME.pattern}$",
            "description": "the purpose to which the user must have agreed",
        },
        "sensitive": {"type": "boolean", "description": "whether the limit of its epsilon is ln 3 instead of ln 9"},
        "expires": {
            "type": "string",
            "format": "date",
            "description": "the last day on which a window of it may begin; it is asked to the end of that window",
        },
        "retention": _whole(MOST_RETENTION_DAYS, "days for which the collector keeps its tallies"),
        "permanent_epsilon": _epsilon("the most that all reports of one unchanged answer reveal, in each edition"),
        "fill_in": {"type": "boolean", "description": "report even if nothing was recorded"},
        "fill_value": {"type": "number", "description": "what stands for nothing recorded"},
        "persist": {"type": "boolean", "description": "of a count: keep the running sum on disk"},
    }


def _prototypes() -> Schema:
    return {
        "type": "object",
        "minProperties": 2,
        "maxProperties": MAX_PROTOTYPES,
        "propertyNames": _text("a label"),
        "additionalProperties": {"type": "string", "pattern": f"^{VECTOR}$"},
        "description": "of nearest: each label with its vector, a text of numbers",
    }


def _features() -> Schema:
    name = {"type": "string", "pattern": f"^{METRIC_NAME.pattern}$"}
    values = _list(_text("a value"), 2, MAX_INPUTS + 1) | {"uniqueItems": True}
    feature = {"anyOf": [_closed({"name": name} | _ends(), 3), _closed({"name": name, "values": values}, 2)]}
    return _list(feature, 1, MAX_INPUTS) | {"description": "of a model: numbers with their ends, or lists of values"}


def _ends() -> dict[str, Schema]:
    return {"low": {"type": "number"}, "high": {"type": "number"}}


def _text(description: str, most: int = MAX_TEXT) -> Schema:
    printable = r"^[^\u0000-\u001f\u007f]*$"
    return {"type": "string", "minLength": 1, "maxLength": most, "pattern": printable, "description": description}


def _epsilon(description: str) -> Schema:
    number = {"type": "number", "minimum": float(LEAST_EPSILON), "maximum": float(GREATEST_EPSILON)}
    logarithm = {"type": "string", "pattern": f"^ln +{_DOTTED_NUMBER}$"}
    return {"anyOf": [number, logarithm], "description": f'{description}: a number, or "ln 3"'}


def _whole(most: int, description: str) -> Schema:
    return {"type": "integer", "minimum": 1, "maximum": most, "description": description}


def _one_of(choices: Any, description: str) -> Schema:  # noqa: ANN401 mypy knows no type of enumerations that holds their values
    return {"enum": [str(choice) for choice in choices], "description": description}


def _list(items: Schema, least: int, most: int | None = None) -> Schema:
    return {"type": "array", "items": items, "minItems": least} | ({} if most is None else {"maxItems": most})
