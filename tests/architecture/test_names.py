"""One word for each concept in every name of the code: that of the field, none of our own."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from tools.import_graph import ROOT

FOLDERS: Final = ("benchmarks", "client_sdk", "collector", "docker", "docs", "estimator", "examples", "tests", "tools")

WORDS: Final = {
    "question": "metric",
    "crowd": "population",
    "stray": "deviation",
    "stretch": "range",
    "contest": "game",
    "scene": "game",
    "board": "shared state",
    "sheet": "shared counters",
    "leapt": "accelerated",
    "hear": "receive",
    "heard": "received",
    "dearest": "costliest",
}
"""A word that no name has as a part, in the singular or the plural, and the one to use."""

NO_NAME: Final = {"of": "say what it returns, or what it is made from: from_counts"}

_PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")

_TEXT: Final = re.compile(
    r"""#.*|[fF]?[rR]?[fF]?(?:\"{3}(?:\\[\s\S]|[^\\])*?\"{3}|'{3}(?:\\[\s\S]|[^\\])*?'{3}"""
    r"""|"(?:\\[\s\S]|[^"\\\n])*"|'(?:\\[\s\S]|[^'\\\n])*')"""
)
"""A comment or a text."""


def words_of_code(source: str) -> set[str]:
    """Return all names of a module, and other words, such as keywords and those of f-strings."""
    code = _TEXT.sub(lambda text: text[0] if {*text[0][:2]} & {*"fF"} else " ", source)
    return set(re.findall(r"\w+", code))


def names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield every name that a module defines or uses, with its line."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, node.lineno
            case ast.Name(id=name) | ast.arg(arg=name) | ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
                yield name, node.lineno
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name, node.lineno
            case ast.MatchMapping(rest=str(name)):
                yield name, node.lineno
            case ast.alias():
                yield from ((part, node.lineno) for part in f"{node.name}.{node.asname or ''}".split("."))
            case ast.ImportFrom(module=str(module)):
                yield from ((part, node.lineno) for part in module.split("."))


@cache
def mistakes(name: str) -> list[str]:
    """Return what is wrong with a name."""
    parts = [part.lower() for part in _PART.findall(name)]
    words = [f"{name}: write {right}" for word, right in WORDS.items() if {word, f"{word}s", f"{word}es"} & {*parts}]
    return words + [f"{name}: {why}" for whole, why in NO_NAME.items() if name.strip("_").lower() == whole]


def mistakes_of(source: str, place: str) -> list[str]:
    """Return the mistakes in the name of a module and in its names.

    Only a module whose code has a wrong word is parsed: all others would take seconds.
    """
    own = [f"{place}: {each}" for part in place.removesuffix(".py").split("/") for each in mistakes(part)]
    words = words_of_code(source)
    if not any(map(mistakes, words)):
        return own
    found = list(names(ast.parse(source)))
    assert {name for name, _ in found} <= {*words, ""}, place
    return own + [f"{place}:{line}: {each}" for name, line in found for each in mistakes(name)]


def modules(folder: str) -> list[Path]:
    return sorted(path for path in (ROOT / folder).rglob("*.py") if "typescript" not in path.parts)


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS)
def test_names_have_the_words_of_the_field(folder: str) -> None:
    found = [
        each
        for path in modules(folder)
        for each in mistakes_of(path.read_text("utf-8"), path.relative_to(ROOT).as_posix())
    ]
    assert found == []


@pytest.mark.parametrize(
    "planted",
    [
        "def of(counts): ...",
        "def _of(counts): ...",
        "class Tally:\n    @classmethod\n    def of(cls): ...",
        "class AskedQuestion: ...",
        "def f(questions): ...",
        "f(question=1)",
        "QUESTIONS = 1",
        "the_crowd = 1",
        "TallyStretches = 1",
        "tally.stretches = 1",
        "import estimator.stretches",
        "from estimator.stretches import a",
        "import a as scene",
        "with f() as board: ...",
        "[sheet for sheet in a]",
        "try: ...\nexcept E as stray: ...",
        "match a:\n    case dearest: ...",
        "match a:\n    case [*heard]: ...",
        "match a:\n    case {**contest}: ...",
        "f'{question}'",
        "a = 'it\\'s'; crowd = \"#\"",
    ],
)
def test_a_planted_name_is_found(planted: str) -> None:
    assert mistakes_of(planted, "tests/planted.py")


def test_a_module_is_found_by_its_own_name() -> None:
    assert mistakes_of("", "estimator/stretches.py")


@pytest.mark.parametrize(
    "plain", ["keyboard", "stylesheet", "dashboard", "contested", "parts_of", "of_feature", "Hearsay"]
)
def test_a_word_within_a_word_is_none(plain: str) -> None:
    assert mistakes(plain) == []
