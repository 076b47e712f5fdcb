"""The layout stays readable: small folders, short import chains, no cycles, one meaning per class
name.
"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from dataclasses import is_dataclass
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Final

import pytest

from tools.import_graph import PACKAGES, ROOT, Import, files, graph, imports, longest_chain, syntax

LONGEST_CHAIN: Final = 28
"""The longest chain of imports, those of tables that name a class by a text included. Lower it
whenever the code allows; never raise it.
"""

LAZY_IMPORTS: Final = {
    "collector.__main__ -> collector.commands.cli": "without the extra it says how to install it",
    "estimator.__main__ -> estimator.commands.cli": "without the extra it says how to install it",
    "estimator.commands.archive -> estimator.archive": "not every system has its locks",
}
"""Why an import is lazy, where its own comment does not say how many milliseconds that saves.

A comment says the processor time that importing the target takes after the source: the median of
seven runs.
"""

VALUES: Final = ("client_sdk.protocol", "client_sdk.ledger", "collector.judge", "collector.store")
"""Where dataclasses are values."""

FOLDERS = sorted({path.parent for path in files().values()})
MEASURED = re.compile(r"# .*\b\d+ ms\b")


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def lazy_imports() -> list[Import]:
    return [each for each in imports() if each.is_lazy]


def classes() -> dict[str, list[str]]:
    """Return the modules that define a top-level class, by its name."""
    places = defaultdict(list)
    for module, path in files().items():
        for node in syntax(path).body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(module)
    return places


def test_a_folder_says_what_it_is_for() -> None:
    for folder in FOLDERS:
        source = folder / "__init__.py"
        assert source.exists(), f"{name_of(folder)} is no package"
        assert ast.get_docstring(syntax(source)), f"{name_of(source)} has no docstring"


@pytest.mark.slow
def test_no_import_leads_back_and_the_longest_chain_is_no_longer_than_it_was() -> None:
    """A cycle raises `graphlib.CycleError`, which names it."""
    chain = longest_chain()
    assert all(target in graph()[source] for source, target in pairwise(chain))
    assert len(chain) <= LONGEST_CHAIN, " -> ".join(chain)


def test_a_lazy_import_says_how_many_milliseconds_it_saves() -> None:
    unexplained = [f"{name_of(files()[lazy.source])}:{lazy.line}" for lazy in lazy_imports() if not is_explained(lazy)]
    assert unexplained == [], "measure what it saves and say so in its comment: '120 ms'"


def is_explained(lazy: Import) -> bool:
    line = files()[lazy.source].read_text(encoding="utf-8").splitlines()[lazy.line - 1]
    return bool(MEASURED.search(line)) or f"{lazy.source} -> {lazy.target}" in LAZY_IMPORTS


def test_what_the_collector_imports_late_it_does_not_import_early_in_another_way() -> None:
    """Such a late import saves nothing. Tables of the SDK name modules by a text, which is late
    too.
    """
    early = defaultdict[str, set[str]](set)
    for each in imports():
        if not each.is_lazy:
            early[each.source].add(each.target)
    late = [each for each in lazy_imports() if each.source.startswith("collector.")]
    assert late
    for each in late:
        reached, left = set[str](), [each.source]
        while left:
            left += early[module := left.pop()] - reached
            reached |= early[module]
        assert each.target not in reached, f"{each.source} -> {each.target}"


def test_every_exception_for_a_lazy_import_is_needed() -> None:
    assert LAZY_IMPORTS.keys() <= {f"{lazy.source} -> {lazy.target}" for lazy in lazy_imports()}


def test_a_class_name_has_one_meaning() -> None:
    assert {name: places for name, places in classes().items() if len(places) > 1} == {}


def test_a_class_is_defined_once_in_its_module() -> None:
    for module, path in files().items():
        counts = Counter(node.name for node in syntax(path).body if isinstance(node, ast.ClassDef))
        assert max(counts.values(), default=1) == 1, module


def test_what_two_threads_may_share_is_frozen_and_takes_no_attribute_that_is_misspelt() -> None:
    modules = [import_module(name) for name in files() if name.startswith(VALUES)]
    kept = {each for module in modules for each in vars(module).values() if isinstance(each, type)}
    values = [each for each in kept if is_dataclass(each) and each.__module__.startswith(VALUES)]
    assert len(values) > 30
    assert [each.__qualname__ for each in values if not vars(each)["__dataclass_params__"].frozen] == []
    assert [each.__qualname__ for each in values if "__slots__" not in vars(each)] == []


def test_there_is_something_to_look_at() -> None:
    assert {folder.relative_to(ROOT).parts[0] for folder in FOLDERS} == set(PACKAGES)
    assert len(files()) > 100
    assert lazy_imports()
