"""The trial of a mutant: tests of the faulty line run in a copy of the product with the fault."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Final

import pytest

from tests.support.mutants.promises import WrongProduct, environment
from tools.mutants.covering import Record
from tools.mutants.mutant import Mutant

PRELOADED: Final = ("flask", "hypothesis", "msgspec", "numpy", "redis", "requests", "xdist")
"""Libraries that tests import. The libraries are loaded once, before this process is forked."""

TIMEOUT: Final = "timeout"


class Outcome(StrEnum):
    """Whether the tests detected a mutant. A failed test kills the mutant."""

    KILLED = "killed"
    SURVIVED = "survived"
    UNDECIDED = "undecided"
    """The tests also fail on the unchanged product and show nothing."""


@dataclass(frozen=True)
class Result:
    """The result for one mutant.

    Attributes:
        by: the first test that failed, or ``timeout``. Empty if all tests passed in time.

    """

    outcome: Outcome
    by: str
    tests: int
    seconds: float


class Trial:
    """Runs tests on mutants of the product in a folder."""

    def __init__(self, root: Path, record: Record, seconds: float) -> None:
        """Store the folder, the record of tests, and the maximum seconds per mutant."""
        self._root = root
        self._record = record
        self._seconds = seconds
        for name in PRELOADED:
            import_module(name)

    def run(self, mutant: Mutant, also: Sequence[str] = ()) -> Result:
        """Run the tests of a mutant's line.

        The result is undecided if the tests time out on the mutant and on the unchanged code.
        """
        began = time.monotonic()
        tests = [*also, *self._record.tests(mutant.file, mutant.line)]
        by = self._failures(mutant.file, mutant.source, tests, self._seconds, "-x")[:1]
        outcome = Outcome.KILLED if by else Outcome.SURVIVED
        if by == [TIMEOUT] and self.refused(mutant.file, tests, self._seconds):
            outcome = Outcome.UNDECIDED
        return Result(outcome, "".join(by), len(tests), round(time.monotonic() - began, 1))

    def refused(self, file: str, tests: Sequence[str], seconds: float) -> list[str]:
        """Return the tests that fail on the unchanged product if they run as for a mutant."""
        return self._failures(file, (self._root / file).read_text("utf-8"), tests, seconds)

    def _failures(self, file: str, source: str, tests: Sequence[str], seconds: float, *options: str) -> list[str]:
        """Return the tests that fail, or another reason for a failed run, such as ``timeout``."""
        right = (self._root / file).read_text("utf-8")
        if not tests:
            return []
        with tempfile.TemporaryDirectory(prefix="m-", ignore_cleanup_errors=True) as name:
            product, said = Path(name) / "p", Path(name) / "said"
            product.mkdir()
            WrongProduct(file, right, source, ()).plant(product)
            arguments = (product, said, *options, *tests)
            child = multiprocessing.get_context("fork").Process(target=_play, args=arguments)
            child.start()
            child.join(seconds)
            code = child.exitcode
            if child.pid is not None:
                _end(child.pid)
            child.join()
            if code is None:
                return [TIMEOUT]
            failed = said.read_text("utf-8").splitlines() if said.exists() else []
            return failed or ([f"exit {code}"] if code else [])


def _end(process: int) -> None:
    """Kill the processes that a run of tests has left behind."""
    try:
        os.killpg(process, signal.SIGKILL)
    except ProcessLookupError:
        return


def _play(product: Path, said: Path, *arguments: str) -> None:
    """Run tests in a copy of the product, without output, and record the first failed test."""
    os.setsid()
    os.chdir(product)
    silence = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(silence, stream)
    os.environ.update(environment(product), TMPDIR=str(product.parent), CI="true", DO_NOT_TRACK="1")
    tempfile.tempdir = None
    sys.path.insert(0, str(product))
    preloaded = "ignore::pytest.PytestAssertRewriteWarning"
    silent = ["-q", "--tb=no", "-p", "no:cacheprovider", "-W", preloaded]
    os._exit(pytest.main([*silent, *arguments], plugins=[Failed(said)]))


class Failed:
    """A pytest plugin that writes the names of failed tests and files."""

    def __init__(self, said: Path) -> None:
        """Set the file for the names."""
        self._said = said

    def pytest_runtest_logreport(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        """Write the name of a test that failed, or of a file that could not be imported."""
        if report.failed:
            with self._said.open("a", encoding="utf-8") as file:
                file.write(f"{report.nodeid}\n")

    pytest_collectreport = pytest_runtest_logreport


class Results:
    """A file with one result per line. If a mutant has several results, the last one counts."""

    def __init__(self, path: Path) -> None:
        """Read the results in the file, if it exists."""
        self._path = path
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        self._rows = {row["key"]: row for row in map(json.loads, lines)}

    def append(self, mutant: Mutant, result: Result) -> None:
        """Add the result of a mutant."""
        row = {"key": mutant.key, "file": mutant.file, "line": mutant.line, "right": mutant.right}
        self._rows[mutant.key] = row | {"wrong": mutant.wrong} | asdict(result)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps(self._rows[mutant.key], ensure_ascii=False)}\n")

    def is_killed(self, mutant: Mutant) -> bool:
        """Return whether a test has detected a mutant in an earlier run."""
        return mutant.key in self._rows and self._rows[mutant.key]["outcome"] == Outcome.KILLED

    def latest(self, mutant: Mutant) -> Mapping[str, str]:
        """Return the latest result of a mutant."""
        row: dict[str, str] = self._rows[mutant.key]
        return row

    def tests(self, mutants: Iterable[Mutant]) -> list[str]:
        """Return the tests that detected these mutants."""
        return sorted({by for mutant in mutants if "::" in (by := self._rows[mutant.key]["by"])})

    def doubt(self, mutants: Iterable[Mutant], failing: AbstractSet[str]) -> None:
        """Mark mutants as undecided if the tests that detected them fail on unchanged code."""
        for mutant in mutants:
            by = self._rows[mutant.key]["by"]
            if by in failing:
                self.append(mutant, Result(Outcome.UNDECIDED, by, 1, 0.0))
