"""The examples do what their pages say.

They are a command-line app and a service, as an app's developer would start them.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from client_sdk import Registry, Telemetry
from client_sdk.consent import CI_VARIABLES
from client_sdk.ledger.file import FILE_NAME
from client_sdk.protocol.statement import statement
from tests.support.services.processes import READ_TOKEN, free_port, listens, running_collector, started, wait_until

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
USERS = 3
WORKERS = 3
EXPORTS = 12


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """The folder of the command-line app, every device of which answers in every month."""
    return asked_always(EXAMPLES / "notes", tmp_path / "notes")


def asked_always(example: Path, copy: Path) -> Path:
    """Copy an example, without the strategy that lets a device answer in a few windows only."""
    shutil.copytree(example, copy)
    registry = copy / "metrics.toml"
    registry.write_text(registry.read_text("utf-8").replace('strategy = "pace"\n', ""), encoding="utf-8")
    return copy


def unsuppressed() -> dict[str, str]:
    """Return this environment without what suppresses telemetry."""
    return {name: value for name, value in os.environ.items() if name not in ("DO_NOT_TRACK", *CI_VARIABLES)}


@pytest.mark.long
def test_every_report_of_the_command_line_app_arrives_once(notes: Path, tmp_path: Path) -> None:
    with running_collector(notes / "metrics.toml", tmp_path / "data") as collector:

        def run(user: int, *words: str) -> str:
            settings = unsuppressed() | {
                "NOTES_COLLECTOR": collector.url,
                "NOTES_HOME": str(tmp_path / f"home {user}"),
            }
            command = [sys.executable, str(notes / "notes.py"), *words]
            return subprocess.run(command, env=settings, check=True, capture_output=True, text=True).stdout

        for user in range(USERS):
            run(user, "telemetry", "on")
            run(user, "add", "buy milk")
            assert run(user, "export", "--style", "markdown") == "* buy milk\n"
            folder = tmp_path / f"home {user}" / "telemetry"
            with Telemetry(notes / "metrics.toml", collector=collector.url, data_dir=folder, consent=True) as device:
                assert device.flush()
            shown = run(user, "telemetry", "show")
            assert re.search(r"\d{4}-\d\d +.* +accepted\n.*\d{4}-\d\d +.* +accepted\n", shown, re.DOTALL)
            assert "Waiting to be sent or acknowledged: 0" in shown
        assert "buy milk" not in run(0, "telemetry", "statement")
        run(0, "telemetry", "off")
        assert "accepted" not in run(0, "telemetry", "show")
        bearer = {"Authorization": f"Bearer {READ_TOKEN}"}
        tallies = requests.get(f"{collector.url}/v1/tallies?preliminary=1", headers=bearer, timeout=60).text
    assert re.findall(r'"reports": ?(\d+)', tallies) == [str(USERS)] * 2


def test_an_app_that_has_no_consent_keeps_nothing(notes: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    command = [sys.executable, str(notes / "notes.py"), "add", "buy milk"]
    subprocess.run(command, env=unsuppressed() | {"NOTES_HOME": str(home)}, check=True)
    assert [path.name for path in home.iterdir()] == ["notes.json"]


def test_the_tests_of_the_command_line_app_pass() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "examples/notes"]
    without_the_projects_plugins = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    shown = subprocess.run(
        command, cwd=ROOT, env=without_the_projects_plugins, capture_output=True, text=True, check=False
    )
    assert "2 passed" in shown.stdout, shown.stdout + shown.stderr


@pytest.fixture
def service(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """The address of the service with several workers, and its data."""
    folder, data, port = asked_always(EXAMPLES / "service", tmp_path / "service"), tmp_path / "data", free_port()
    settings = {"SERVICE_DATA": str(data), "SERVICE_TELEMETRY": "yes", "SERVICE_COLLECTOR": "http://127.0.0.1:9"}
    command = [sys.executable, "-m", "gunicorn", "--workers", str(WORKERS), "--bind", f"127.0.0.1:{port}"]
    process = started([*command, "service:create_app()"], cwd=folder, env=os.environ | settings)
    try:
        wait_until(lambda: listens(port) or process.poll() is not None, what="gunicorn")
        yield f"http://127.0.0.1:{port}", data
    finally:
        process.terminate()
        process.wait()


def test_the_workers_of_the_service_share_one_ledger(service: tuple[str, Path]) -> None:
    url, data = service
    for _ in range(EXPORTS):
        assert requests.get(f"{url}/export", timeout=60).text == "id,name\n"
    assert "# What example-service asks" in requests.get(f"{url}/privacy", timeout=60).text
    with contextlib.closing(sqlite3.connect(data / FILE_NAME)) as connection:
        assert connection.execute("SELECT count FROM counts").fetchall() == [(EXPORTS,)]
        assert connection.execute("SELECT metric FROM queue").fetchall() == [("database",)]


@pytest.mark.parametrize("name", ["notes", "service"])
def test_an_example_keeps_its_registry_within_a_small_bound(name: str) -> None:
    registry = Registry.load(EXAMPLES / name / "metrics.toml")
    assert registry.budget.lifetime_nanos <= 5 * 10**9
    page = statement(registry)
    assert "All answers to all questions in a year: even odds can become at most" in page
