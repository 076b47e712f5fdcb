"""A pytest plugin that records the tests that run each line, and the record itself."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Generator, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Final

import pytest
from coverage import Coverage, CoverageData

FOLDER: Final = "--mutants-folder"
LINES, DURATIONS = "lines", "durations.jsonl"
QUICK: Final = "not slow and not long and not system"

MOST_SECONDS, MOST_FILES = 30.0, 12
"""The maximum seconds of a mutant's tests, and the maximum number of their files.

Each file takes time to import.
"""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add an option to pytest: the folder of the record."""
    parser.addoption(FOLDER, type=Path, required=True)


def pytest_configure(config: pytest.Config) -> None:
    """Register the tracer in every process that runs tests."""
    if hasattr(config, "workerinput") or not config.getoption("numprocesses"):
        config.pluginmanager.register(Tracer(config.getoption(FOLDER)))
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Durations(config.getoption(FOLDER)))


class Tracer:
    """Records the lines that run, in a coverage context named after the test."""

    def __init__(self, folder: Path) -> None:
        """Start tracing."""
        self._coverage = Coverage(
            data_file=str(folder / "lines"),
            data_suffix=True,
            source_pkgs=["client_sdk", "collector"],
            config_file=False,
        )
        # if a test traces lines itself, this tracer records nothing meanwhile
        self._coverage.set_option("run:disable_warnings", ["trace-changed", "module-not-imported", "no-data-collected"])
        self._coverage.start()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Set the context to the name of the test that runs next."""
        self._coverage.switch_context(item.nodeid)
        done = yield
        self._coverage.switch_context("")
        return done

    def pytest_unconfigure(self) -> None:
        """Write the lines that this process has traced."""
        self._coverage.stop()
        self._coverage.save()


class Durations:
    """Records how long each passed test took, including its set-up."""

    def __init__(self, folder: Path) -> None:
        """Open the file."""
        self._file = (folder / DURATIONS).open("w", encoding="utf-8")
        self._seconds: dict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add up the durations of a test's phases: set-up, call and teardown."""
        self._seconds[report.nodeid] += report.duration if report.passed else float("inf")
        if report.when == "teardown" and self._seconds[report.nodeid] < float("inf"):
            json.dump({"test": report.nodeid, "seconds": round(self._seconds[report.nodeid], 3)}, self._file)
            self._file.write("\n")
            self._file.flush()

    def pytest_unconfigure(self) -> None:
        """Close the file."""
        self._file.close()


class Record:
    """The record of the tests that run each line of the product, and of their durations."""

    @classmethod
    def made(cls, root: Path, folder: Path, suites: Sequence[str]) -> Record:
        """Read the record in a folder. Without a record, run the quick tests to create one."""
        if not (folder / LINES).exists():
            folder.mkdir(parents=True, exist_ok=True)
            plugin = ("-p", "tools.mutants.covering", FOLDER, str(folder), "-p", "no:cacheprovider")
            command = (sys.executable, "-m", "pytest", "-q", "-m", QUICK, "-n", "2", "--dist", "loadfile", *plugin)
            subprocess.run([*command, *suites], cwd=root, check=False)  # failing tests are left out of the record
            Coverage(data_file=str(folder / LINES), config_file=False).combine([str(folder)], strict=True)
        return cls(root, folder)

    def __init__(self, root: Path, folder: Path) -> None:
        """Read the record."""
        self._root = root
        self._data = CoverageData(str(folder / LINES))
        self._data.read()
        rows = map(json.loads, (folder / DURATIONS).read_text("utf-8").splitlines())
        self._seconds: dict[str, float] = {row["test"]: row["seconds"] for row in rows}
        files = sorted(self._data.measured_files())
        self._texts = {file: Path(file).read_text("utf-8").splitlines() for file in files}

    def tests(self, file: str, line: int) -> list[str]:
        """Return the tests that run a line, the fastest first, then other tests of the module.

        No test runs lines such as ``LIMIT = 5``, because they run when the module is imported. For
        these lines, return the tests that run lines with the defined name.
        """
        path = str(self._root / file)
        by_line = self._by_line(path)
        statement, names = _statement((self._root / file).read_text("utf-8"), line)
        own = {test for number in statement for test in by_line.get(number, ())}
        named = self._of_names(re.compile(rf"\b(?:{'|'.join(names)})\b")) if names else set()
        others = {test for tests in by_line.values() for test in tests}
        return self._affordable(
            dict.fromkeys([test for tests in (own, named, others) for test in self._fastest(tests)])
        )

    def _by_line(self, path: str) -> Mapping[int, Sequence[str]]:
        return self._data.contexts_by_lineno(path)

    def _of_names(self, names: re.Pattern[str]) -> set[str]:
        found = set[str]()
        for path, lines in self._texts.items():
            numbers = [number for number, text in enumerate(lines, 1) if names.search(text)]
            if numbers:
                by_line = self._by_line(path)
                found.update(test for number in numbers for test in by_line.get(number, ()))
        return found | self._mentioning(names)

    def _mentioning(self, names: re.Pattern[str]) -> set[str]:
        functions = set[str]()
        for file in {test.partition("::")[0] for test in self._seconds}:
            text = (self._root / file).read_text("utf-8")
            body = ast.parse(text).body if names.search(text) else ()
            uses = (node for node in body if names.search(ast.get_source_segment(text, node) or ""))
            functions.update(f"{file}::{node.name}" for node in uses if isinstance(node, ast.FunctionDef))
        return {test for test in self._seconds if test.partition("[")[0] in functions}

    def _fastest(self, tests: AbstractSet[str]) -> list[str]:
        return sorted(tests & self._seconds.keys(), key=lambda test: (self._seconds[test], test))

    def _affordable(self, tests: Iterable[str]) -> list[str]:
        """Return the first tests, within the limits on seconds and files."""
        chosen: list[str] = []
        files, seconds = set[str](), 0.0
        for test in tests:
            file = test.partition("::")[0]
            seconds += self._seconds[test]
            if seconds > MOST_SECONDS:
                break
            if file in files or len(files) < MOST_FILES:
                files.add(file)
                chosen.append(test)
        return chosen


def _statement(source: str, line: int) -> tuple[range, set[str]]:
    """Return the lines of the statement at a line, and the names that it defines on import."""
    best: ast.stmt | None = None
    function = False
    around = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt))
    for node in around:  # outer statements come first
        if _first(node) <= line <= (node.end_lineno or 0):
            function = function or isinstance(best, ast.FunctionDef | ast.AsyncFunctionDef)
            best = node
    if best is None:
        return range(line, line + 1), set()
    body: list[ast.stmt] = getattr(best, "body", [])
    last = max(line, _first(body[0]) - 1) if function and body else best.end_lineno or line
    return range(_first(best), last + 1), set() if function else _names(best)


def _first(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(each.lineno for each in decorators)])


def _names(node: ast.stmt) -> set[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", node)]
    names = {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}
    return {node.name} if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) else names
