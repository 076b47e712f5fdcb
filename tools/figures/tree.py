"""Counts lines of code, tests, wrong implementations and test vectors in the repository."""

from __future__ import annotations

import ast
import importlib
import io
import json
import pkgutil
import re
import tokenize
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from tests.support import mutants

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = ROOT / "docs" / "privacy" / "how-it-is-tested.md"
PRODUCT: Final = ("client_sdk", "collector", "estimator")
KINDS_OF_TESTS: Final = {
    "exact": "tests of laws and estimators: enumeration, closed forms, coverage for difficult populations",
    "unit": "tests of modules, including histories of random steps",
    "contract": "tests that every store must pass: Valkey, Redis, a cluster, the embedded store",
    "simulation": "tests of the whole system in one process, each run with several seeds",
    "faults": "tests that kill processes, cut networks, fill disks and step clocks",
    "end_to_end": "tests of whole programs, pages and images",
    "architecture": "tests of the repository: imports, names, pages, versions",
}
MUTANTS: Final = "MUTANTS"
WHITE: Final = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def modules(folders: Iterable[str]) -> Iterator[Path]:
    """Yield the Python files in folders."""
    for folder in folders:
        yield from (path for path in (ROOT / folder).rglob("*.py") if "node_modules" not in path.parts)


def code_lines(path: Path) -> int:
    """Return the number of lines of code in a file, without docstrings."""
    text = path.read_text(encoding="utf-8")
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    used = {line for token in tokens if token.type not in WHITE for line in range(token.start[0], token.end[0] + 1)}
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                used -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(used)


def tests_in(folder: str) -> int:
    """Return the number of test functions in a folder. A function may run many cases."""
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in modules([f"tests/{folder}"]))
    named = (node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    return sum(name.startswith("test_") for name in named)


def mutants_refused() -> int:
    """Return the number of deliberately wrong implementations that tests must refuse."""
    tables: dict[int, Mapping[str, object]] = {}
    for module in pkgutil.iter_modules(mutants.__path__):
        members = vars(importlib.import_module(f"{mutants.__name__}.{module.name}"))
        for name in ("WRONG_PRODUCTS", *(name for name in members if name.endswith(MUTANTS))):
            if name in members:
                tables[id(members[name])] = members[name]
    return len({name for table in tables.values() for name in table})


def vectors() -> int:
    """Return the number of cases in the test vectors that both SDKs read."""
    paths = (path for path in (ROOT / "tests/vectors").glob("*.json") if path.stem != "compiled")  # it has no cases
    documents = (json.loads(path.read_text(encoding="utf-8")) for path in paths)
    return sum(
        len(document) if isinstance(document, list) else sum(map(len, document.values())) for document in documents
    )


def tested_table() -> str:
    """Return the table of these counts.

    The page keeps a count that is still close. A new test then changes no page.
    """
    product, tests = (sum(map(code_lines, modules(folders))) for folders in (PRODUCT, ["tests"]))
    rows = [
        (product, "lines of code in the three Python packages, without comments and docstrings"),
        (tests, "lines of code in their tests"),
        *((tests_in(folder), words) for folder, words in KINDS_OF_TESTS.items()),
        (mutants_refused(), "wrong laws, devices, estimators and products, each of which a named test refuses"),
        (vectors(), "test vectors that the SDKs in Python and TypeScript share"),
    ]
    page = PAGE.read_text(encoding="utf-8")
    lines = "".join(f"| {_shown(number, words, page):,} | {words} |\n" for number, words in rows)
    return f"\n| about | |\n| ---: | --- |\n{lines}"


def _shown(number: int, words: str, page: str) -> int:
    """Return the page's count if it is off by at most one or 5%, else ``number`` in two digits."""
    written = re.search(rf"^\| ([\d,]+) \| {re.escape(words)} \|$", page, re.MULTILINE)
    if written and abs((old := int(written[1].replace(",", ""))) - number) <= max(1, number / 20):
        return old
    return int(float(f"{number:.2g}"))
