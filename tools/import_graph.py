"""The imports of the three packages, read from their source.

* ``from package import name`` counts as an import of the module ``package.name`` if this module
  exists, and otherwise as an import of ``package``.
* Imports for type checkers, under ``if TYPE_CHECKING``, do not count.
* Lazy imports within a function count.
* Imports by constant names count: ``import_module("package.name")``,
  ``__import__("package.name")``, and ``"package.name:callable"``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[1]
PACKAGES: Final = ("client_sdk", "collector", "estimator")

IMPORTING_CALLS: Final = {"import_module", "__import__"}
"""Functions that import the module named in the first argument."""

ENTRY_POINT: Final = re.compile(r"([a-z_]\w*(?:\.\w+)+):(\w+)")
"""The pattern of a text that names a callable, such as ``package.module:function``."""


class Import(NamedTuple):
    """One imported name.

    ``target`` is the imported module, or the module that ``name`` is imported from. ``name`` is
    empty if the whole module is imported. A lazy import is within a function or a class.
    """

    source: str
    target: str
    name: str
    line: int
    is_lazy: bool


@cache
def files() -> Mapping[str, Path]:
    """Return the source file of each module by dotted name, ``__init__.py`` for a package."""
    paths = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    return {module_of(path): path for path in paths}


def module_of(path: Path) -> str:
    """Return the dotted name of a source file's module."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@cache
def syntax(path: Path) -> ast.Module:
    """Return the parsed source."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports() -> tuple[Import, ...]:
    """Return all imports between modules of the packages."""
    return tuple(each for imported in _imports_by().values() for each in imported)


@cache
def graph() -> Mapping[str, frozenset[str]]:
    """Return, for the name of each module, the names of the modules that it imports."""
    targets: dict[str, set[str]] = {module: set() for module in files()}
    for each in imports():
        targets[each.source].add(each.target)
    return {module: frozenset(imported) for module, imported in targets.items()}


@cache
def imports_by_name(module: str) -> frozenset[str]:
    """Return the modules that a module imports, and the modules that define an imported name.

    For example, a package may import a name from one of its modules. If another module imports this
    name from the package, the result contains the package and the defining module.
    """
    return frozenset(_behind(each.target, each.name) for each in _imports_by()[module]) | graph()[module]


@cache
def _imports_by() -> Mapping[str, tuple[Import, ...]]:
    return {module: tuple(_imports_of(module, syntax(path))) for module, path in files().items()}


def longest_chain() -> list[str]:
    """Return the longest chain of modules. Each module imports the next.

    Raise `graphlib.CycleError` if the imports have a cycle.
    """
    chains: dict[str, list[str]] = {}
    for module in TopologicalSorter(graph()).static_order():  # imported modules come before their importers
        longest = max((chains[target] for target in sorted(graph()[module])), key=len, default=[])
        chains[module] = [module, *longest]
    return max(chains.values(), key=len)


def _imports_of(module: str, tree: ast.Module) -> Iterator[Import]:
    for node in _import_statements(tree):
        for alias in node.names:
            whole = f"{node.module}.{alias.name}"
            target, name = (whole, "") if whole in files() else (node.module or "", alias.name)
            if target in files() and target != module:
                yield Import(module, target, name, node.lineno, is_lazy=node not in tree.body)
    for statement in tree.body:
        for target, name, line in named_modules(statement):
            if target in files() and target != module:
                is_lazy = isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
                yield Import(module, target, name, line, is_lazy=is_lazy)


def named_modules(tree: ast.AST) -> Iterator[tuple[str, str, int]]:
    """Yield the module, name and line number of each import by a constant text."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Name(id=called) | ast.Attribute(attr=called), args=[ast.Constant(value=str(text)), *_]
            ):
                if called in IMPORTING_CALLS:
                    yield text, "", node.lineno
            case ast.Constant(value=str(text)):
                if entry := ENTRY_POINT.fullmatch(text):
                    yield entry[1], entry[2], node.lineno


def _import_statements(block: ast.AST) -> Iterator[ast.ImportFrom]:
    for part in ("body", "orelse", "handlers", "finalbody", "cases"):
        for statement in getattr(block, part, ()):
            if isinstance(statement, ast.ImportFrom):
                yield statement
            elif not _is_for_types(statement):
                yield from _import_statements(statement)


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test).removeprefix("typing.") == "TYPE_CHECKING"


@cache
def _taken_from() -> Mapping[tuple[str, str], str]:
    return {(each.source, each.name): each.target for each in imports() if each.name}


def _behind(module: str, name: str) -> str:
    """Return the module that defines a name. Other modules may re-export the name."""
    target = _taken_from().get((module, name))
    return module if target is None else _behind(target, name)
