"""A device in simulated time: a real uploader and ledger, and days that pass at once."""

from __future__ import annotations

import contextlib
import itertools
import math
import random
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple
from unittest import mock

from client_sdk import HistoryEntry
from client_sdk.answers.schedule import Schedule
from client_sdk.answers.system_coins import SystemCoins
from client_sdk.ledger import queue, status
from client_sdk.ledger.file import open_memory
from client_sdk.ledger.thread import READ, LedgerThread
from client_sdk.protocol import Report, Upload
from client_sdk.protocol.wire.failure import Failure
from client_sdk.protocol.wire.reading import read_upload
from client_sdk.sending import timing, uploader
from client_sdk.sending.responses import Reply
from client_sdk.sending.uploader import Uploader
from tests.support.devices.clients import NOON, Answer, many

LONG_S = 60.0


class Request(NamedTuple):
    """An attempt to deliver an upload.

    Attributes:
        at_s: its instant.
        body: its bytes.
        upload: the decoded body.
        apart_s: how far the device keeps a retry from the request before it.
        process: which process of the device sent it, from 0.

    """

    at_s: float
    body: bytes
    upload: Upload
    apart_s: float
    process: int


class SimulatedDevice:
    """An uploader that runs in the test's thread.

    Attributes:
        now_s: the present instant, in Unix seconds.
        requests: what was sent.
        during_exchange: called while the uploader waits for an answer.

    """

    def __init__(self, answers: Sequence[Answer], seed: int) -> None:
        """Start at noon. Answers follow in turn. Each kind of wait has its own random numbers."""
        self.now_s = NOON
        self.requests: list[Request] = []
        self.during_exchange: Callable[[], None] = lambda: None
        self._answers = itertools.cycle(answers)
        self._processes = -1
        self._seed = seed
        self._streams: dict[float, random.Random] = {}
        self._apart_s = 0.0
        self.ledger_thread = LedgerThread(None, lambda: open_memory("acme"))
        self.start()

    def start(self) -> None:
        """Start another process on the same ledger."""
        self._processes += 1
        self._uploader = Uploader(
            self.ledger_thread,
            self,
            Schedule(many(1), SystemCoins()),
            clock=lambda: self.now_s,
            uniform=self._uniform,
        )
        self._uploader._thread = threading.current_thread()
        self._uploader.start()

    def record(self, report: Report) -> None:
        """Queue a report."""
        departure = self._uploader.departure(self.now_s)
        self.ledger_thread.run(partial(queue.enqueue, report=report, leaves_s=departure.leaves_s), LONG_S)
        self._uploader.notify(departure)

    def flush(self) -> None:
        """Request a flush, without waiting."""
        self._uploader.flush(0.0)

    def run_until(self, end_s: float) -> None:
        """Let time pass."""
        while (next_s := self._next_s()) <= end_s:
            self.now_s = max(self.now_s, next_s)
            self._uploader._attempt()
        self.now_s = end_s

    def skip_until(self, end_s: float) -> None:
        """Let time pass while no process runs."""
        self.now_s = end_s
        self.start()

    def post(self, body: bytes) -> Reply | Failure | None:
        """Answer an attempt."""
        upload = read_upload(body)
        self.requests.append(Request(self.now_s, body, upload, self._apart_s, self._processes))
        self.during_exchange()
        return next(self._answers)(upload)

    def history(self) -> list[HistoryEntry]:
        """Return the reports that were sent."""
        return self.ledger_thread.run(status.history, LONG_S, begin=READ)

    def dropped(self) -> dict[str, int]:
        """Return the reports that were dropped."""
        return self.ledger_thread.run(status.dropped, LONG_S, begin=READ)

    def unsettled(self) -> list[Report]:
        """Return the reports that wait."""

        def work(connection: sqlite3.Connection) -> list[Report]:
            queued = [Report(*row) for row in connection.execute("SELECT metric, edition, window, symbol FROM queue")]
            uploads = [read_upload(body) for (body,) in connection.execute("SELECT body FROM uploads")]
            return queued + [report for upload in uploads for report in upload.reports]

        return self.ledger_thread.run(work, LONG_S, begin=READ)

    def leaving(self) -> list[float]:
        """Return the instants of the reports in the queue."""
        query = "SELECT leaves FROM queue"
        return self.ledger_thread.run(lambda c: [row[0] for row in c.execute(query)], LONG_S, begin=READ)

    def _next_s(self) -> float:
        due_s, next_s = self._uploader._departures.news_s, self._uploader._departures.next_s
        return next_s if due_s is None else min(next_s, due_s)

    def _uniform(self, low: float, high: float) -> float:
        kind = high if high in (queue.SPREAD_S, timing.APART_S) else math.inf
        stream = self._streams.setdefault(kind, random.Random(f"{self._seed} {kind}"))  # noqa: S311 a simulation, not a device
        wait_s = stream.uniform(low, high)
        if high == timing.APART_S:
            self._apart_s = wait_s
        return wait_s


@contextlib.contextmanager
def simulated(answers: Sequence[Answer], seed: int) -> Iterator[SimulatedDevice]:
    """Run a device whose monotonic clock is the simulated one, within the context."""
    device: list[SimulatedDevice] = []
    clock = mock.Mock(monotonic=lambda: device[0].now_s if device else NOON)
    with mock.patch.object(uploader, "time", clock):
        device.append(SimulatedDevice(answers, seed))
        try:
            yield device[0]
        finally:
            device[0].ledger_thread.close(LONG_S)


def of_new_reports(requests: Sequence[Request]) -> list[tuple[float, frozenset[Report]]]:
    """Return which reports were sent for the first time, and when."""
    seen, sent = set[Report](), []
    for request in requests:
        if not seen & set(request.upload.reports):
            sent.append((request.at_s, frozenset(request.upload.reports)))
        seen.update(request.upload.reports)
    return sent
