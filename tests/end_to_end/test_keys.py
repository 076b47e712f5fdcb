"""Keys and secrets of the real collector come from a file or the environment, and appear
nowhere.
"""

from __future__ import annotations

import sys
import time
import tomllib
from functools import partial
from pathlib import Path

import pytest
import requests

from client_sdk import Recorded, Registry, Telemetry
from client_sdk.protocol import Window, WindowKind
from collector.api.messages import NOT_CACHED
from tests.support.services.collecting import key_entry, report, upload
from tests.support.services.living_files import bytes_below
from tests.support.services.processes import (
    READ_TOKEN,
    command_line,
    run_command,
    running_collector,
    wait_until,
)
from tests.support.services.wire import tallies

COLLECTOR = (sys.executable, "-m", "collector")
JSON = {"Content-Type": "application/json"}


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


def body() -> bytes:
    return upload(report(window=Window.at(WindowKind.DAY, time.time()).text)).encode()


@pytest.mark.long
def test_a_key_from_the_command_opens_its_role_and_appears_nowhere_else(registry_file: Path, tmp_path: Path) -> None:
    created = run_command([*COLLECTOR, "key", "acme-notes"])
    secret = created.stderr.strip().rpartition(": ")[2]
    assert (created.returncode, len(secret), secret in created.stdout) == (0, 43, False)
    assert tomllib.loads(created.stdout)["key"][0]["name"] == "acme-notes"
    access = tmp_path / "access.toml"
    access.write_text(created.stdout + key_entry("dashboard", "read", READ_TOKEN))
    options = ("--access", str(access))
    with running_collector(registry_file, tmp_path / "data", *options, environment={"HEARSAY_READ_TOKEN": None}) as run:
        url = f"{run.url}/v1/reports"
        assert requests.post(url, data=body(), headers=JSON, timeout=30).status_code == 401
        answer = requests.post(url, data=body(), headers=JSON | bearer(secret), timeout=30)
        assert answer.status_code == 200
        assert dict(NOT_CACHED).items() <= answer.headers.items()
        assert requests.get(f"{run.url}/v1/tallies", headers=bearer(READ_TOKEN), timeout=30).status_code == 200
        shown = [command_line(pid) for pid in (run.pid, *run.worker_pids())] + [run.output.read_text()]
        stored = bytes_below(tmp_path / "data", "*.aof").decode(errors="replace")
        assert "dark_mode" in stored
        shown.append(stored)
        assert not any(value in text for text in shown for value in (secret, READ_TOKEN))


def test_reports_wait_while_the_apps_key_is_wrong_and_none_is_lost(registry_file: Path, tmp_path: Path) -> None:
    access = tmp_path / "access.toml"
    access.write_text(
        key_entry("app", "upload", "right-key") + key_entry("dashboard", "read", READ_TOKEN, "preliminary = true")
    )
    options = ("--access", str(access))
    with running_collector(registry_file, tmp_path / "data", *options, environment={"HEARSAY_READ_TOKEN": None}) as run:
        app = partial(
            Telemetry, Registry.load(registry_file), collector=run.url, data_dir=tmp_path / "app", consent=True
        )
        with app(upload_key="wrong-key") as telemetry:
            assert telemetry.record("os", "linux") is Recorded.QUEUED
            wait_until(lambda: not telemetry.flush(0.1) and telemetry.problem is not None, what="the refusal")
            assert "does not know the key (status 401)" in str(telemetry.problem)
            assert "wrong-key" not in str(telemetry.problem)
        with app(upload_key="right-key") as telemetry:
            assert telemetry.flush(30)
            assert (telemetry.problem, telemetry.dropped()) == (None, {})
        assert [tally["reports"] for tally in tallies(run.url, "?preliminary=1")] == [1]
