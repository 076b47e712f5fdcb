"""Every row of the table of attacks names existing tests."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in (ROOT / "docs" / "privacy" / "attacks.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and not line.startswith(("| attack |", "| answer |", "| --- |"))
]
TESTS = sorted({test for *_, tests in ROWS for test in re.findall(r"`(tests/[^`]+)`", tests)})


def test_there_are_attacks() -> None:
    assert len(ROWS) > 30
    assert len(TESTS) > 30


def test_the_tests_that_the_page_names_are_there() -> None:
    for test in TESTS:
        path, _, name = test.partition("::")
        assert f"\ndef {name}(" in (ROOT / path).read_text(encoding="utf-8"), test


def test_only_an_attack_that_succeeds_has_no_test() -> None:
    without = [(attack, happens) for attack, happens, tests in ROWS if tests.strip(" |") == "none"]
    assert [attack for attack, happens in without if not happens.startswith("**succeed")] == []
