"""The oracle of partition tests: every upload, every acknowledgement, every tally that was read.

Each upload contains one report; no two report the same symbol of the same metric and window. So a
tally shows how often each upload is counted. Some senders give up if there is no acknowledgement,
like devices that are switched off: their uploads may count once or not at all, but what a reader
has seen of them must stay.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import threading
import time
import urllib.error
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from client_sdk.protocol import Registry, Report, Upload, Window, WindowKind
from collector.errors import StoreUnavailableError
from tests.support.services.collecting import upload
from tests.support.services.processes import wait_until
from tests.support.services.wire import post, tallies

METRICS, SYMBOLS, DAYS = 5, 600, 3

REGISTRY_TEXT = """
schema = 1
[app]
name = "acme-notes"
[budget]
per_window = 99
lifetime = 999
""" + "".join(
    f"""
[metric.m{number}]
purpose = "Which upload is it?"
kind = "category"
values = [{", ".join(f'"v{symbol}"' for symbol in range(SYMBOLS))}]
epsilon = 9
"""
    for number in range(METRICS)
)

REGISTRY = Registry.parse(REGISTRY_TEXT)

DELIVERY_DEADLINE_S = 60.0
POST_TIMEOUT_S = 8.0
"""Longer than a collector waits for the store, so that no answer is missed."""

PAUSE_S = 0.02
"""A sender's pause between two uploads."""

READ_INTERVAL_S = 0.25


class Cell(NamedTuple):
    """The cell that exactly one upload reports."""

    metric: str
    window: str
    symbol: int


class Acknowledgement(NamedTuple):
    """The acknowledgement of an upload.

    Attributes:
        collector: the URL of the collector that gave it.
        asked_s: when it was last requested, by the monotonic clock: the upload was not counted
            before.

    """

    collector: str
    asked_s: float


class Look(NamedTuple):
    """The first reading of a tally that is final.

    Attributes:
        collector: the URL of the collector that answered.
        counts: its counts.

    """

    collector: str
    counts: dict[Cell, int]


