"""Connections that are cut within a message, or hang: between devices and collector, and between
worker and store.
"""

from __future__ import annotations

import contextlib
import json
import urllib.error
from collections.abc import Iterator
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from client_sdk.protocol import Upload
from collector.embedded.store import EmbeddedStore
from collector.store.count_script import COUNT_UPLOAD
from tests.support.services.collecting import report
from tests.support.services.delivering import Load
from tests.support.services.line import Cut, CuttingProxy, Towards, running_line
from tests.support.services.processes import RunningCollector, running_collector, wait_until
from tests.support.services.wire import post, tallies

SENDERS = 8
UPLOADS_EACH = 15
MOST_UPLOADS_EACH = 100_000
CONNECTIONS_CUT = 10

NO_SYMBOL = 4
"""The symbols of the load's metric."""

IMPATIENT_S = 0.3
"""After this time a device gives up an attempt."""

STEPS = range(23)
"""The number of places at which connections to the store are cut, one after the other."""

WITHIN = {Towards.SERVER: (len(COUNT_UPLOAD) - 600, 97), Towards.CLIENT: (1000, 9)}
"""The first place and the distance between places, in bytes.

They range from before a worker is done with its questions to some uploads after that. Nearly all
that a worker sends before is the script.
"""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[str]:
    """The socket of a store that no collector has started."""
    with EmbeddedStore(tmp_path / "store") as embedded:
        yield embedded.url.removeprefix("unix://")


@contextlib.contextmanager
def collecting(registry: Path, to_store: CuttingProxy, *options: str) -> Iterator[RunningCollector]:
    """Run a collector whose store is behind a proxy that cuts connections."""
    unused = registry.parent / "unused"
    url = f"redis://127.0.0.1:{to_store.port}"
    with running_collector(registry, unused, "--redis", url, *options) as collector:
        yield collector


def counted(collector: RunningCollector) -> int:
    """Return the number of counted reports, as soon as any thread reaches the store again."""
    totals: list[int] = []

    def read() -> bool:
        with contextlib.suppress(urllib.error.HTTPError):
            totals.append(sum(sum(tally["counts"]) for tally in tallies(collector.url, "?preliminary=1")))
        return bool(totals)

    wait_until(read, what="the tallies")
    return totals[0]


def address_of(collector: RunningCollector) -> tuple[str, int]:
    return "127.0.0.1", int(collector.url.rpartition(":")[2])


def post_distinguishably(url: str, sent: Upload) -> tuple[int, Any]:
    """Post every other upload with a refused report, so that its answer can be told from all
    others.
    """
    if int(sent.id, 16) % 2:
        return post(url, sent)
    status, document = post(url, Upload(sent.id, (*sent.reports, report("os", NO_SYMBOL))))
    if status == HTTPStatus.OK:
        assert document == {"accepted": 1, "refused": [{"index": 1, "code": "symbol_out_of_range"}]}
        return status, {"accepted": 1, "refused": []}
    return status, document


def post_and_doubt(url: str, sent: Upload) -> tuple[int, Any]:
    """Post as `post` does; an answer that ends within its head counts as none."""
    try:
        return post(url, sent)
    except json.JSONDecodeError:
        return 0, None


@pytest.mark.long
@pytest.mark.parametrize("towards", Towards)
def test_connections_to_the_store_that_are_cut_within_a_message_lose_nothing_and_count_nothing_twice(
    towards: Towards, store: str, registry_file: Path, round_number: int
) -> None:
    with running_line(store) as line, collecting(registry_file, line, "--workers", "2") as collector:
        start, step = WITHIN[towards]
        line.cut_all([Cut(towards, start + step * number + round_number) for number in STEPS])
        load = Load(collector.url, SENDERS, UPLOADS_EACH, post_distinguishably)
        load.wait()
        assert line.cuts >= CONNECTIONS_CUT
        line.cut_none()
        assert counted(collector) == load.uploads


@pytest.mark.long
def test_connections_of_devices_that_are_cut_anywhere_lose_nothing_and_count_nothing_twice(
    registry_file: Path, tmp_path: Path, round_number: int
) -> None:
    with (
        running_collector(registry_file, tmp_path / "data") as collector,
        running_line(address_of(collector)) as line,
    ):
        cuts = [
            *(Cut(Towards.SERVER, size + round_number) for size in (1, 100, 200, 300)),
            *(Cut(Towards.CLIENT, size + round_number) for size in (0, 20, 100, 150)),
        ]
        line.cut_all(place for cut in cuts for place in (cut, None))
        load = Load(f"http://127.0.0.1:{line.port}", SENDERS, UPLOADS_EACH, post_and_doubt)
        load.wait()
        assert line.cuts >= CONNECTIONS_CUT
        assert counted(collector) == load.uploads


@pytest.mark.long
def test_a_store_that_hangs_gets_503_and_its_late_answers_are_discarded(store: str, registry_file: Path) -> None:
    with running_line(store) as line, collecting(registry_file, line) as collector:
        load = Load(collector.url, SENDERS, MOST_UPLOADS_EACH, post_distinguishably)
        load.wait_for(50)
        line.hold()
        wait_until(lambda: load.statuses[503] > 0, what="a 503")
        line.release()
        load.wait_for(load.acknowledged + 50)
        load.end()
        assert counted(collector) == load.acknowledged


@pytest.mark.long
def test_devices_that_give_up_waiting_and_send_again_are_counted_once(registry_file: Path, tmp_path: Path) -> None:
    with (
        running_collector(registry_file, tmp_path / "data") as collector,
        running_line(address_of(collector)) as line,
    ):
        impatient = partial(post, timeout_s=IMPATIENT_S)
        load = Load(f"http://127.0.0.1:{line.port}", SENDERS, MOST_UPLOADS_EACH, impatient)
        load.wait_for(50)
        line.hold()
        wait_until(lambda: load.statuses[0] >= SENDERS, what="devices to give up")
        line.release()
        load.wait_for(load.acknowledged + 50)
        load.end()
        assert counted(collector) == load.acknowledged
