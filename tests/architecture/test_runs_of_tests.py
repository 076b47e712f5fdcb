"""A run of the tests has its own temporary folder, and fails if it leaves anything there. It has no
settings of its user."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from tests.support.core.tables import for_each

ROOT = Path(__file__).parents[2]

IMPATIENT = """\
from tests.support.services import temporary
temporary.PATIENCE_S = 0.0
"""
"""What is left here stays: nothing is about to clean up."""

ONLY_NAMED_PLUGINS = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
"""The others take as long to import as everything else in a run."""

LEAVES = """\
import tempfile
def test_that_leaves_a_folder():
    tempfile.mkdtemp(prefix="forgotten-")
"""

LEAVES_NOTHING = """\
import os, pathlib, tempfile, urllib.request
def test_that_cleans_up(tmp_path):
    with tempfile.TemporaryDirectory() as folder:
        assert pathlib.Path(folder).parent == pathlib.Path(os.environ["TMPDIR"])
        assert pathlib.Path(os.environ["TMPDIR"]) not in tmp_path.parents
def test_that_has_no_settings():
    from tests.support.services.outer_environment import settings
    assert settings(os.environ) == []
    assert all(urllib.request.proxy_bypass(f"{host}:8080") for host in ("localhost", "127.0.0.1"))
    assert not urllib.request.proxy_bypass("pypi.example")
    assert os.environ["http_proxy"] == "http://proxy.example"
"""


def test_a_run_of_all_tests_leaves_out_no_folder() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["ini_options"]
    with_tests = {f"tests/{path.relative_to(ROOT / 'tests').parts[0]}" for path in (ROOT / "tests").rglob("test_*.py")}
    assert set(settings["testpaths"]) == with_tests - {"tests/images"}  # takes minutes: `make test-images`


SETTINGS = {
    "HEARSAY_READ_TOKEN": "short",
    "HEARSAY_REDIS_URL_FILE": "/nonexistent",
    "COLUMNS": "33",
    "NO_COLOR": "1",
    "http_proxy": "http://proxy.example",
}


def run(
    test: str, folder: Path, workers: int, environment: Mapping[str, str] = MappingProxyType({})
) -> subprocess.CompletedProcess[str]:
    (folder / "conftest.py").write_text(IMPATIENT)
    (folder / "test_of_the_run.py").write_text(test)
    plugins = ("xdist.plugin", "tests.support.services.outer_environment", "tests.support.services.temporary")
    options = (*(f"-p{name}" for name in (*plugins, "no:cacheprovider")), "--numprocesses", str(workers))
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *options, "--rootdir", str(folder), str(folder)],
        cwd=ROOT,
        env=os.environ
        | {"TMPDIR": str(folder), "PYTEST_DEBUG_TEMPROOT": str(folder)}
        | ONLY_NAMED_PLUGINS
        | dict(environment),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 1])
def test_a_run_that_leaves_something_in_its_temporary_folder_fails_and_names_it(tmp_path: Path, workers: int) -> None:
    ended = run(LEAVES, tmp_path, workers)
    assert ended.returncode == pytest.ExitCode.TESTS_FAILED
    assert "1 passed" in ended.stdout
    assert "left in the temporary folder of this run: forgotten-" in ended.stdout
    assert not list(tmp_path.glob("t-*"))


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 1])
def test_a_run_that_leaves_nothing_there_passes_without_settings_of_its_user_or_a_proxy_for_this_machine(
    tmp_path: Path, workers: int
) -> None:
    ended = run(LEAVES_NOTHING, tmp_path, workers, SETTINGS)
    assert (ended.returncode, "2 passed" in ended.stdout, "left in" in ended.stdout) == (0, True, False), ended.stdout
    assert not list(tmp_path.glob("t-*"))


def test_every_run_of_these_tests_is_made_so(pytestconfig: pytest.Config) -> None:
    plugins = ("outer_environment", "temporary")
    assert all(pytestconfig.pluginmanager.has_plugin(f"tests.support.services.{name}") for name in plugins)


@pytest.mark.slow
def test_a_table_runs_every_case_and_names_each_that_fails() -> None:
    @for_each("left, right", [(1, 1), (1, 2), (2, 2), (3, 4)])
    def are_equal(left: int, right: int) -> None:
        assert left == right

    with pytest.raises(BaseExceptionGroup, match="2 of 4 cases failed") as caught:
        are_equal()
    assert [failure.__notes__ for failure in caught.value.exceptions] == [
        ["left = 1, right = 2"],
        ["left = 3, right = 4"],
    ]
    with pytest.raises(AssertionError, match="has no case"):
        for_each("left", [])(are_equal)()
