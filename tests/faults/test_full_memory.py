"""A store whose memory is full: no upload is counted, nothing is lost, and everything else
continues.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import redis

from client_sdk.protocol import Window, WindowKind
from collector.app import FULL_RETRY_AFTER_S
from collector.config import LEAST_STORE_BYTES
from collector.embedded.directory import running_store_url
from collector.embedded.store import EmbeddedStore
from collector.errors import StoreFullError
from collector.redis_servers.memory import FULL
from collector.retention import RedisRetirement, before
from collector.store import keys
from collector.store.redis_store import RedisStore, agree_on_settings
from tests.support.services.cluster import Cluster
from tests.support.services.collecting import NOON, TODAY, judged, of_shard, report, upload
from tests.support.services.delivering import Load
from tests.support.services.processes import free_port, run_command, running_collector, wait_until
from tests.support.services.wire import ANSWER_TIMEOUT_S, post, tallies

SENDERS = 4
UPLOADS_BETWEEN = 200

YEARS_AHEAD = Window.parse("2100-01-01")


def answer_of(url: str) -> tuple[int, str | None, str]:
    """Return the status, the Retry-After header and the body."""
    try:
        with urllib.request.urlopen(url, timeout=ANSWER_TIMEOUT_S) as answer:  # noqa: S310 a test's own collector
            return answer.status, answer.headers["Retry-After"], answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers["Retry-After"], error.read().decode()


def sum_of(lines: list[dict[str, Any]]) -> int:
    return sum(sum(line["counts"]) for line in lines)


@pytest.mark.long
def test_a_collector_whose_store_is_full_keeps_what_it_acknowledged_says_so_and_counts_on_when_there_is_room(
    registry_file: Path, tmp_path: Path
) -> None:
    metrics, data = free_port(), tmp_path / "data"
    options = ("--store-memory", "16M", "--metrics-bind", f"127.0.0.1:{metrics}", "--snapshot-interval", "1")
    with contextlib.ExitStack() as running:
        collector = running.enter_context(running_collector(registry_file, data, *options))
        server = running.enter_context(redis.Redis.from_url(running_store_url(data)))
        load = Load(collector.url, SENDERS, 100_000)
        load.wait_for(UPLOADS_BETWEEN)
        assert server.info("memory")["maxmemory"] == LEAST_STORE_BYTES
        # what a hundred thousand uploads would leave
        server.setrange(keys.of_shard(0, "ballast"), LEAST_STORE_BYTES - 1, b"x")
        wait_until(lambda: load.statuses[503] >= 10 * SENDERS, what="refusals")
        kept = load.acknowledged
        status, document = post(collector.url, upload(report(window=Window.at(WindowKind.DAY, time.time()).text)))
        assert (status, document["code"]) == (503, "store_full")
        status, retry_after, body = answer_of(f"{collector.url}/readyz")
        assert (status, json.loads(body)["code"]) == (503, "store_full")
        assert retry_after == str(FULL_RETRY_AFTER_S)
        assert answer_of(f"{collector.url}/healthz")[0] == 200
        # the look that the metrics share may be a second old
        wait_until(lambda: sum_of(tallies(collector.url, "?preliminary=1")) == kept, what="a new look")

        wait_until(lambda: "the store is nearly full" in collector.output.read_text(), what="a warning")
        wait_until(lambda: part_in_use(metrics) >= FULL, what="the ratio among the metrics")

        server.delete(keys.of_shard(0, "ballast"))
        load.wait_for(kept + UPLOADS_BETWEEN)
        load.end()
        wait_until(lambda: "has free memory again" in collector.output.read_text(), what="word of it")
        assert answer_of(f"{collector.url}/readyz")[0] == 200
        assert load.statuses[0] == 0

        server.config_set("maxmemory", 1)
        window = Window.at(WindowKind.DAY, time.time()).text
        command = (
            sys.executable,
            "-m",
            "collector",
            "store",
            "close",
            "--yes",
            "--window",
            window,
            "--data-dir",
            str(data),
        )
        assert run_command(command).returncode == 0
        assert sum_of(tallies(collector.url)) == load.acknowledged


def part_in_use(metrics_port: int) -> float:
    """Return the part of the store's memory that is used, as the metrics show it."""
    exposed = answer_of(f"http://127.0.0.1:{metrics_port}/metrics")[2].splitlines()
    (part,) = (line.split()[1] for line in exposed if line.startswith("hearsay_store_memory_used_ratio "))
    return float(part)


@pytest.fixture
def full(tmp_path: Path) -> Any:
    """A store with an upload, started again with less memory than it needs."""
    with EmbeddedStore(tmp_path / "data") as embedded:
        store = RedisStore(embedded.url)
        store.prepare()
        agree_on_settings(store, 7, copies=0)
        store.count(judged(upload(report(), report("plan", 1, "2026-W47"))))
        store.disconnect()
    with EmbeddedStore(tmp_path / "data", memory_bytes=1) as embedded:
        store = RedisStore(embedded.url)
        yield store
        store.disconnect()


def test_a_store_that_is_full_can_be_started_on_read_closed_and_emptied_of_what_is_old(full: RedisStore) -> None:
    full.prepare()
    agree_on_settings(full, 5, copies=0)
    with pytest.raises(StoreFullError):
        full.count(judged(upload()))
    assert [type(outcome) for outcome in full.count_all([judged(upload())] * 2)] == [StoreFullError] * 2
    with pytest.raises(StoreFullError):
        full.require_writable()
    assert full.count(judged(upload(report("os", 9)))).verdict.accepted == 0
    assert [tally.counts for tally in full.open_snapshot(60, frozenset(), NOON)] == [(0, 1), (0, 1)]
    full.close(Window.parse(TODAY))
    assert [tally.counts for tally in full.closed_tallies(full.closed_windows())] == [(0, 1)]
    retirement = RedisRetirement(full)
    retirement.retire(before(retirement, YEARS_AHEAD))
    assert [window for _, _, window in retirement.tally_names()] == ["2026-W47"]


def test_a_node_of_a_cluster_that_is_full_stops_the_uploads_of_its_slots_alone(cluster: Cluster) -> None:
    cluster.wait_until_healthy()
    cluster.empty()
    store = RedisStore(cluster.url, is_cluster=True)
    store.prepare()
    holder = cluster.holder_of_shard(7)
    holder.client.config_set("maxmemory", 1)
    try:
        on_it = [cluster.holder_of_shard(shard) is holder for shard in range(store.layout.shards)]
        outcomes = store.count_all([judged(of_shard(shard)) for shard in range(store.layout.shards)])
        assert [isinstance(outcome, StoreFullError) for outcome in outcomes] == on_it
        store.require_writable()
        store.close(Window.parse(TODAY))
        assert sum(sum(tally.counts) for tally in store.closed_tallies(store.closed_windows())) == on_it.count(False)
    finally:
        holder.client.config_set("maxmemory", 0)
        store.disconnect()
