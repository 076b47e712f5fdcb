"""A collector that wants to know devices of a relay again by what they no longer send.

Real devices report through the relay's own code, one device a batch, as in quiet hours. The
collector answers every batch and every reading of its registry as it likes.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from client_sdk import Recorded, Telemetry
from client_sdk.protocol import Upload, Verdict
from client_sdk.protocol.wire.verdict import encode_stopped
from client_sdk.sending.responses import Reply
from collector.api.batch import UploadVerdict, decode_batch, encode_answers
from collector.relay.app import RelayApp, Room
from collector.relay.forward import Forwarder
from collector.relay.mixer import Mixer
from collector.relay.stops import StopsFile, StopsReader
from tests.support.devices.clients import DAY_S, NOON, ScriptedTransport, SetClock, ask, rows, telemetry
from tests.unit.collector.relay import test_app as relaying

DEVICES = 4
NAMES = [f"m{number}" for number in range(DEVICES)]
REGISTRY = ask("".join(f'[metric.{name}]\nkind = "boolean"\n' for name in (*NAMES, "other")))

Lists = Callable[[int, int], list[str]]
"""The questions that a collector lists, by the day and by how often it has been read before."""


class HostileCollector(HTTPServer):
    """Names another question as stopped in each answer, and lists stops as a test says."""

    def __init__(self, lists: Lists) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.day = self.batches = self.readings = 0
        self.lists = lists
        self.batch_sizes: set[int] = set()

    def header(self) -> str:
        """Return the mark of the next batch."""
        name = NAMES[self.batches % DEVICES]
        self.batches += 1
        return encode_stopped([(name, REGISTRY.metric(name).edition)])

    def document(self) -> bytes:
        """Return the registry for the next reading, by which every question ended long ago."""
        names = self.lists(self.day, self.readings)
        self.readings += 1
        metrics = [
            {"metric": name, "editions": [metric.edition], "expires": "1999-12-31"}
            for name, metric in REGISTRY.metrics.items()
        ]
        stopped = [f"{name}:{REGISTRY.metric(name).edition}" for name in names]
        return json.dumps({"metrics": metrics, "stopped": stopped}).encode()


class _Handler(BaseHTTPRequestHandler):
    server: HostileCollector

    def do_GET(self) -> None:
        self._answer(self.server.document())

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        uploads = [line for line in decode_batch(body) if isinstance(line, Upload)]
        self.server.batch_sizes.add(len(uploads))
        self._answer(encode_answers([UploadVerdict(sent.id, Verdict(len(sent.reports))) for sent in uploads]))

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Hearsay-Stopped", self.server.header())
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def hostile_collector(lists: Lists) -> Iterator[HostileCollector]:
    with HostileCollector(lists) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class Deployment:
    """A relay, its collector, and devices."""

    def __init__(self, collector: HostileCollector, folder: Path, stack: contextlib.ExitStack) -> None:
        self.collector = collector
        self.folder = folder
        self.clock = SetClock()
        self.restart()
        self.devices = [self._device(number, stack) for number in range(DEVICES)]

    def restart(self) -> None:
        """Start the relay, or start it again."""
        forwarder = Forwarder(f"http://127.0.0.1:{self.collector.server_port}", "key-of-the-tests")
        file = StopsFile(self.folder / "relay.json")
        self.reader = StopsReader(file, forwarder.get_registry, clock=self.clock, uniform=lambda low, _: low)
        mixer = Mixer(
            forwarder.post, gather_s=0.001, uniform=lambda low, _: low, permute=lambda number: list(range(number))
        )
        self.relay = RelayApp(mixer, Room(10), stopped=lambda: self.reader.handed_out)

    def pass_day(self, *, reports: set[int]) -> None:
        """Let some devices report within a day, with a reading before each and after the last."""
        self.clock.now_s = NOON + self.collector.day * DAY_S
        for number, (device, clock) in enumerate(self.devices):
            self.reader.read()
            self.clock.now_s += DAY_S / DEVICES
            if number in reports:
                clock.now_s = NOON + self.collector.day * DAY_S
                for name in (*NAMES, "other"):
                    assert device.record(name, value=True) in (Recorded.QUEUED, Recorded.STOPPED)
                device.flush(timeout_s=60)
        self.reader.read()
        self.collector.day += 1

    def stops(self) -> list[list[str]]:
        """Return what each device knows to be stopped."""
        query = "SELECT metric FROM editions WHERE stopped = 1 ORDER BY metric"
        return [[name for (name,) in rows(self.folder / f"device{number}", query)] for number in range(DEVICES)]

    def _device(self, number: int, stack: contextlib.ExitStack) -> tuple[Telemetry, SetClock]:
        folder, clock = self.folder / f"device{number}", SetClock()
        transport = ScriptedTransport(self._through_the_relay)
        return stack.enter_context(telemetry(folder, registry=REGISTRY, clock=clock, transport=transport)), clock

    def _through_the_relay(self, upload: Upload) -> Reply:
        answer = relaying.answer_of(self.relay, upload.encode())
        return Reply(answer.status, None, answer.body, answer.headers.get("hearsay-stopped"))


EVERYBODY = set(range(DEVICES))

LISTS: dict[str, tuple[Lists, list[str]]] = {
    "nothing": (lambda _day, _reading: [], []),
    "another question each day": (lambda day, _: [NAMES[day % DEVICES]], NAMES),
    "another question twice a day": (lambda _, reading: [NAMES[reading // 3 % DEVICES]], []),
    "another question at each reading": (lambda _, reading: [NAMES[reading % DEVICES]], []),
    "one for two days, and then none": (lambda day, _: ["m2"] if day < 2 else [], ["m2"]),
    "one that comes, goes and comes": (lambda day, _: [] if day == 2 else ["m1"], ["m1"]),
    "more each day": (lambda day, _: NAMES[: day + 1], NAMES),
}


@pytest.mark.slow
@pytest.mark.parametrize("lists", LISTS)
def test_whatever_a_collector_answers_to_which_batch_and_lists_when_devices_of_a_relay_stay_alike(
    lists: str, tmp_path: Path
) -> None:
    listing, stopped = LISTS[lists]
    with contextlib.ExitStack() as stack:
        collector = stack.enter_context(hostile_collector(listing))
        deployed = Deployment(collector, tmp_path, stack)
        for day in range(6):
            # other devices each day, so that some miss every list that is withdrawn
            deployed.pass_day(reports={day % DEVICES, (day + 1) % DEVICES})
            deployed.restart()
        assert collector.batch_sizes == {1}
        deployed.pass_day(reports=EVERYBODY)
        assert deployed.stops() == [stopped] * DEVICES
