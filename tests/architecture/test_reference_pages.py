"""The pages of reference have places for what the code says; examples and defaults are read."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from client_sdk.commands.json_schema import registry_schema
from client_sdk.protocol import Registry
from client_sdk.protocol.mechanisms.catalogue import MECHANISMS
from tests.support.core.tables import for_each
from tools.reference.parts import PARTS
from tools.reference.registry_page import APP, BUDGET, MECHANISM_WORDS, METRIC, Key, properties

DOCS = Path(__file__).parents[2] / "docs"
HEAD = 'schema = 1\n[strata]\nplatform = ["ios", "android"]\n[app]\nname = "a"\nowner = "o"\n'
CEILINGS = "[budget]\nper_window = 6\nlifetime = 60\ndelta = 0.1\n"
ONE = 'purpose = "p"\nepsilon = 1\nkind = "boolean"\nexpires = 2027-12-31\n'
METRICS = f"[metric.first]\n{ONE}[metric.second]\n{ONE}"


def registry_with(table: str, key: Key, line: str) -> Registry:
    """Return a registry in which one line stands where its key belongs."""
    if table == "app":
        return Registry.parse(f"schema = 1\n[app]\n{key.beside}\n{line}\n{CEILINGS}{METRICS}")
    if table == "budget":
        return Registry.parse(f"{HEAD}[budget]\n{key.beside}\n{line}\n{METRICS}")
    named = tomllib.loads(f"{key.beside}\n{line}")
    rest = "".join(f"{each}\n" for each in ('purpose = "p"', "epsilon = 1") if each.partition(" ")[0] not in named)
    return Registry.parse(f"{HEAD}{CEILINGS}{METRICS}[metric.asked]\n{key.beside}\n{rest}{line}\n")


KEYS = [
    (table, name, key)
    for table, keys in (("app", APP), ("budget", BUDGET), ("metric", METRIC))
    for name, key in keys.items()
]
DEFAULTS = [each for each in KEYS if " = " in each[2].default and not each[2].default.startswith("(")]


def test_every_part_that_the_code_says_has_one_place() -> None:
    pages = [path.read_text(encoding="utf-8") for path in DOCS.rglob("*.md")]
    marks = re.findall(
        r"^\*`make docs` writes the .+ here\.\* <!-- make docs: (.+) -->$", "\n".join(pages), re.MULTILINE
    )
    assert sorted(marks) == sorted(PARTS)
    assert "".join(pages).count("<!-- make docs: ") == len(marks)  # each says what a checkout lacks


@for_each("name", PARTS)
def test_a_part_is_not_empty(name: str) -> None:
    assert len(PARTS[name]().splitlines()) > 3


def test_the_page_of_keys_has_every_key_and_no_other() -> None:
    tables = {"schema", "app", "budget", "metric", "stopped", "strata", "event", "sentences"}
    assert set(registry_schema()["properties"]) == tables
    for table, keys in (("app", APP), ("budget", BUDGET), ("metric", METRIC)):
        assert set(keys) == set(properties(table))


def test_every_mechanism_is_described_and_has_a_kind() -> None:
    assert set(MECHANISM_WORDS) == set(MECHANISMS)
    rows = [line.split(" | ") for line in PARTS["mechanisms"]().splitlines()[2:]]
    assert [row[0] for row in rows if not row[2]] == []


@pytest.mark.slow
@for_each("table, name, key", KEYS)
def test_every_example_of_a_key_is_read(table: str, name: str, key: Key) -> None:
    assert key.example.startswith(f"{name} = ")
    assert registry_with(table, key, key.example).metrics


@pytest.mark.parametrize(("table", "name", "key"), DEFAULTS, ids=lambda each: each if isinstance(each, str) else "")
def test_a_default_that_is_written_out_changes_nothing(table: str, name: str, key: Key) -> None:
    assert key.default.startswith(f"{name} = ")
    assert registry_with(table, key, key.default) == registry_with(table, key, "")
    assert registry_with(table, key, key.example) != registry_with(table, key, "")
