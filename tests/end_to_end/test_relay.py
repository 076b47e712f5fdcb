"""Real devices, a real relay and a real collector."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import requests

from client_sdk import Recorded, Telemetry
from client_sdk.protocol import Upload, Verdict
from collector.api.batch import UploadVerdict, decode_batch, encode_answers
from collector.relay.stops import Stops
from tests.support.services.collecting import REGISTRY, REGISTRY_TEXT, report, today, upload
from tests.support.services.processes import RunningCollector, free_port, kill, wait_until
from tests.support.services.relaying import RELAY_KEY, STATE, RunningRelay, collector_with_key, running_relay
from tests.support.services.wire import chunked, post, raw_answer, tallies, with_length

DEVICES = 5
CANARY = "canary-5a17c0de"
CANARY_ADDRESS = "203.0.113.77"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("relay")


@pytest.fixture(scope="module")
def collector(folder: Path) -> Iterator[RunningCollector]:
    registry = folder / "metrics.toml"
    registry.write_text(REGISTRY_TEXT, encoding="utf-8")
    with collector_with_key(registry, folder) as running:
        yield running


@pytest.fixture(scope="module")
def relay(collector: RunningCollector, folder: Path) -> Iterator[RunningRelay]:
    with running_relay(collector.url, folder, "--gather", "0.3") as running:
        yield running


def counted(collector: RunningCollector, metric: str) -> int:
    """Return how many reports of a metric the collector has counted, at the first look at its open
    windows.
    """
    return sum(tally["reports"] for tally in tallies(collector.url, "?preliminary=1") if tally["metric"] == metric)


@pytest.mark.long
def test_what_devices_record_is_counted_through_the_relay(
    collector: RunningCollector, relay: RunningRelay, tmp_path: Path
) -> None:
    with contextlib.ExitStack() as devices:
        apps = [
            devices.enter_context(
                Telemetry(REGISTRY, collector=relay.url, data_dir=tmp_path / f"app{number}", consent=True)
            )
            for number in range(DEVICES)
        ]
        for app in apps:
            assert app.record("plan", "paid") is Recorded.QUEUED
        flushing = [threading.Thread(target=app.flush, args=(30.0,)) for app in apps]
        for thread in flushing:
            thread.start()
        for thread in flushing:
            thread.join()
        assert all(app.flush(timeout_s=30.0) for app in apps)
    assert counted(collector, "plan") == DEVICES


class Recorder(BaseHTTPRequestHandler):
    """Counts everything as a collector would, and keeps all that a relay lets it see."""

    server: RecordingServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.seen += str(self.headers).encode() + body
        uploads = [line for line in decode_batch(body) if isinstance(line, Upload)]
        answer = encode_answers([UploadVerdict(sent.id, Verdict(len(sent.reports))) for sent in uploads])
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        pass


class RecordingServer(HTTPServer):
    seen = b""


def test_nothing_of_a_device_but_its_upload_gets_to_the_collector_or_into_the_relays_log(tmp_path: Path) -> None:
    headers = (
        *(f"{name}: {CANARY_ADDRESS}" for name in ("X-Forwarded-For", "Forwarded", "X-Real-IP")),
        *(f"{name}: {CANARY}" for name in ("User-Agent", "Cookie", "Authorization", "Accept-Language")),
    )
    sent = upload(report(window=today()))
    with RecordingServer(("127.0.0.1", 0), Recorder) as collector:
        thread = threading.Thread(target=collector.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        url = f"http://127.0.0.1:{collector.server_port}"
        with running_relay(url, tmp_path, "--gather", "0.1") as relay:
            for body in (sent.encode(), b"{", b'{"upload": 1, "reports": []}'):
                head = ("POST /v1/reports HTTP/1.1", "Host: test", "Content-Type: application/json", *headers)
                request = "\r\n".join((*head, f"Content-Length: {len(body)}", "", "")).encode() + body
                raw_answer(relay.url, request)
                raw_answer(relay.url, request.replace(b"POST /v1/reports", b"POST /v1/nothing"))
        collector.shutdown()
        thread.join()
    assert collector.seen.endswith(sent.encode() + b"\n")
    kept = relay.output.read_bytes() + collector.seen
    for canary in (CANARY_ADDRESS, CANARY):
        assert canary.encode() not in kept, canary
    assert RELAY_KEY.encode() not in relay.output.read_bytes()


@pytest.mark.parametrize(
    ("request_", "half_close", "status"),
    [
        (with_length(b" " * 70_000), False, 413),
        (chunked(b" " * 70_000), False, 413),
        (chunked(upload(report(window=today())).encode(), chunk=7), False, 200),
        (with_length(upload().encode(), announced=5000), True, 400),
        (chunked(upload().encode()[:-20], ended=False), True, 400),
        (chunked(upload().encode(), ended=False), True, 400),
        (chunked(upload().encode(), ended=False) + b"0\r\n", True, 400),
        (chunked(upload().encode(), ended=False) + b"zz\r\n", True, 400),
        (with_length(b"\xff\xfe"), False, 400),
    ],
    ids=[
        "too large",
        "too large in chunks",
        "small chunks",
        "cut short",
        "chunks cut short",
        "no last chunk",
        "half a last chunk",
        "no chunk",
        "no UTF-8",
    ],
)
def test_bodies_are_read_as_by_the_collector(
    relay: RunningRelay, request_: bytes, *, half_close: bool, status: int
) -> None:
    assert raw_answer(relay.url, request_, half_close=half_close)[0] == status


def test_an_upload_that_comes_directly_and_through_the_relay_is_counted_once_and_answered_alike(
    collector: RunningCollector, relay: RunningRelay
) -> None:
    sent = upload(report("os", 9, today()), report("os", 1, today()))
    assert post(relay.url, sent) == post(collector.url, sent) == post(relay.url, sent)


@pytest.mark.long
def test_a_relay_that_is_stopped_answers_what_it_holds_first(collector: RunningCollector, tmp_path: Path) -> None:
    answers: list[int] = []
    with running_relay(collector.url, tmp_path, "--gather", "3") as relay:
        senders = [
            threading.Thread(target=lambda: answers.append(post(relay.url, upload(report(window=today())))[0]))
            for _ in range(DEVICES)
        ]
        for sender in senders:
            sender.start()
        wait_until(lambda: connections(relay) >= DEVICES, what="the relay to hold them")
        assert relay.stop() == 0
        for sender in senders:
            sender.join()
    assert answers == [200] * DEVICES


def connections(relay: RunningRelay) -> int:
    """Return how many connections a relay holds."""
    port = f":{int(relay.url.rpartition(':')[2]):04X} "
    table = Path(f"/proc/{relay.worker_pid()}/net/tcp").read_text(encoding="ascii").splitlines()
    return sum(f"{line.split()[1]} ".endswith(port) and line.split()[3] == "01" for line in table[1:])


def test_beyond_its_room_a_relay_answers_at_once_that_devices_should_come_again(
    collector: RunningCollector, tmp_path: Path
) -> None:
    with running_relay(collector.url, tmp_path, "--gather", "1.5", "--held", "1") as relay:
        answers: list[int] = []
        held = threading.Thread(target=lambda: answers.append(post(relay.url, upload(report(window=today())))[0]))
        held.start()
        wait_until(lambda: raw_answer(relay.url, b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")[0] == 503, what="it full")
        status, document = post(relay.url, upload(report(window=today())))
        assert (status, document["code"]) == (503, "relay_full")
        held.join()
        assert answers == [200]


@pytest.mark.long
def test_a_relay_outlives_a_collector_that_is_not_there_yet(registry_file: Path, tmp_path: Path) -> None:
    port = free_port()
    sent = upload(report(window=today()))
    options = ("--gather", "0.1", "--log-format", "json")
    with running_relay(f"http://127.0.0.1:{port}", tmp_path, *options) as relay:
        status, document = post(relay.url, sent)
        assert (status, document["code"]) == (503, "collector_unavailable")
        with collector_with_key(registry_file, tmp_path, port=port) as collector:
            assert post(relay.url, sent) == (200, {"accepted": 1, "refused": []})
            assert counted(collector, "dark_mode") == 1
        assert post(relay.url, sent)[0] == 503
    said = relay.output.read_text()
    assert str(port) not in said.replace(relay.url, "")
    begun, unavailable = (json.loads(line)["message"] for line in said.splitlines()[:2])
    assert f"{STATE} is a new file" in begun
    assert "yet" in unavailable


def test_a_relay_whose_key_is_not_known_does_not_start(collector: RunningCollector, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch, contextlib.ExitStack() as stack:
        patch.setattr("tests.support.services.relaying.RELAY_KEY", "another-key-of-the-tests")
        with pytest.raises(RuntimeError, match=r"does not know the key \(status 401\)") as caught:
            stack.enter_context(running_relay(collector.url, tmp_path))
    assert "another-key-of-the-tests" not in str(caught.value)


def stops_told_by(relay: RunningRelay) -> str | None:
    """Return the stops that a relay tells a device."""
    answer = requests.post(f"{relay.url}/v1/reports", json={}, timeout=30)
    return answer.headers.get("Hearsay-Stopped")


@pytest.mark.long
def test_a_relay_hands_out_the_stops_of_its_file_when_parts_are_killed_and_none_of_its_collectors_answers(
    tmp_path: Path,
) -> None:
    registry, listed, kept = tmp_path / "metrics.toml", "os:0123456789ab", "dark_mode:ba9876543210"
    registry.write_text(f'stopped = ["{listed}"]\n{REGISTRY_TEXT}', encoding="utf-8")
    state = tmp_path / STATE
    with collector_with_key(registry, tmp_path) as collector:
        with running_relay(collector.url, tmp_path, "--gather", "0.1") as relay:
            assert post(relay.url, upload(report(window=today())))[0] == 200
            assert stops_told_by(relay) is None
        state.write_bytes(Stops((("dark_mode", "ba9876543210"),)).encode())
        with running_relay(collector.url, tmp_path, "--gather", "0.1") as relay:
            assert post(relay.url, upload(report(window=today())))[0] == 200
            assert stops_told_by(relay) == kept
            worker = relay.worker_pid()
            kill(worker)
            wait_until(lambda: answers_again(relay, worker), what="another process to mix")
            assert stops_told_by(relay) == kept
        state.write_bytes(state.read_bytes()[:-9])
        with (
            pytest.raises(RuntimeError, match=rf"{STATE} is damaged: restore a copy of the file"),
            running_relay(collector.url, tmp_path),
        ):
            pass


def answers_again(relay: RunningRelay, dead: int) -> bool:
    """Whether a relay answers without the process that was killed."""
    try:
        return relay.worker_pid() != dead and stops_told_by(relay) is not None
    except (StopIteration, requests.ConnectionError):
        return False
