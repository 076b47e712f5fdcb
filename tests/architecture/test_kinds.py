"""A kind, a mechanism or an encoding is asked what it does, never which one it is."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from client_sdk.protocol.channel import Channel
from client_sdk.protocol.kinds import KINDS, kind_named
from client_sdk.protocol.kinds.kind import Kind
from client_sdk.protocol.mechanisms.catalogue import MECHANISMS
from tools.import_graph import ROOT, files, syntax

AT_HOME = (
    *(f"client_sdk.protocol.{place}" for place in ("kinds.", "mechanisms.", "text", "vector", "model")),
    "estimator.analyses.",
)
ASKED_ELSEWHERE = {
    "client_sdk.shipped_model": {"Number"},  # what a model was learned from, as its file says
}


def subclasses(base: type) -> set[str]:
    """Return the names of the classes of the product that have a base, after all are imported."""
    found = set[str]()
    children: list[type] = base.__subclasses__()
    for each in children:
        found |= {each.__name__} | subclasses(each)
    return found


@pytest.fixture(scope="module")
def names() -> set[str]:
    """Return the names of all kinds, shapes and channels."""
    for kind in KINDS:
        kind_named(kind)
    for mechanism in MECHANISMS.values():
        import_module(mechanism.builder.partition(":")[0])
    import_module("client_sdk.protocol.kinds.cross")
    import_module("client_sdk.protocol.mechanisms.permanent")
    return subclasses(Kind) | subclasses(Channel)


def asked(tree: ast.Module) -> Iterator[str]:
    """Yield the names of the classes that code tests an object for."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in {"isinstance", "issubclass"}:
            yield from _named(node.args[1])
        elif isinstance(node, ast.MatchClass):
            yield from _named(node.cls)
        elif isinstance(node, ast.Compare) and "type(" in ast.unparse(node):
            for each in (node.left, *node.comparators):
                yield from _named(each)


def _named(expression: ast.expr) -> Iterator[str]:
    yield from (node.id for node in ast.walk(expression) if isinstance(node, ast.Name))


def compared(tree: ast.Module) -> Iterator[str]:
    """Yield comparisons of the name of a kind or of a channel with a text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [ast.unparse(each) for each in (node.left, *node.comparators)]
            is_text = any(isinstance(each, ast.Constant) for each in (node.left, *node.comparators))
            if is_text and any(side.endswith((".kind.name", ".channel.name")) for side in sides):
                yield ast.unparse(node)


@pytest.mark.slow
def test_no_code_asks_which_kind_or_mechanism_it_has(names: set[str]) -> None:
    for module, path in files().items():
        if not module.startswith(AT_HOME):
            tree = syntax(path)
            assert set(asked(tree)) & names <= ASKED_ELSEWHERE.get(module, set()), module
            assert list(compared(tree)) == [], module


@pytest.mark.parametrize(
    "line",
    ["isinstance(metric.kind, Boolean)", "isinstance(x, Category | Text)", "type(x) is Count", "x.kind.name == 'set'"],
)
def test_the_check_finds_what_it_looks_for(line: str, names: set[str]) -> None:
    tree = ast.parse(line)
    assert set(asked(tree)) & names or list(compared(tree))


@pytest.mark.parametrize("place", ["client_sdk/recorder.py", "collector/api/batch.py", "estimator/report/report.py"])
def test_the_check_reads_the_files_of_every_package(place: str) -> None:
    assert Path(ROOT / place) in files().values()
