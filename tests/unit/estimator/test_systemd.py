"""The systemd units: their commands exist, and systemd accepts them."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path

from client_sdk.protocol.command_line import ExitStatus
from estimator.commands.archive import archive
from estimator.fetch import TOKEN_VARIABLE

UNITS = Path(__file__).parents[3] / "docs" / "systemd"


def unit(name: str) -> ConfigParser:
    parser = ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign] # keys of units keep their case
    parser.read(UNITS / name, encoding="utf-8")
    return parser


def test_the_command_of_the_service_is_one() -> None:
    program, command, *words = shlex.split(unit("hearsay-report.service")["Service"]["ExecStart"])
    assert (Path(program).name, command) == ("hearsay-estimator", "archive")
    folder = archive.make_context("archive", words).params["folder"]
    assert str(folder) == f"/var/lib/{unit('hearsay-report.service')['Service']['StateDirectory']}"


def test_the_token_of_the_service_is_a_credential_and_the_collectors_own() -> None:
    settings = unit("hearsay-report.service")["Service"]
    credential, _, file = settings["LoadCredential"].partition(":")
    assert settings["Environment"] == f"{TOKEN_VARIABLE}_FILE=%d/{credential}"
    assert file == unit("hearsay-collector.service")["Service"]["LoadCredential"].partition(":")[2]
    assert "EnvironmentFile" not in settings


def test_nothing_new_is_no_failure_of_the_service() -> None:
    assert int(unit("hearsay-report.service")["Service"]["SuccessExitStatus"]) == ExitStatus.NOTHING_NEW


def test_the_timer_makes_up_for_a_night_that_was_missed() -> None:
    assert unit("hearsay-report.timer")["Timer"]["Persistent"] == "true"


def test_systemd_finds_nothing_wrong(tmp_path: Path) -> None:
    """Where there is one: the units are for systems that have it."""
    for path in UNITS.iterdir():
        # not there now
        text = re.sub(r"/opt/hearsay/bin/[\w-]+", sys.executable, path.read_text(encoding="utf-8"))
        (tmp_path / path.name).write_text(text, encoding="utf-8")
    if analyze := shutil.which("systemd-analyze"):
        names = [str(tmp_path / path.name) for path in UNITS.iterdir()]
        done = subprocess.run([analyze, "verify", "--man=no", *names], capture_output=True, text=True, check=False)
        assert (done.returncode, [line for line in done.stderr.splitlines() if "hearsay" in line]) == (0, [])
