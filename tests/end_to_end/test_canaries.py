"""Marked values go in at one end; nothing that is kept anywhere may hold them."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from client_sdk import Recorded, Registry, Telemetry
from client_sdk.spec import Window, WindowKind
from tests.support.collecting import report, upload
from tests.support.processes import READ_TOKEN, run_command, running_collector, wait_until
from tests.support.wire import raw_answer, with_length

CANARY_VALUE = "canary-of-a-true-answer"
CANARY_ADDRESS = "203.0.113.77"
CANARY_AGENT = "canary-of-an-agent"

REGISTRY = f"""
schema = 1
[app]
name = "canaries"
[budget]
per_window = 9
lifetime = 99
[metric.bird]
purpose = "Which bird sings?"
kind = "category"
values = ["sparrow", "{CANARY_VALUE}"]
epsilon = 1
[metric.nest]
purpose = "Where does it nest?"
kind = "category"
values = ["tree", "{CANARY_VALUE}"]
epsilon = 1
permanent_epsilon = 2
protects = "history"
fill_in = true
[metric.eggs]
purpose = "How many eggs?"
kind = "count"
max = {10**15}
statistic = "mean"
epsilon = 1
[metric.songs]
purpose = "How many songs?"
kind = "count"
max = {10**15}
statistic = "mean"
epsilon = 1
persist = true
"""
CANARY_COUNT = 0x5A17C0DE1234
"""As SQLite stores it, its six bytes stand nowhere else."""

DAY_S = 86_400


def bytes_below(folder: Path) -> bytes:
    """Return all bytes of all files below a folder."""
    return b"\n".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_no_true_answer_is_kept_on_the_device_or_sent(tmp_path: Path) -> None:
    registry_file = tmp_path / "metrics.toml"
    registry_file.write_text(REGISTRY, encoding="utf-8")
    registry = Registry.load(registry_file)
    with running_collector(registry_file, tmp_path / "data") as collector:
        with Telemetry(registry, collector=collector.url, data_dir=tmp_path / "app", consent=True) as telemetry:
            assert telemetry.record("bird", CANARY_VALUE) is Recorded.QUEUED
            assert telemetry.record("nest", CANARY_VALUE) is Recorded.QUEUED
            assert CANARY_VALUE.encode() not in bytes_below(tmp_path / "app")
            assert telemetry.flush(timeout_s=30)
            assert CANARY_VALUE not in repr(telemetry.history())
        assert CANARY_VALUE.encode() not in bytes_below(tmp_path / "app")
        assert CANARY_VALUE.encode() not in bytes_below(tmp_path / "data")
        assert CANARY_VALUE not in collector.output.read_text()


def holds_count(folder: Path) -> bool:
    """Whether a file below a folder holds the marked count, as SQLite, JSON or a log would write it."""
    kept = bytes_below(folder)
    return CANARY_COUNT.to_bytes(6, "big") in kept or str(CANARY_COUNT).encode() in kept


def test_only_a_count_that_persists_is_kept_and_only_until_its_window_was_reported(tmp_path: Path) -> None:
    """What ``persist`` means: the running count, a true answer, stands in the file of the app until it is reported."""
    registry_file, app, now = tmp_path / "metrics.toml", tmp_path / "app", [time.time() - DAY_S]
    registry_file.write_text(REGISTRY, encoding="utf-8")
    registry = Registry.load(registry_file)
    with running_collector(registry_file, tmp_path / "data") as collector:
        with Telemetry(
            registry, collector=collector.url, data_dir=app, consent=True, clock=lambda: now[0]
        ) as telemetry:
            assert telemetry.count("eggs", CANARY_COUNT) is Recorded.COUNTED
            assert not holds_count(app)
            assert telemetry.count("songs", CANARY_COUNT) is Recorded.COUNTED
            assert holds_count(app)
            now[0] += DAY_S
            assert telemetry.flush(timeout_s=30)
            assert not holds_count(app)
            charged = telemetry.budget().lifetime_spent
            assert charged > 2 * registry.metric("songs").epsilon_nanos / 10**9
        assert not holds_count(app)
        assert not holds_count(tmp_path / "data")


def test_no_address_agent_token_or_time_is_kept_by_the_collector(registry_file: Path, tmp_path: Path) -> None:
    window = Window.of(WindowKind.DAY, time.time()).text
    canaries = (
        f"X-Forwarded-For: {CANARY_ADDRESS}",
        f"Forwarded: for={CANARY_ADDRESS}",
        f"User-Agent: {CANARY_AGENT}",
        f"Cookie: {CANARY_AGENT}",
        f"Authorization: Bearer {CANARY_AGENT}",
    )
    with running_collector(registry_file, tmp_path / "data") as collector:
        for body in (upload(report(window=window)).encode(), b"{", b'{"upload": 1, "reports": []}'):
            head = ("POST /v1/reports HTTP/1.1", "Host: test", "Content-Type: application/json", *canaries)
            request = "\r\n".join((*head, f"Content-Length: {len(body)}", "", "")).encode() + body
            raw_answer(collector.url, request)
            raw_answer(collector.url, request.replace(b"POST /v1/reports", b"POST /v1/nothing"))
        kept = bytes_below(tmp_path / "data") + collector.output.read_bytes()
        for canary in (CANARY_ADDRESS, CANARY_AGENT, READ_TOKEN):
            assert canary.encode() not in kept, canary
        assert b"dark_mode" in kept


def test_the_append_only_file_forgets_the_uploads_when_their_window_closes(registry_file: Path, tmp_path: Path) -> None:
    window = Window.of(WindowKind.DAY, time.time()).text
    sent = upload(report(window=window))
    data = tmp_path / "data"

    def log() -> bytes:
        return b"".join(path.read_bytes() for path in sorted((data / "appendonlydir").glob("*.incr.aof")))

    with running_collector(registry_file, data) as collector:
        assert json.loads(raw_answer(collector.url, with_length(sent.encode()))[1])["accepted"] == 1
        assert b"BITFIELD" in log()
        closed = run_command([sys.executable, "-m", "collector", "close", "--window", window, "--data-dir", str(data)])
        assert closed.returncode == 0, closed.stderr
        wait_until(lambda: b"BITFIELD" not in log(), what="the file to be rewritten")
