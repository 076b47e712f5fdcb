"""Marked values go in at one end; no file, log or answer may hold them."""

from __future__ import annotations

import json
import socket
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import redis

from client_sdk import Recorded, Registry, Telemetry
from client_sdk.protocol import Upload, Window, WindowKind
from collector.api.messages import JSON, NDJSON
from collector.embedded.store import EmbeddedStore
from collector.log import LogFormat
from collector.store import keys
from collector.store.facts import NAME_FIELD
from collector.store.redis_store import RedisStore
from tests.support.services.collecting import OPEN, judged, key_entry, report, upload
from tests.support.services.living_files import bytes_below
from tests.support.services.processes import RunningCollector, free_port, run_command, running_collector, wait_until
from tests.support.services.wire import ANSWER_TIMEOUT_S, raw_answer, with_length

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
CANARY_SECRETS = {role: f"canary-secret-of-a-{role}-key-000000" for role in ("read", "relay")}
CANARY_COUNT = 0x5A17C0DE1234
"""A number whose six bytes, as SQLite stores them, occur nowhere else."""

DAY_S = 86_400


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCollector]:
    folder = tmp_path_factory.mktemp("canaries")
    (folder / "metrics.toml").write_text(REGISTRY, encoding="utf-8")
    with running_collector(folder / "metrics.toml", folder / "data") as running:
        yield running


def test_no_true_answer_is_kept_on_the_device_or_sent(collector: RunningCollector, tmp_path: Path) -> None:
    registry = Registry.parse(REGISTRY)
    with Telemetry(registry, collector=collector.url, data_dir=tmp_path / "app", consent=True) as telemetry:
        assert telemetry.record("bird", CANARY_VALUE) is Recorded.QUEUED
        assert telemetry.record("nest", CANARY_VALUE) is Recorded.QUEUED
        assert CANARY_VALUE.encode() not in bytes_below(tmp_path / "app")
        assert telemetry.flush(timeout_s=30)
        for entry in telemetry.history():  # its label says what was reported, whatever the answer was
            assert entry.label == registry.metric(entry.metric).labels[entry.symbol]
            assert CANARY_VALUE not in repr(entry._replace(label=""))
    assert CANARY_VALUE.encode() not in bytes_below(tmp_path / "app")
    assert CANARY_VALUE.encode() not in bytes_below(collector.data_dir)
    assert CANARY_VALUE not in collector.output.read_text()


def holds_count(folder: Path) -> bool:
    """Whether a file below a folder holds the marked count, as SQLite, JSON or a log would write
    it.
    """
    kept = bytes_below(folder)
    return CANARY_COUNT.to_bytes(6, "big") in kept or str(CANARY_COUNT).encode() in kept


def test_only_a_count_that_persists_is_kept_and_only_until_its_window_was_reported(
    collector: RunningCollector, tmp_path: Path
) -> None:
    """What ``persist`` means: the app's file holds the running count, a true answer, until it is
    reported.
    """
    registry, app, now = Registry.parse(REGISTRY), tmp_path / "app", [time.time() - DAY_S]
    with Telemetry(registry, collector=collector.url, data_dir=app, consent=True, clock=lambda: now[0]) as telemetry:
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
    assert not holds_count(collector.data_dir)


def whole_answer(url: str, request: bytes) -> bytes:
    """Send a request and return every byte that comes back, including the head."""
    where = urlsplit(url)
    with socket.create_connection((where.hostname, where.port), ANSWER_TIMEOUT_S) as connection:
        connection.sendall(request)
        return b"".join(iter(lambda: connection.recv(65_536), b""))


def http_request(method: str, path: str, media_type: str, secret: str, body: bytes) -> bytes:
    """Return a request with canaries in every header that identifies its sender."""
    head = (
        *(f"{method} {path} HTTP/1.1", "Host: test", "Connection: close", f"Content-Type: {media_type}"),
        *(f"X-Forwarded-For: {CANARY_ADDRESS}", f"Forwarded: for={CANARY_ADDRESS}", f"X-Real-IP: {CANARY_ADDRESS}"),
        *(f"User-Agent: {CANARY_AGENT}", f"Cookie: {CANARY_AGENT}", f"Referer: https://{CANARY_AGENT}/"),
        *(f"Authorization: Bearer {secret}", f"Content-Length: {len(body)}", "", ""),
    )
    return "\r\n".join(head).encode() + body


