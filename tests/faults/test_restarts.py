"""Collectors that end and are replaced under load, and stores that are new, or are not the expected
ones.
"""

from __future__ import annotations

import contextlib
import itertools
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import redis

from client_sdk.protocol import Upload
from collector.embedded.store import EmbeddedStore
from collector.store.redis_store import RedisStore
from collector.store.shards import CLUSTER_SHARDS
from tests.support.services.cluster import Cluster
from tests.support.services.delivering import Load
from tests.support.services.line import running_line
from tests.support.services.processes import free_port, running_collector, wait_until
from tests.support.services.wire import post, tallies

SENDERS = 8
MOST_UPLOADS_EACH = 100_000
UPLOADS_BETWEEN = 30

REFUSAL = "maintenance is suspended: the store is not the one that this collector started with"


class Either:
    """Sends each upload to one of several collectors in turn, and each retry to another."""

    def __init__(self, *urls: str) -> None:
        self._turns = itertools.cycle(urls)

    def post(self, _: str, sent: Upload) -> tuple[int, Any]:
        return post(next(self._turns), sent)


def counted(url: str) -> int:
    return sum(sum(tally["counts"]) for tally in tallies(url, "?preliminary=1"))


@pytest.mark.long
def test_a_collector_that_is_stopped_under_load_finishes_what_it_acknowledged_and_its_heir_counts_the_rest(
    registry_file: Path, tmp_path: Path
) -> None:
    port = free_port()
    with running_collector(registry_file, tmp_path / "data", "--workers", "2", port=port) as first:
        load = Load(first.url, SENDERS, MOST_UPLOADS_EACH)
        load.wait_for(UPLOADS_BETWEEN)
        assert first.stop() == 0
        assert "Traceback" not in first.output.read_text()
    with running_collector(registry_file, tmp_path / "data", "--workers", "2", port=port) as second:
        load.wait_for(load.acknowledged + UPLOADS_BETWEEN)
        load.end()
        assert counted(second.url) == load.acknowledged


@pytest.mark.long
def test_two_collectors_begin_at_once_on_a_new_store_and_are_restarted_in_turn_under_load(
    registry_file: Path, tmp_path: Path
) -> None:
    ports = (free_port(), free_port())
    with contextlib.ExitStack() as parts:
        store = parts.enter_context(EmbeddedStore(tmp_path / "store"))

        def started(port: int) -> contextlib.ExitStack:
            own = contextlib.ExitStack()
            folder = tmp_path / f"unused-{port}"
            own.enter_context(running_collector(registry_file, folder, "--redis", store.url, port=port))
            return parts.enter_context(own)

        with ThreadPoolExecutor() as starting:
            running = list(starting.map(started, ports))
        urls = [f"http://127.0.0.1:{port}" for port in ports]
        load = Load("", SENDERS, MOST_UPLOADS_EACH, Either(*urls).post)
        for port, collector in zip(ports, running, strict=True):
            load.wait_for(load.acknowledged + UPLOADS_BETWEEN)
            collector.close()
            load.wait_for(load.acknowledged + UPLOADS_BETWEEN)
            started(port)
        load.end()
        assert counted(urls[0]) == counted(urls[1]) == load.acknowledged


def test_as_many_stores_as_begin_at_once_agree_on_one_layout(cluster: Cluster) -> None:
    cluster.wait_until_healthy()
    cluster.empty()

    def layout(_: int) -> Any:
        store = RedisStore(cluster.url, is_cluster=True)
        store.prepare()
        store.disconnect()
        return store.layout

    with ThreadPoolExecutor() as starting:
        layouts = {(each.shards, each.name) for each in starting.map(layout, range(8))}
    assert [shards for shards, _ in layouts] == [CLUSTER_SHARDS]


@pytest.mark.long
def test_a_store_in_the_place_of_another_takes_no_upload_until_the_first_is_back(
    registry_file: Path, tmp_path: Path
) -> None:
    with contextlib.ExitStack() as parts:
        first, other = (
            parts.enter_context(EmbeddedStore(tmp_path / name)).url.removeprefix("unix://")
            for name in ("first", "empty")
        )
        line = parts.enter_context(running_line(first))
        options = ("--redis", f"redis://127.0.0.1:{line.port}", "--workers", "2")
        collector = parts.enter_context(running_collector(registry_file, tmp_path / "unused", *options))
        load = Load(collector.url, SENDERS, MOST_UPLOADS_EACH)
        load.wait_for(UPLOADS_BETWEEN)
        line.lead_to(other)
        wait_until(lambda: load.statuses[503] > SENDERS, what="refusals")
        wait_until(lambda: REFUSAL in collector.output.read_text(), what="word of it")
        with redis.Redis(unix_socket_path=other) as server:
            assert server.dbsize() == 0
        line.lead_to(first)
        load.wait_for(load.acknowledged + UPLOADS_BETWEEN)
        load.end()
        assert counted(collector.url) == load.acknowledged
