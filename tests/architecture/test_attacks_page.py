"""Every row of the table of attacks names existing tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in (ROOT / "docs" / "privacy" / "attacks.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and not line.startswith(("| attack |", "| --- |"))
]
TESTS = sorted({test for *_, tests in ROWS for test in re.findall(r"`(tests/[^`]+)`", tests)})


def test_there_are_attacks() -> None:
    assert len(ROWS) > 30
    assert len(TESTS) > 30


@pytest.mark.parametrize("test", TESTS)
def test_a_test_that_the_page_names_is_there(test: str) -> None:
    path, _, name = test.partition("::")
    assert f"\ndef {name}(" in (ROOT / path).read_text(encoding="utf-8")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_only_an_attack_that_succeeds_has_no_test(row: list[str]) -> None:
    _, happens, tests = row
    assert (tests.strip(" |") == "none") <= happens.startswith("**succeed")
