"""The appendix of the privacy page names a setting and a test for every row. These exist, and a
wrong product fails each test.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from estimator.commands.report_options import EXTRAS
from tests.support.devices.declared import DECLARED
from tests.support.mutants.promises import WRONG_PRODUCTS
from tools.reference.commands import sections
from tools.reference.registry_page import BUDGET, METRIC

ROOT = Path(__file__).resolve().parents[2]
PAGE, APPENDIX = (
    (ROOT / "docs" / "privacy" / f"{name}.md").read_text(encoding="utf-8") for name in ("index", "proofs")
)

MOST_WORDS = 900
"""Somebody signs the page: they must have read it."""


def rows(heading: str, page: str = APPENDIX) -> list[list[str]]:
    """Return the rows of the first table after a heading."""
    section = page.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


THREATS, STEPS, EXCEPTIONS = map(rows, ("Who sees what", "The accounting", "Declared exceptions"))
TESTS = sorted({test for row in (*THREATS, *STEPS) for test in re.findall(r"`(tests/[^`]+)`", row[-1])})


def test_the_page_is_short_enough_to_be_read_and_has_the_rows_of_its_appendix() -> None:
    assert len(PAGE.split()) <= MOST_WORDS
    assert [row[0] for row in rows("Who sees what", PAGE)] == [row[0] for row in THREATS]


def test_every_row_names_a_test() -> None:
    assert len(THREATS) > 10
    assert len(STEPS) > 5
    for row in (*THREATS, *STEPS):
        assert re.search(r"`tests/[^`]+::\w+`", row[-1]), row


def test_the_tests_that_the_page_names_are_there() -> None:
    for test in TESTS:
        path, _, name = test.partition("::")
        assert re.search(rf"^(    )?def {name}\(", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE), test


def test_for_every_row_and_test_there_is_a_wrong_product_that_it_refuses() -> None:
    refused_by: dict[str, set[str]] = {}
    for row, product in WRONG_PRODUCTS.values():
        refused_by.setdefault(row, set()).update(product.refused_by)
    assert all(product.refused_by for _, product in WRONG_PRODUCTS.values())
    assert refused_by == {row[0]: set(re.findall(r"`(tests/[^`]+)`", row[-1])) for row in (*THREATS, *STEPS)}


def test_the_page_lists_the_true_answers_on_disk_that_the_comparison_leaves_out() -> None:
    listed = {(setting.strip("`"), place.strip("`")) for setting, _, place, _ in EXCEPTIONS}
    assert listed == {(each.setting, f"{each.table}.{each.columns}") for each in DECLARED}


def imported(path: Path) -> Iterator[str]:
    """Yield the names of the modules that a file may import."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names))


def reached(paths: set[Path]) -> set[str]:
    """Return the packages outside of tests that files import, also by other files of the tests."""
    seen, packages = set[Path](), set[str]()
    while paths:
        path = paths.pop()
        seen.add(path)
        for name in imported(path):
            file = ROOT / f"{name.replace('.', '/')}.py"
            if not name.startswith("tests."):
                packages.add(name.partition(".")[0])
            elif file.exists() and file not in seen:
                paths.add(file)
    return packages


@pytest.mark.slow
def test_a_reviewer_who_installs_what_the_page_says_can_run_its_tests() -> None:
    (line,) = re.findall(r"pip install -c constraints.txt (.+)", PAGE)
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    needs = {re.split(r"[>;]", need)[0] for extra in ("collector", "estimator") for need in extras[extra]}
    needed = reached({ROOT / test.partition("::")[0] for test in TESTS})
    assert {"pytest", "numpy"} <= needed
    own = {"client_sdk", "collector", "estimator"}
    assert needed - own - sys.stdlib_module_names <= {*line.split(), *needs}


def test_every_setting_that_a_row_names_exists() -> None:
    options = set(re.findall(r"--[a-z-]+", sections()))
    settings = {setting for row in THREATS for setting in re.findall(r"`([^`]+)`", row[2])}
    names = {setting.split()[-1] for setting in settings}
    assert names <= options | set(EXTRAS) | set(BUDGET) | set(METRIC) | {"show"}
    assert {"epsilon", "lifetime", "--gather", "central"} <= names
