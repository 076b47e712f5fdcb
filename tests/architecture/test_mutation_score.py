"""The mutation score: its tool can fail, and its page says what it found."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools.mutants.mutant import Mutant, draw
from tools.mutants.page import EQUIVALENT, NO_TEST, PAGE, also_run, explained, wilson

ROOT = Path(__file__).parents[2]

SOURCE = '''\
"""A module with a tested and an untested function."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    ONE: int = 1 + 1


def tested(number: int | None) -> int | None:
    warn("%d", 2 + 2)
    return number + 3


def untested(number):
    return number * 5


QUERY = "SELECT MIN(a) FROM b WHERE c >= 0 AND d"
'''

TEST = """\
from collector.example import tested

def test_a_number_is_raised(monkeypatch):
    assert tested(1) == 4
"""

SCRIPT = """\
import json, sys
from pathlib import Path
from tests.support.mutants import promises
from tools.mutants.covering import Record
from tools.mutants.mutant import draw
from tools.mutants.trial import Trial
root = promises.ROOT = Path(sys.argv[1])
trial = Trial(root, Record.made(root, root / "record", ["tests"]), 60)
mutants = draw(1, 9, root, ["collector/example.py"])
print(json.dumps([(mutant.right, trial.run(mutant).outcome) for mutant in mutants]))
"""

FILE = "collector/example.py"
TESTED, UNTESTED = "return number + 3", "return number * 5"


def product(root: Path) -> Path:
    for name, text in ((FILE, SOURCE), ("collector/__init__.py", ""), ("tests/test_example.py", TEST)):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


def drawn(root: Path, seed: int, number: int = 9) -> list[Mutant]:
    return list(draw(seed, number, root, [FILE]))


@pytest.mark.long
def test_a_mutant_of_a_tested_function_is_killed_and_one_of_an_untested_function_survives(tmp_path: Path) -> None:
    source = SOURCE.replace('    warn("%d", 2 + 2)\n', "").partition("\n\nQUERY")[0]
    (product(tmp_path) / FILE).write_text(source, encoding="utf-8")
    command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    outcomes = json.loads(done.stdout.splitlines()[-1])
    assert dict(outcomes) == {TESTED: "killed", UNTESTED: "survived"}


@pytest.mark.slow
def test_a_seed_draws_the_same_mutants_and_another_seed_others(tmp_path: Path) -> None:
    product(tmp_path)
    assert drawn(tmp_path, 1) == drawn(tmp_path, 1)
    assert drawn(tmp_path, 1, 2) == drawn(tmp_path, 1)[:2]
    assert len({tuple(mutant.key for mutant in drawn(tmp_path, seed)) for seed in range(9)}) > 1


@pytest.mark.long
def test_what_does_not_run_and_what_is_logged_is_not_mutated(tmp_path: Path) -> None:
    product(tmp_path)
    query = SOURCE.splitlines()[-1]
    assert {mutant.right for seed in range(99) for mutant in drawn(tmp_path, seed)} == {TESTED, UNTESTED, query}


@pytest.mark.long
def test_words_of_sql_are_replaced_one_at_a_time(tmp_path: Path) -> None:
    product(tmp_path)
    query = SOURCE.splitlines()[-1]
    wrong = {mutant.wrong for seed in range(99) for mutant in drawn(tmp_path, seed) if mutant.right == query}
    replaced = {">=": ">", "0": "1", "AND": "OR"}
    assert wrong == {query.replace(right, other) for right, other in replaced.items()}


def test_an_interval_is_that_of_wilson() -> None:
    """The example of Wilson's interval for 81 of 263 in Newcombe 1998, table I."""
    assert [round(bound, 4) for bound in wilson(81, 263)] == [0.2553, 0.3662]
    assert wilson(5, 5)[1] == 1.0
    assert wilson(0, 5)[0] == 0.0


def test_every_survivor_that_is_not_equivalent_is_explained_on_the_page_and_nothing_else() -> None:
    text = PAGE.read_text(encoding="utf-8")
    survivors = {line.split(" | ")[1].removesuffix(" |") for line in text.splitlines() if "` became `" in line}
    reasons = {reason for reason in explained().values() if not reason.startswith(EQUIVALENT)}
    assert survivors == {reason.removeprefix(NO_TEST).rstrip(".") for reason in reasons}
    assert re.findall("not explained", text) == []


def test_every_test_that_a_mutant_names_exists() -> None:
    named = {tuple(test.split("::")) for tests in also_run().values() for test in tests}
    assert [name for file, name in named if f"\ndef {name}(" not in (ROOT / file).read_text(encoding="utf-8")] == []
