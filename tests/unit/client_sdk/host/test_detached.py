"""A process that is started apart imports nothing that this one would not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from client_sdk.host import detached
from tests.support.services.processes import wait_until

_START = """
import sys
sys.path[:0] = sys.argv[1:2]
sys.path.append(None)
from client_sdk.host import detached
from pathlib import Path
detached.start("job", Path(sys.argv[2] + ".lock"), place=sys.argv[2])
"""
_JOB = """
import json, sys
from pathlib import Path

def main(place, held):
    Path(place + ".part").write_text(json.dumps([json.__file__, sys.flags.isolated, None in sys.path]))
    Path(place + ".part").rename(place)
"""


@pytest.mark.parametrize("options", [[], ["-I"]], ids=["usual", "isolated"])
def test_it_runs_with_the_path_and_the_isolation_of_its_program(tmp_path: Path, options: list[str]) -> None:
    (tmp_path / "job.py").write_text(_JOB, encoding="utf-8")
    hostile = tmp_path / "hostile"
    hostile.mkdir()
    (hostile / "sitecustomize.py").write_text(f"open({str(tmp_path / 'caught')!r}, 'w')", encoding="utf-8")
    place = tmp_path / "done"
    arguments = [sys.executable, *options, "-c", _START, str(tmp_path), str(place)]
    environment = {"PYTHONPATH": str(hostile)} if options else {}
    subprocess.run(arguments, env=environment, check=True)
    wait_until(place.exists, what="the job")
    assert place.read_text(encoding="utf-8").endswith(f'json/__init__.py", {int(bool(options))}, false]')
    assert not (tmp_path / "caught").exists()


def test_the_working_directory_is_not_searched() -> None:
    assert "-P" in detached._options() or "-I" in detached._options()


@pytest.mark.parametrize(
    ("program", "can"),
    [("/usr/bin/python3.12", True), ("C:/Python/python.exe", True), ("/usr/bin/qgis", False), ("", False)],
)
def test_only_a_python_is_started(monkeypatch: pytest.MonkeyPatch, program: str, *, can: bool) -> None:
    monkeypatch.setattr(sys, "executable", program)
    assert detached.can_start() is can
