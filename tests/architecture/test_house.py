"""The layout stays readable: small folders, short import chains, no cycles, one meaning per class
name.
"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Final

import pytest

from tools.import_graph import PACKAGES, ROOT, Import, files, graph, imports, longest_chain, syntax

MOST_MODULES: Final = 20
"""The most modules in a folder: what a reader takes in at a glance."""

LONGEST_CHAIN: Final = 23
"""The longest chain of imports. Lower it whenever the code allows; never raise it."""

TWICE: Final = frozenset(["Report", "Request", "Tally"])
"""Class names that are defined more than once. Remove a name once it has one meaning; add none."""

LAZY_IMPORTS: Final = {
    "client_sdk.sending.transport -> client_sdk.sending.deadline": "beside requests, which costs 90 ms",
    "collector -> collector.http.app": "280 ms, for those who import the package without running the service",
    "collector.__main__ -> collector.commands.cli": "without the extra it says how to install it",
    "collector.commands.cli -> collector.service": "158 ms, for commands that need no server",
    "collector.commands.relay -> collector.relay.serve": "185 ms, for commands that need no relay",
    "collector.service -> collector.monitoring.prometheus": "42 ms, for workers",
    "estimator.__main__ -> estimator.commands.cli": "without the extra it says how to install it",
    "estimator.commands.archive -> estimator.archive.folder": "not every system has its locks",
    "estimator.commands.archive -> estimator.archive.index": "imports the folder",
    "estimator.commands.archive -> estimator.archive.windows": "imports the folder",
    "estimator.commands.report -> estimator.commands.watch": "18 ms, for reports of a file",
    "estimator.commands.report -> estimator.render.html": "42 ms, for every other form",
    "estimator.commands.report -> estimator.tallies.fetch": "19 ms, for reports of a file",
}
"""Why an import is lazy, where its own comment does not say how many milliseconds that saves.

Milliseconds are processor time, the best of five runs, of importing the target after the source.
"""

FOLDERS = sorted({path.parent for path in files().values()})
LAZY = [each for each in imports() if each.is_lazy]
MEASURED = re.compile(r"# .*\b\d+ ms\b")


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def classes() -> dict[str, list[str]]:
    """Return the modules that define a top-level class, by its name."""
    places = defaultdict(list)
    for module, path in files().items():
        for node in syntax(path).body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(module)
    return places


@pytest.mark.parametrize("folder", FOLDERS, ids=name_of)
def test_a_folder_is_small(folder: Path) -> None:
    modules = list(folder.glob("*.py"))
    assert len(modules) <= MOST_MODULES, f"{name_of(folder)} has {len(modules)} modules"


@pytest.mark.parametrize("folder", FOLDERS, ids=name_of)
def test_a_folder_says_what_it_is_for(folder: Path) -> None:
    source = folder / "__init__.py"
    assert source.exists(), f"{name_of(folder)} is no package"
    assert ast.get_docstring(syntax(source)), f"{name_of(source)} has no docstring"


def test_no_import_leads_back_and_the_longest_chain_is_no_longer_than_it_was() -> None:
    """A cycle raises `graphlib.CycleError`, which names it."""
    chain = longest_chain()
    assert all(target in graph()[source] for source, target in pairwise(chain))
    assert len(chain) <= LONGEST_CHAIN, " -> ".join(chain)


@pytest.mark.parametrize("lazy", LAZY, ids=lambda each: f"{each.source}-{each.target}-{each.name}")
def test_a_lazy_import_says_how_many_milliseconds_it_saves(lazy: Import) -> None:
    path = files()[lazy.source]
    line = path.read_text(encoding="utf-8").splitlines()[lazy.line - 1]
    is_explained = MEASURED.search(line) or f"{lazy.source} -> {lazy.target}" in LAZY_IMPORTS
    assert is_explained, f"{name_of(path)}:{lazy.line}: measure what it saves and say so in its comment: '120 ms'"


def test_a_class_name_has_one_meaning() -> None:
    repeated = {name: places for name, places in classes().items() if len(places) > 1}
    assert {name: places for name, places in repeated.items() if name not in TWICE} == {}
    assert TWICE - set(repeated) == set(), "these have one meaning now: take them off the list"


def test_a_class_is_defined_once_in_its_module() -> None:
    for module, path in files().items():
        counts = Counter(node.name for node in syntax(path).body if isinstance(node, ast.ClassDef))
        assert max(counts.values(), default=1) == 1, module


def test_there_is_something_to_look_at() -> None:
    assert {folder.relative_to(ROOT).parts[0] for folder in FOLDERS} == set(PACKAGES)
    assert len(files()) > 100
    assert LAZY
