"""A name says what it names: some words say nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tools.import_graph import ROOT

FOLDERS: Final = ("client_sdk", "collector", "estimator", "tests", "benchmarks", "tools", "examples")

EMPTY: Final = {"one", "some", "made", "told", "found", "asked", "wanted"}

KEPT: Final = {"estimator/results/texts.py: found"}
"""The JSON of reports has these keys."""


def sources() -> list[Path]:
    return [path for name in FOLDERS for path in (ROOT / name).rglob("*.py") if "node_modules" not in path.parts]


def names(tree: ast.AST) -> Iterator[str]:
    """Yield every name that a module gives to a value, an argument, a function or a class."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name
            case ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name


def empty_names(source: str) -> set[str]:
    return EMPTY & set(names(ast.parse(source)))


def test_no_name_is_a_word_that_says_nothing() -> None:
    given = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in sources()
        for name in empty_names(path.read_text(encoding="utf-8"))
    }
    assert given == KEPT


@pytest.mark.parametrize(
    "source",
    ["one = 1", "def some(): ...", "def f(made): ...", "self.told = 1", "[found for found in f]", "class asked: ..."],
)
def test_every_place_of_a_name_is_looked_at(source: str) -> None:
    assert empty_names(source)


def test_a_name_that_is_only_used_and_a_word_within_a_name_are_no_matter() -> None:
    assert not empty_names("answer = found\nnumber_found = answer.wanted")
