"""Stores that lose their content under load: all of it, or that of one master of a cluster and its
replica.
"""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest
import redis

from client_sdk.protocol import Upload, Window, WindowKind
from collector.embedded.store import EmbeddedStore
from collector.store import keys
from collector.store.facts import numbered
from collector.store.shards import CLUSTER_SHARDS
from tests.support.services.cluster import Cluster
from tests.support.services.collecting import of_shard
from tests.support.services.delivering import Load
from tests.support.services.processes import RunningCollector, free_port, run_command, running_collector, wait_until
from tests.support.services.wire import post, tallies

SENDERS = 8
MOST_UPLOADS_EACH = 100_000
UPLOADS_BETWEEN = 30

REFUSALS_EACH = 20
"""After this many 503s for each sender, no sender still waits for an earlier request."""


class Noting:
    """Posts uploads, and notes which were acknowledged."""

    def __init__(self) -> None:
        self.acknowledged: list[Upload] = []
        self._lock = threading.Lock()

    def post(self, url: str, sent: Upload) -> tuple[int, Any]:
        status, document = post(url, sent)
        if status == 200:
            with self._lock:
                self.acknowledged.append(sent)
        return status, document


def counted(collector: RunningCollector) -> int:
    return sum(sum(tally["counts"]) for tally in tallies(collector.url, "?preliminary=1"))


def wait_until_all_are_refused(load: Load) -> None:
    enough = load.statuses[503] + REFUSALS_EACH * SENDERS
    wait_until(lambda: load.statuses[503] >= enough, what="refusals")


@pytest.mark.long
def test_a_store_that_is_emptied_under_load_takes_no_upload_until_the_collector_is_started_again(
    registry_file: Path, tmp_path: Path
) -> None:
    with EmbeddedStore(tmp_path / "store") as store, redis.Redis.from_url(store.url) as server:
        options, port = ("--redis", store.url, "--workers", "2"), free_port()
        with running_collector(registry_file, tmp_path / "unused", *options, port=port) as collector:
            load = Load(collector.url, SENDERS, MOST_UPLOADS_EACH)
            load.wait_for(UPLOADS_BETWEEN)
            server.flushall()
            wait_until_all_are_refused(load)
            lost = load.acknowledged
            # an open connection reports that shard 0 is lost, a new one that the store is another
            wait_until(lambda: "that this collector started with" in collector.output.read_text(), what="word of it")
            with pytest.raises(HTTPError, match="503"):
                tallies(collector.url, "?preliminary=1")
            assert server.keys("{*}:tally:*") == []
            assert load.acknowledged == lost
        with running_collector(registry_file, tmp_path / "unused", *options, port=port) as collector:
            load.wait_for(lost + UPLOADS_BETWEEN)
            load.end()
            assert counted(collector) == load.acknowledged - lost


@pytest.fixture
def healthy(cluster: Cluster) -> Iterator[Cluster]:
    """The shared cluster, emptied, whatever earlier tests did to it."""
    cluster.wait_until_healthy()
    cluster.empty()
    with cluster.failing_over_quickly():
        yield cluster
        cluster.wait_until_healthy()


def come_back_empty(cluster: Cluster, shard: int) -> None:
    """Let the master of a shard and its replica lose their files at the same time."""
    master = cluster.holder_of_shard(shard)
    both = [*cluster.replicas_of(master), master]
    for node in both:
        node.kill()
    for node in reversed(both):
        shutil.rmtree(node.folder / "appendonlydir")
        node.start()
    cluster.wait_until_healthy()


@pytest.mark.long
def test_a_master_and_its_replica_that_come_back_empty_under_load_count_nothing_until_the_loss_is_accepted(
    healthy: Cluster, registry_file: Path, tmp_path: Path, round_number: int
) -> None:
    shard = round_number % CLUSTER_SHARDS
    window, options = Window.at(WindowKind.DAY, time.time()).text, ("--redis", healthy.url, "--cluster")
    with running_collector(registry_file, tmp_path / "unused", *options) as collector:
        noting = Noting()
        load = Load(collector.url, SENDERS, MOST_UPLOADS_EACH, noting.post)
        load.wait_for(UPLOADS_BETWEEN)
        gone = {
            other for other in range(CLUSTER_SHARDS) if healthy.holder_of_shard(other) is healthy.holder_of_shard(shard)
        }
        come_back_empty(healthy, shard)
        # each sender has met a lost shard, and retries until its upload is counted
        wait_until_all_are_refused(load)
        before = list(noting.acknowledged)
        statuses = {other: noting.post(collector.url, of_shard(other, window))[0] for other in range(CLUSTER_SHARDS)}
        assert statuses == {other: 503 if other in gone else 200 for other in range(CLUSTER_SHARDS)}
        with pytest.raises(HTTPError, match="503"):
            tallies(collector.url, "?preliminary=1")
        with (
            pytest.raises(RuntimeError, match=f"has lost .*{numbered(gone)}"),
            running_collector(registry_file, tmp_path / "refused", *options),
        ):
            pass
        accepted = run_command([sys.executable, "-m", "collector", "store", "accept-loss", *options])
        assert (accepted.returncode, numbered(gone) in accepted.stdout) == (0, True), accepted
        load.wait_for(load.acknowledged + UPLOADS_BETWEEN)
        load.end()
        lost = sum(keys.shard_of(sent.id, CLUSTER_SHARDS) in gone for sent in before)
        assert lost > 0
        with running_collector(registry_file, tmp_path / "another", *options) as another:
            assert counted(collector) == counted(another) == len(noting.acknowledged) - lost