class Account:
    """Sends uploads from several threads to several collectors, reads their tallies, and knows what
    must be counted.

    Attributes:
        acknowledged: the cells of uploads that were acknowledged as counted.
        abandoned: the cells of uploads whose fate no sender knows.
        refused: the cells of uploads that came after their window was closed.
        statuses: the number of answers with each status.
        reads: the number of answers with tallies.
        closed: the windows that a collector reported as closed.

    """

    def __init__(self, collectors: list[str], senders_each: int, seed: int) -> None:
        """Begin to send and to read.

        Args:
            collectors: their URLs.
            senders_each: the number of threads that send to each of them.
            seed: decides who gives up when.

        """
        today = int(time.time()) // 86_400
        self.windows = [Window.at(WindowKind.DAY, (today - day) * 86_400).text for day in range(DAYS)]
        self.acknowledged: dict[Cell, Acknowledgement] = {}
        self.abandoned: set[Cell] = set()
        self.refused: set[Cell] = set()
        self.statuses: Counter[int] = Counter()
        self.reads: Counter[str] = Counter()
        self.closed: list[str] = []
        self._most_read: Counter[Cell] = Counter()
        self._closed_read: dict[tuple[str, str], Look] = {}
        self._cells = (
            Cell(f"m{number}", window, symbol)
            for symbol, number, window in itertools.product(range(SYMBOLS), range(METRICS), self.windows)
        )
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._errors: list[BaseException] = []
        coins = random.Random(seed)  # noqa: S311 who gives up, no secrets
        self._threads = [
            threading.Thread(target=self._kept, args=(self._send, url, random.Random(coins.random())))  # noqa: S311
            for url in collectors
            for _ in range(senders_each)
        ] + [threading.Thread(target=self._kept, args=(self._read, url)) for url in collectors]
        for thread in self._threads:
            thread.start()

    def wait_for_more(self, uploads: int) -> None:
        """Wait until this many more uploads are acknowledged."""
        enough = len(self.acknowledged) + uploads
        wait_until(lambda: bool(self._errors) or len(self.acknowledged) >= enough, what="some load")
        self._require_no_errors()

    def wait_for_answers(self, answers: int) -> None:
        """Wait until this many more answers of any kind came."""
        enough = self.statuses.total() + answers
        wait_until(lambda: bool(self._errors) or self.statuses.total() >= enough, what="answers")
        self._require_no_errors()

    def close(self, number: int, close: Callable[[Window], None]) -> None:
        """Close a window from a thread on this thread's host, which retries until it succeeds."""
        window = Window.parse(self.windows[number])
        thread = threading.Thread(target=self._kept, args=(self._close, window, close))
        self._threads.append(thread)
        thread.start()

    def end(self) -> None:
        """Begin no further upload, and wait until the present ones are acknowledged or given up."""
        self._over.set()
        for thread in self._threads:
            thread.join(DELIVERY_DEADLINE_S)
        assert not any(thread.is_alive() for thread in self._threads)
        self._require_no_errors()

    def lost(self, counts: Counter[Cell], collector: str) -> dict[Cell, float]:
        """Return uploads that were acknowledged but not counted, and when they were requested."""
        return {
            cell: given.asked_s
            for cell, given in self.acknowledged.items()
            if given.collector == collector and not counts[cell]
        }

    def twice(self, counts: Counter[Cell]) -> list[Cell]:
        """Return the uploads that are counted twice, or counted without an acknowledgement."""
        own = self.acknowledged.keys() | self.abandoned
        return [cell for cell, count in counts.items() if count > 1 or (count and cell not in own)]

    def shrunk(self, counts: Counter[Cell]) -> list[Cell]:
        """Return the cells whose read counts exceed the final ones."""
        return [cell for cell, count in self._most_read.items() if count > counts[cell]]

    def changed(self, counts: Counter[Cell]) -> list[Cell]:
        """Return the changes of tallies that were read as final."""
        return [
            cell
            for (metric, window), (_, read) in self._closed_read.items()
            for cell in (Cell(metric, window, symbol) for symbol in range(SYMBOLS))
            if read.get(cell, 0) != counts[cell]
        ]

    def _kept(self, work: Any, *arguments: Any) -> None:
        try:
            work(*arguments)
        except BaseException as error:  # noqa: BLE001 it ends the test, in the test's own thread
            self._errors.append(error)

    def _require_no_errors(self) -> None:
        if self._errors:
            raise self._errors[0]

    def _send(self, url: str, coins: random.Random) -> None:
        while not self._over.is_set():
            with self._lock:
                cell = next(self._cells, None)
            assert cell is not None, "there are more uploads than cells"
            report = Report(cell.metric, REGISTRY.metric(cell.metric).edition, cell.window, cell.symbol)
            self._deliver(url, upload(report), cell, gives_up=coins.random() < 0.5)
            self._over.wait(PAUSE_S)

    def _deliver(self, url: str, sent: Upload, cell: Cell, *, gives_up: bool) -> None:
        deadline = time.monotonic() + DELIVERY_DEADLINE_S
        while time.monotonic() < deadline:
            asked_s = time.monotonic()
            status, document = post(url, sent, POST_TIMEOUT_S)
            with self._lock:
                self.statuses[status] += 1
                if status == 200:
                    self._take(cell, document, Acknowledgement(url, asked_s))
                    return
                assert status in (0, 503), document
                if gives_up:
                    self.abandoned.add(cell)
                    return
            self._over.wait(0.05)  # a device waits, too, though longer
        raise TimeoutError("an upload was never acknowledged")

    def _close(self, window: Window, close: Callable[[Window], None]) -> None:
        while not self._over.is_set():
            with contextlib.suppress(StoreUnavailableError):
                close(window)
                self.closed.append(window.text)
                return
            self._over.wait(0.05)

    def _take(self, cell: Cell, document: Any, acknowledgement: Acknowledgement) -> None:
        if document["accepted"]:
            self.acknowledged[cell] = acknowledgement
        else:
            assert document["refused"] == [{"index": 0, "code": "window_closed"}], document
            self.refused.add(cell)

    def _read(self, url: str) -> None:
        while not self._over.wait(READ_INTERVAL_S):
            with contextlib.suppress(urllib.error.HTTPError, OSError):
                self._note(tallies(url, "?preliminary=1"), url)

    def _note(self, lines: Iterable[dict[str, Any]], url: str) -> None:
        with self._lock:
            self.reads[url] += 1
            for line in lines:
                counts = dict(cells_of(line))
                for cell, count in counts.items():
                    self._most_read[cell] = max(self._most_read[cell], count)
                if line["closed"]:
                    first = self._closed_read.setdefault((line["metric"], line["window"]), Look(url, counts))
                    assert first.counts == counts, (
                        f"a closed tally changed between two looks: {first.collector} and {url} tell of other "
                        f"{sorted(first.counts.keys() ^ counts.keys())}"
                    )


def cells_of(line: dict[str, Any]) -> Iterator[tuple[Cell, int]]:
    """Yield the cells that a tally counts."""
    symbols = line.get("symbols", range(len(line["counts"])))
    for symbol, count in zip(symbols, line["counts"], strict=True):
        if count:
            yield Cell(line["metric"], line["window"], symbol), count
