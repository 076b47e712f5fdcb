"""Prints a JSON Schema of metrics.toml for editors (``hearsay-client schema``).

With the schema and a language server, such as Taplo, an editor shows mistakes while the author
types. Only ``hearsay-client check`` checks rules that involve several tables or numbers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from client_sdk.commands import Outcome
from client_sdk.protocol.budget import Strategy
from client_sdk.protocol.kinds import KINDS, kind_named
from client_sdk.protocol.kinds.key import Key, Schema, closed, listing, text, whole
from client_sdk.protocol.kinds.kind import Kind
from client_sdk.protocol.registry.metric_table import KEYS, MAX_TITLE, MOST_STRATA, VALUE
from client_sdk.protocol.registry.registry import MOST_ANSWERS, SCHEMA
from client_sdk.protocol.sentences import LANGUAGE, PURPOSE, TITLE, shipped
from client_sdk.protocol.toml_table import MOST_DEVICES
from client_sdk.protocol.window import WindowKind
from client_sdk.protocol.wire.report import EDITION, METRIC_NAME
from client_sdk.protocol.wire.verdict import MAX_STOPPED

KIND_CLASSES = tuple(map(kind_named, KINDS))

OF_KINDS: Mapping[str, Key] = {key.name: key for kind in KIND_CLASSES for key in kind.keys}
"""Maps the name of each key to the key, for all kinds of metrics. Kinds that share a key describe
the key in the same way."""


def schema() -> Outcome:
    """Return the schema as text."""
    return Outcome(json.dumps(registry_schema(), indent=2, ensure_ascii=False) + "\n")


def registry_schema() -> Schema:
    """Return the schema of a whole registry."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "metrics.toml: the questions of an app (Hearsay)",
        **closed(
            {
                "schema": {"const": SCHEMA},
                "app": _app(),
                "budget": _budget(),
                "metric": _metrics(),
                "stopped": _stopped(),
                "strata": _variables(),
                "event": _events(),
                "sentences": _sentences(),
            },
            4,
        ),
        "if": {"properties": {"budget": _has("strategy", Strategy.PACE)}, "required": ["budget"]},
        "then": {"properties": {"metric": {"additionalProperties": {"required": ["expires"]}}}},
    }


def _stopped() -> Schema:
    entry = {"type": "string", "pattern": f"^{METRIC_NAME.pattern}:{EDITION.pattern}$"}
    what = "questions that a collector tells all devices to stop asking, written as metric:edition"
    return listing(entry, 1, MAX_STOPPED) | {"uniqueItems": True, "description": what}


def _variables() -> Schema:
    values = listing({"type": "string", "pattern": f"^{VALUE}$"}, 1, MOST_STRATA) | {"uniqueItems": True}
    return {
        "type": "object",
        "description": "public variables, whose values devices send without randomization",
        "propertyNames": {"pattern": f"^{METRIC_NAME.pattern}$"},
        "additionalProperties": values,
    }


def _events() -> Schema:
    return {
        "type": "object",
        "description": "events that charts show, such as releases; each key is a day",
        "propertyNames": {"pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"},
        "additionalProperties": closed({"title": _described(text(MAX_TITLE), "a short description of the event")}, 1),
    }


def _sentences() -> Schema:
    """Return the schema of ``[sentences]``. A dotted key, such as ``a.b``, is a nested table."""
    keys = {key.partition(".")[0] for key in (*shipped().texts, PURPOSE, TITLE)}
    return {
        "type": "object",
        "description": "texts for users in other languages, or in the app's own words; each key is a language",
        "propertyNames": {"pattern": f"^{LANGUAGE}$"},
        "additionalProperties": closed({key: {"type": "object"} for key in sorted(keys)}, 0),
    }


def _has(key: str, value: object) -> Schema:
    return {"properties": {key: {"const": value}}, "required": [key]}


def _app() -> Schema:
    return closed(
        {
            "name": _described(text(), "the app's name"),
            "owner": _described(text(), "the person or team that is responsible for the questions"),
            "population": _described(whole(MOST_DEVICES), "the expected number of devices; the command plan uses it"),
        },
        1,
    )


def _budget() -> Schema:
    number = {"type": "number", "exclusiveMinimum": 0}
    return closed(
        {
            "per_window": number | {"description": "the maximum epsilon of all reports in a window"},
            "lifetime": number | {"description": "the maximum epsilon of all reports that a device ever sends"},
            "per_month": number | {"description": "the maximum epsilon of all reports in a calendar month"},
            "web_year": number
            | {"description": "the maximum epsilon in a year if a browser deletes its storage repeatedly"},
            "window": _one_of(WindowKind, "the period that per_window limits, and the default window of a metric"),
            "delta": {
                "type": "number",
                "minimum": 0,
                "exclusiveMaximum": 1,
                "description": "the maximum delta of all reports that a device ever sends",
            },
            "strategy": _one_of(Strategy, "which questions a device answers in a window"),
            "answers": _described(
                whole(MOST_ANSWERS), "with the strategy sample: the number of questions that a device draws in a window"
            ),
            "accept": _described(text(), "the reason for exceeding the epsilon limit for a report or a year"),
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
    first = ("purpose", "epsilon", "kind", "cross")
    order = [KEYS[name] for name in first] + [*OF_KINDS.values()] + [KEYS[name] for name in KEYS if name not in first]
    keys = {key.name: key.schema | {"description": key.description} for key in order}
    crossed: Schema = {"kind": False} | dict.fromkeys(OF_KINDS, False)
    return closed(keys, 2) | {
        "oneOf": [{"required": ["kind"]}, {"required": ["cross"]}],
        "allOf": [
            *map(_rule_of_kind, KIND_CLASSES),
            {"if": {"required": ["cross"]}, "then": {"properties": crossed}},
            {"if": _has("public", value=True), "then": {"properties": {"sensitive": {"const": False}}}},
        ],
        "dependencies": {"fill_value": _has("fill_in", value=True), "approved": _has("public", value=True)},
    }


def _rule_of_kind(kind: type[Kind]) -> Schema:
    """Return the schema of the keys that a kind requires, forbids or restricts."""
    own = {key.name: key for key in kind.keys}
    foreign: Schema = dict.fromkeys([*(name for name in OF_KINDS if name not in own), *kind.refused], False)
    narrower = {name: key.narrower for name, key in own.items() if key.narrower is not None}
    required = [name for name, key in own.items() if key.required]
    return {
        "if": _has("kind", kind.name),
        "then": {"required": required, "properties": foreign | narrower} | kind.rule,
    }


def _one_of(choices: Any, description: str) -> Schema:  # noqa: ANN401 mypy has no type for an enumeration with its values
    return {"enum": [str(choice) for choice in choices], "description": description}


def _described(schema: Schema, description: str) -> Schema:
    return schema | {"description": description}