@pytest.mark.parametrize("log_format", LogFormat)
def test_no_address_agent_secret_or_value_is_kept_logged_counted_or_answered_by_the_collector(
    log_format: LogFormat, registry_file: Path, tmp_path: Path
) -> None:
    window, port, access = Window.at(WindowKind.DAY, time.time()).text, free_port(), tmp_path / "access.toml"
    access.write_text(OPEN + "".join(key_entry(role, role, secret) for role, secret in CANARY_SECRETS.items()))
    sent = upload(report(window=window), upload_id="c0ffee" * 5 + "00")
    echoed = json.dumps({"upload": CANARY_AGENT, "reports": [{CANARY_AGENT: CANARY_AGENT}]}).encode()
    bodies = (sent.encode(), b"{", echoed, sent.encode().replace(b"dark_mode", CANARY_AGENT.encode()))
    options = ("--access", str(access), "--metrics-bind", f"127.0.0.1:{port}", "--log-format", log_format)
    with running_collector(
        registry_file, tmp_path / "data", *options, environment={"HEARSAY_READ_TOKEN": None}
    ) as collector:
        answers = [
            whole_answer(collector.url, http_request(method, path, media_type, secret, body))
            for secret in (*CANARY_SECRETS.values(), CANARY_AGENT)
            for body in bodies
            for method, path, media_type in (
                ("POST", "/v1/reports", JSON),
                ("POST", f"/v1/reports?{CANARY_AGENT}", CANARY_AGENT),
                ("POST", "/v1/uploads", NDJSON),
                ("GET", f"/v1/tallies?{CANARY_AGENT}", JSON),
                ("GET", f"/v1/{CANARY_AGENT}", JSON),
                (CANARY_AGENT, "/v1/reports", JSON),
            )
        ]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=ANSWER_TIMEOUT_S) as scraped:
            metrics = scraped.read()
        kept = bytes_below(tmp_path / "data")
        logged = collector.output.read_bytes() + metrics
    statuses = {answer.split(b" ", 2)[1] for answer in answers}
    assert statuses == {b"200", b"400", b"401", b"403", b"404", b"405", b"415"}
    for canary in (CANARY_ADDRESS, CANARY_AGENT, *CANARY_SECRETS.values()):
        assert canary.encode() not in kept + logged + b"".join(answers), canary
    assert b"dark_mode" in kept
    assert b'hearsay_uploads_total{outcome="counted"} 1' in metrics
    for unlogged in (b"dark_mode", sent.id.encode()):
        assert unlogged not in logged, unlogged
    assert window.encode() not in metrics


@pytest.mark.long
def test_the_append_only_file_forgets_the_uploads_when_their_window_closes(registry_file: Path, tmp_path: Path) -> None:
    window = Window.at(WindowKind.DAY, time.time()).text
    sent = upload(report(window=window))
    data = tmp_path / "data"

    def log() -> bytes:
        return bytes_below(data / "appendonlydir", "*.incr.aof")

    with running_collector(registry_file, data) as collector:
        assert json.loads(raw_answer(collector.url, with_length(sent.encode()))[1])["accepted"] == 1
        assert b"BITFIELD" in log()
        closed = run_command(
            [sys.executable, "-m", "collector", "store", "close", "--yes", "--window", window, "--data-dir", str(data)]
        )
        assert closed.returncode == 0, closed.stderr
        wait_until(lambda: b"BITFIELD" not in log(), what="the file to be rewritten")


FIRST_ID, SECOND_ID = "0" * 31 + "1", "f" * 31 + "0"

SAME_TALLIES = (
    [
        upload(report(symbol=0), report("os", 1), upload_id=FIRST_ID),
        upload(report(), report("os", 2), upload_id=SECOND_ID),
    ],
    [
        upload(report(), report("os", 1), upload_id=SECOND_ID),
        upload(report(symbol=0), report("os", 2), upload_id=FIRST_ID),
    ],
)
"""Two histories with the same uploads and tallies, but in another order and with other answers
together.
"""


def remembered(uploads: list[Upload], folder: Path) -> tuple[dict[bytes, bytes], bytes]:
    """Count uploads, have the file rewritten, and return everything that a store knows, and the end
    of its file.
    """
    with EmbeddedStore(folder) as embedded, redis.Redis.from_url(embedded.url) as server:
        store = RedisStore(embedded.url)
        store.prepare()
        for sent in uploads:
            store.count(judged(sent))
        # otherwise every store has a random name of its own
        server.hset(keys.STORE, NAME_FIELD, "drawn at random")
        server.set(keys.of_shard(0, keys.NAME), "drawn at random")
        server.bgrewriteaof()
        wait_until(lambda: not server.info("persistence")["aof_rewrite_in_progress"], what="the rewrite")
        (base,) = (folder / "appendonlydir").glob("*.base.*")
        assert all(count in base.read_bytes() for count in (b"dark_mode", b"os"))
        known = {key: server.dump(key) for key in server.scan_iter()}
        store.disconnect()
        return known, bytes_below(folder / "appendonlydir", "*.incr.aof")


def test_after_a_rewrite_nothing_tells_which_answers_came_together_or_in_which_order(tmp_path: Path) -> None:
    (first, rest_of_first), (second, rest_of_second) = (
        remembered(uploads, tmp_path / str(number)) for number, uploads in enumerate(SAME_TALLIES)
    )
    assert first == second
    assert rest_of_first == rest_of_second == b""
    assert len(first) > 3
