"""The JSON Schema of registries says of a table what the reader says."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator, FormatChecker

from client_sdk.cli import main
from client_sdk.commands.json_schema import registry_schema
from client_sdk.commands.registry_commands import STARTER
from client_sdk.protocol import Registry, RegistryError
from client_sdk.protocol.kinds import KINDS, kind_named
from tests.support.devices.definitions import (
    ACTIVITY,
    BOOLEAN,
    CATEGORY,
    COUNT,
    CROSS,
    GAUSSIAN,
    MEAN_BY_GROUP,
    MODEL,
    NEAREST,
    NUMBER,
    ORDINAL,
    SET,
    TEXT,
    USEFUL,
    VECTOR,
    Field,
    Toml,
    registry_text,
)
from tests.support.vectors import vectors

ROOT = Path(__file__).parents[4]
VALIDATOR = Draft7Validator(registry_schema(), format_checker=FormatChecker())

KINDS_ALONE = (BOOLEAN, CATEGORY, ORDINAL, SET, NEAREST, VECTOR, TEXT, MODEL, NUMBER, COUNT, ACTIVITY)
SOUND: dict[str, dict[str, Field]] = {str(fields["kind"]): fields for fields in KINDS_ALONE}
OF_VALUES: dict[str, list[Field]] = {
    "purpose": ["Why?", "", 3, "p" * 501],
    "epsilon": [1, 0.5, "ln 3", "log 3", 0, 21, "ln -1", True],
    "kind": [*KINDS, "kategory", 1],
    "values": [["a", "b", "c"], ["a"], [], "a", ["a", "a", "b"]],
    "prototypes": [
        Toml('{ a = "1 2", b = "2 1" }'),
        Toml('{ a = "1 2" }'),
        Toml('{ a = "1 2", b = "1 nan" }'),
        Toml('{ a = "1 2", b = [1, 2] }'),
        Toml('{ "" = "1 2", b = "2 1" }'),
        "a",
    ],
    "features": [Toml('[{ name = "a", values = ["x", "y"] }]'), Toml("[]"), "a"],
    "title": ["Dark mode", "", 3, "t" * 60, "t" * 61],
    "public": [True, False, "yes"],
    "approved": [["zebra"], [], "zebra", ["zebra", "zebra"], Toml("[3]")],
    "max_items": [1, 0, 1.5, "1"],
    "low": [-1, "0"],
    "high": [11, "9"],
    "max": [5, 0, -1],
    "days": [7, 28, 14, "7", 0],
    "length": [1, 4095, 4096, 0, 1.5],
    "norm": [1, 0.5, 0, 1000001, "1"],
    "statistic": ["mean", "distribution", "quantiles", "median"],
    "clip": [True, False, "no", 0],
    "consent": ["usage", "", "Usage", "a b", "u" * 65, 1, ["usage"], True],
    "unit": ["ms", "", "seventeen letters", 1],
    "mechanism": ["auto", "hybird", 1],
    "window": ["day", "week", "month", "year", 1],
    "owner": ["me", "", 1],
    "expires": [Toml("2027-12-31"), "soon", 1],
    "retention": [1, 0, 1.5],
    "fill_in": [False, "yes", 1],
    "fill_value": [3],
    "persist": [False, 1],
    "permanent_epsilon": [1],
    "utility": [Toml("[[0, -1, -3], [-2, 0, -1], [-3, -2, 0]]"), 1],
    "color": ["red"],
}
"""Values to try for each key, right and wrong ones."""


def as_json(value: Any) -> Any:
    """Return a TOML value as editors hand it to a schema: dates are texts."""
    if isinstance(value, dict):
        return {key: as_json(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [as_json(inner) for inner in value]
    return value.isoformat() if isinstance(value, date) else value


@cache
def is_accepted(text: str) -> bool:
    return bool(VALIDATOR.is_valid(as_json(tomllib.loads(text))))


@cache
def is_read(text: str) -> bool:
    try:
        Registry.parse(text)
    except RegistryError:
        return False
    return True


def cases() -> Iterator[tuple[str, str]]:
    """Yield registries in which one key of one kind is changed, added or removed."""
    for kind, fields in SOUND.items():
        yield kind, registry_text(m=fields)
        for key, values in OF_VALUES.items():
            for value in values:
                yield f"{kind}, {key} = {str(value)[:20]}", registry_text(m=fields | {key: value})
        for key in fields:
            yield f"{kind} without {key}", registry_text(m={k: v for k, v in fields.items() if k != key})
    yield "permanent", registry_text(m=BOOLEAN | {"permanent_epsilon": 2})
    yield "filled", registry_text(m=COUNT | {"statistic": "mean", "fill_in": True, "fill_value": 3})
    yield "crossed", registry_text(dark_mode=BOOLEAN, os=CATEGORY, both=CROSS)
    yield "a number by group", registry_text(startup_ms=NUMBER, os=CATEGORY, both=MEAN_BY_GROUP | {"unit": "ms"})
    yield "crossed with a kind", registry_text(dark_mode=BOOLEAN, os=CATEGORY, both=CROSS | {"kind": "boolean"})
    yield "crossed with values", registry_text(dark_mode=BOOLEAN, os=CATEGORY, both=CROSS | {"values": ["a", "b"]})
    for name in ("gaussian", "useful"):
        yield name, registry_text(m={"gaussian": GAUSSIAN, "useful": USEFUL}[name])
    for row in (
        "answers = 2",
        'strategy = "pace"',
        'strategy = "sample"',
        'strategy = "all"',
        "per_month = 0",
        "x = 1",
    ):
        yield row, registry_text(m=BOOLEAN).replace("[budget]", f"[budget]\n{row}")
    for beside in ({"public": True}, {"public": False}):
        yield f"approved, {beside}", registry_text(m=TEXT | {"approved": ["zebra"]} | beside)
        yield f"sensitive, {beside}", registry_text(m=BOOLEAN | {"sensitive": True} | beside)
    for event in (
        '2027-03-02]\ntitle = "2.3 released"',
        "2027-03-02]",
        '2027-03-02]\ntitle = ""',
        '2027-03-02]\ntitle = "2.3 released"\nurl = "x"',
        '20270302]\ntitle = "2.3 released"',
        '2027-02-30]\ntitle = "2.3 released"',
    ):
        yield f"event {event}", f"{registry_text(m=BOOLEAN)}[event.{event}\n"
    yield "event = 1", registry_text(m=BOOLEAN).replace("schema = 1", "schema = 1\nevent = 1")
    for line in ("schema = 1", "schema = 3", "schema = 1\nextra = 1"):
        yield line, registry_text(m=BOOLEAN).replace("schema = 1", line)


ONLY_THE_READER = {
    "category, utility = [[0, -1, -3], [-2, 0",  # which mechanism takes a utility
    "ordinal, kind = category",  # which mechanism needs an order
    "ordinal, statistic = mean",  # which mechanism has a share of each value
    "ordinal, permanent_epsilon = 1",  # which mechanism reports a permanent answer
    "model, mechanism = auto",  # which label leaves a choice of mechanisms, that depends on the population
    "model without mechanism",  # the same
    'event 2027-02-30]\ntitle = "2.3 released"',  # which days a month has
}
"""What depends on the law of a mechanism."""


@pytest.mark.slow
def test_the_schema_never_refuses_what_the_reader_takes() -> None:
    taken = {name: text for name, text in cases() if is_read(text)}
    assert len(taken) > 100
    assert [name for name, text in taken.items() if not is_accepted(text)] == []


@pytest.mark.slow
def test_what_the_reader_refuses_the_schema_refuses_with_few_exceptions() -> None:
    passed = {name for name, text in cases() if is_accepted(text) and not is_read(text)}
    assert passed == ONLY_THE_READER


def test_every_kind_has_its_keys() -> None:
    assert SOUND.keys() == KINDS.keys()


def test_kinds_say_the_same_of_a_key_that_they_share() -> None:
    shared: dict[str, tuple[object, str]] = {}
    for kind in map(kind_named, KINDS):
        for key in kind.keys:
            assert shared.setdefault(key.name, (key.schema, key.description)) == (key.schema, key.description)


def test_the_schema_takes_the_registries_of_this_project() -> None:
    for path in (STARTER, ROOT / "examples" / "health" / "metrics.toml"):
        assert is_accepted(path.read_text(encoding="utf-8"))
    for name in ("editions", "auto"):
        definitions = [vector["definition"] for vector in vectors(name) if "definition" in vector]
        for definition in definitions:
            assert is_accepted(definition), definition


def test_the_command_prints_the_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown == json.loads(json.dumps(registry_schema()))
    Draft7Validator.check_schema(shown)
