"""The page to sign names a setting and a test for every row, and these exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.reference.registry_page import BUDGET, METRIC

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "privacy" / "index.md").read_text(encoding="utf-8")
COMMANDS = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
"""Every option: a test holds that page to the commands."""


def rows(heading: str) -> list[list[str]]:
    """Return the rows of the first table after a heading."""
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


THREATS, STEPS = rows("Who sees what"), rows("The accounting")
TESTS = sorted({test for row in (*THREATS, *STEPS) for test in re.findall(r"`(tests/[^`]+)`", row[-1])})


def test_every_row_names_a_test() -> None:
    assert len(THREATS) > 10
    assert len(STEPS) > 5
    for row in (*THREATS, *STEPS):
        assert re.search(r"`tests/[^`]+::\w+`", row[-1]), row


@pytest.mark.parametrize("test", TESTS)
def test_a_test_that_the_page_names_is_there(test: str) -> None:
    path, _, name = test.partition("::")
    assert re.search(rf"^(    )?def {name}\(", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)


def test_every_setting_that_a_row_names_exists() -> None:
    options = set(re.findall(r"--[a-z-]+", COMMANDS))
    settings = {setting for row in THREATS for setting in re.findall(r"`([^`]+)`", row[3])}
    names = {setting.split()[-1] for setting in settings}
    assert names <= options | set(BUDGET) | set(METRIC) | {"show"}
    assert {"epsilon", "lifetime", "--gather", "--central-delta"} <= names
