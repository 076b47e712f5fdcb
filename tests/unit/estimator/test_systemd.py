"""The systemd units: their commands exist, and systemd accepts them."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from client_sdk.protocol.command_line import ExitStatus
from estimator.commands.archive import archive
from estimator.fetch import TOKEN_VARIABLE
from tests.support.services.units import FOLDER, service


def test_the_command_of_the_service_is_one() -> None:
    settings = service("hearsay-report")
    program, command, *words = shlex.split(settings["ExecStart"].replace("${BIND}", "127.0.0.1:8080"))
    assert (Path(program).name, command) == ("hearsay-estimator", "archive")
    assert str(archive.make_context("archive", words).params["folder"]) == f"/var/lib/{settings['StateDirectory']}"


def test_the_token_of_the_service_is_a_credential_and_the_collectors_own() -> None:
    settings = service("hearsay-report")
    credential, _, file = settings["LoadCredential"].partition(":")
    assert settings["Environment"] == f"{TOKEN_VARIABLE}_FILE=%d/{credential}"
    for shared in ("LoadCredential", "EnvironmentFile"):
        assert settings[shared] == service("hearsay-collector")[shared]
    assert file.endswith("/%i/read-token")


def test_nothing_new_is_no_failure_of_the_service() -> None:
    assert int(service("hearsay-report")["SuccessExitStatus"]) == ExitStatus.NOTHING_NEW


def test_the_timer_makes_up_for_a_night_that_was_missed() -> None:
    assert "\nPersistent=true\n" in (FOLDER / "hearsay-report@.timer").read_text(encoding="utf-8")


def test_systemd_finds_nothing_wrong(tmp_path: Path) -> None:
    """Where there is one: the units are for systems that have it."""
    names = []
    for path in FOLDER.iterdir():
        # not there now
        text = re.sub(r"/opt/hearsay/bin/[\w-]+", sys.executable, path.read_text(encoding="utf-8"))
        for name in (path.name, path.name.replace("@", "@notes-staging")):
            (tmp_path / name).write_text(text, encoding="utf-8")
            names.append(str(tmp_path / name))
    if analyze := shutil.which("systemd-analyze"):
        done = subprocess.run([analyze, "verify", "--man=no", *names], capture_output=True, text=True, check=False)
        assert (done.returncode, [line for line in done.stderr.splitlines() if "hearsay" in line]) == (0, [])
