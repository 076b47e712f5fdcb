"""What a real collector tells systemd, on a socket of the test's own."""

from __future__ import annotations

import os
import signal
import threading
import time
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from collector.access import Role, digest_of, new_secret
from collector.log import LogFormat
from collector.systemd import notify, reloading
from collector.workers import announce_when_ready
from tests.support.services.collecting import REGISTRY_TEXT, report, today, upload
from tests.support.services.manager import listening_manager
from tests.support.services.processes import free_port, running_collector, wait_until
from tests.support.services.units import App, running_service
from tests.support.services.wire import post, tallies

ADDED = """
[metric.tabs]
purpose = "Are tabs used?"
kind = "boolean"
epsilon = 1
"""


def test_start_reload_refusal_and_stop_are_told_in_order_by_the_main_process_alone(
    registry_file: Path, tmp_path: Path, short_folder: Path
) -> None:
    with listening_manager(short_folder) as manager:
        with running_collector(registry_file, tmp_path / "data", environment=manager.environment) as collector:
            told = manager.wait_for("READY")
            registry_file.write_text(REGISTRY_TEXT + ADDED)
            before_us = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
            os.kill(collector.pid, signal.SIGHUP)
            begun, *between, ended = manager.wait_for("RELOADING")[-1:] + manager.wait_for("READY")
            assert set(begun.fields) == {"RELOADING", "MONOTONIC_USEC"}
            after_us = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
            assert before_us <= int(begun.fields["MONOTONIC_USEC"]) <= after_us
            assert "was reloaded" in between[-1].fields["STATUS"]
            registry_file.write_text("[app")
            os.kill(collector.pid, signal.SIGHUP)
            refused = manager.wait_for("READY")
            assert any("stays in force" in message.fields.get("STATUS", "") for message in refused)
            collector.stop()
        stopped = [*manager.wait_for("STOPPING"), *manager.wait_for("STATUS")]
    assert told[-1].fields["READY"] == "1"
    assert told[-1].fields["STATUS"].startswith(f"hearsay-collector is ready on {collector.url} with ")
    assert stopped[-1].fields == {"STATUS": "stopped"}
    assert {message.pid for message in (*told, begun, *between, ended, *refused, *stopped)} == {collector.pid}


def test_an_access_file_replaces_the_read_token_of_the_unit(tmp_path: Path) -> None:
    folder = tmp_path / "etc" / "hearsay" / "notes"
    folder.mkdir(parents=True)
    (folder / "metrics.toml").write_text(REGISTRY_TEXT)
    keys = (("app", Role.UPLOAD, new_secret()), ("reports", Role.READ, new_secret()))
    entries = (
        f'[[key]]\nname = "{name}"\nrole = "{role}"\nsha256 = "{digest_of(secret).hex()}"\n'
        for name, role, secret in keys
    )
    (folder / "access.toml").write_text("\n".join(entries))
    (folder / "addresses").write_text(
        f"BIND=127.0.0.1:{free_port()}\nMETRICS_BIND=127.0.0.1:{free_port()}\nKEYS=--access={folder}/access.toml\n"
    )
    app = App("notes", tmp_path)
    with running_service(app):
        assert post(app.url, upload(report(window=today())))[0] == HTTPStatus.UNAUTHORIZED
        assert tallies(app.url, "", keys[1][2]) == []


class Slowly(BaseHTTPRequestHandler):
    """Is not ready at first."""

    statuses: list[int]

    def do_GET(self) -> None:
        self.send_response(self.statuses.pop(0) if self.statuses[1:] else self.statuses[0])
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_a_service_whose_store_is_full_has_started(
    short_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Otherwise systemd would end it after a while, and start it again, without end."""
    Slowly.statuses = [503]
    with HTTPServer(("127.0.0.1", 0), Slowly) as server, listening_manager(short_folder) as manager:
        monkeypatch.setenv("NOTIFY_SOCKET", manager.environment["NOTIFY_SOCKET"])
        threading.Thread(target=server.serve_forever).start()
        try:
            announce_when_ready("127.0.0.1", server.server_port, "with a store", LogFormat.TEXT)
            assert manager.next().fields == {
                "READY": "1",
                "STATUS": "serving, but its store accepts no uploads: see /readyz",
            }
            Slowly.statuses.append(200)
            line = f"hearsay-collector is ready on http://127.0.0.1:{server.server_port} with a store"
            assert manager.next().fields == {"READY": "1", "STATUS": line}
        finally:
            server.shutdown()
    wait_until(lambda: line in capsys.readouterr().out, what="the line")


@pytest.mark.parametrize("is_abstract", [False, True])
def test_a_message_comes_to_a_name_in_a_folder_or_elsewhere_and_without_a_listener_is_lost(
    short_folder: Path, monkeypatch: pytest.MonkeyPatch, *, is_abstract: bool
) -> None:
    with listening_manager(None if is_abstract else short_folder) as manager:
        monkeypatch.setenv("NOTIFY_SOCKET", manager.environment["NOTIFY_SOCKET"])
        notify(*reloading())
        assert set(manager.next().fields) == {"RELOADING", "MONOTONIC_USEC"}
    notify(*reloading())
