"""What an acknowledgement means on a cluster.

A master is killed, slots move, a node is lost; all under load.
"""

from __future__ import annotations

import contextlib
import socket
import time
import urllib.error
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from client_sdk.protocol import Upload, Verdict, Window, WindowKind
from collector.errors import StoreUnavailableError
from collector.redis_servers import server
from collector.required_settings import ON_DISK, Durability, Promise
from collector.store import keys
from collector.store.redis_store import RedisStore
from collector.store.shards import CLUSTER_SHARDS, Layout
from collector.store.store_protocol import CountedUpload
from tests.support.services.cluster import Cluster, Node, running_cluster
from tests.support.services.collecting import judged, of_shard
from tests.support.services.delivering import Load
from tests.support.services.processes import RunningCollector, running_collector, wait_until
from tests.support.services.wire import post, tallies

SENDERS = 8
UPLOADS_EACH = 60
SHARDS_MOVED = 4

COPIES_WAITS_MS = (4, 8, 16)
"""Of a test that knows that no copy will come."""


@pytest.fixture
def healthy(cluster: Cluster) -> Iterator[Cluster]:
    """The shared cluster, whatever was done to it before, and empty."""
    cluster.wait_until_healthy()
    cluster.empty()
    with cluster.failing_over_quickly():
        yield cluster
        cluster.wait_until_healthy()


@contextlib.contextmanager
def collecting(cluster: Cluster, registry_file: Path, *options: str) -> Iterator[RunningCollector]:
    """Run a collector on a cluster."""
    folder = registry_file.parent / "unused"
    with running_collector(registry_file, folder, "--redis", cluster.url, "--cluster", *options) as collector:
        yield collector


def counted(collector: RunningCollector) -> int:
    return sum(sum(tally["counts"]) for tally in tallies(collector.url, "?preliminary=1"))


@pytest.mark.long
def test_a_master_that_is_killed_loses_nothing_that_was_acknowledged_by_its_replica_too(
    healthy: Cluster, registry_file: Path, round_number: int
) -> None:
    with collecting(healthy, registry_file, "--durability", "replicated") as collector:
        load = Load(collector.url, SENDERS, UPLOADS_EACH)
        load.wait_for(load.uploads // 4)
        slot = healthy.slot_of(round_number % CLUSTER_SHARDS)
        victim = healthy.holder(slot)
        victim.kill()
        wait_until(lambda: healthy.holder(slot) is not victim, what="another master")
        victim.start()
        load.wait()
        assert counted(collector) == load.uploads


def test_a_dead_master_that_asks_for_a_copy_may_take_over_before_it_has_what_is_read(
    healthy: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    replicated = RedisStore(healthy.url, Promise(Durability.REPLICATED, 1), is_cluster=True)
    replicated.prepare()
    replicated.disconnect()
    store = RedisStore(healthy.url, is_cluster=True)
    store.prepare()
    slot = healthy.slot_of(7)
    victim = healthy.holder(slot)
    name = victim.id()
    victim.kill()
    wait_until(lambda: healthy.holder(slot) is not victim, what="another master")
    master = healthy.holder(slot)
    assert store.count(judged(of_shard(7))).verdict == Verdict(1)
    wait_until(partial(reads, store), what="a shard without its dead master")
    monkeypatch.setattr(server, "COPIES_WAITS_MS", COPIES_WAITS_MS)
    with socket.create_connection((master.host, master.port)) as asking:
        asking.sendall(f"REPLCONF listening-port {victim.port}\r\n".encode())
        assert asking.recv(5) == b"+OK\r\n"
        asking.sendall(b"PSYNC ? -1\r\n")
        wait_until(lambda: master.client.info("replication")["connected_slaves"] == 1, what="a replica")
        with pytest.raises(StoreUnavailableError, match=f"not yet on the disks of 1 replica.*{name}"):
            list(store.open_tallies(frozenset()))
    wait_until(partial(reads, store), what="a shard without its dead master")
    store.disconnect()


def reads(store: RedisStore) -> bool:
    """Whether a store lets its tallies be read."""
    with contextlib.suppress(StoreUnavailableError):
        return [tally.counts for tally in store.open_tallies(frozenset())] == [(0, 0, 1, 0)]
    return False


def move_key_by_key(cluster: Cluster, slot: int, source: Node, target: Node) -> None:
    """Move a slot as Redis does it."""
    target.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", source.id())
    source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", target.id())
    while moving := source.ask("CLUSTER", "GETKEYSINSLOT", slot, 1):
        source.ask("MIGRATE", "127.0.0.1", target.port, moving[0], 0, 5000)
    for node in (target, source):
        node.ask("CLUSTER", "SETSLOT", slot, "NODE", target.id())
    assert cluster.holder(slot) is target


def move_at_once(cluster: Cluster, slot: int, source: Node, target: Node) -> None:
    """Move a slot as Valkey 9 does it."""
    source.ask("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", slot, slot, "NODE", target.id())
    wait_until(lambda: cluster.holder(slot) is target, what="the slot to move")


@pytest.mark.long
@pytest.mark.parametrize("move", [move_key_by_key, move_at_once])
def test_slots_that_move_under_load_lose_nothing_and_count_nothing_twice(
    healthy: Cluster, registry_file: Path, move: Callable[[Cluster, int, Node, Node], None]
) -> None:
    with collecting(healthy, registry_file) as collector:
        load = Load(collector.url, SENDERS, UPLOADS_EACH)
        load.wait_for(load.uploads // 4)
        for shard in range(SHARDS_MOVED):
            slot = healthy.slot_of(shard)
            source = healthy.holder(slot)
            target = next(node for node in healthy.nodes if node.is_master() and node is not source)
            move(healthy, slot, source, target)
        load.wait()
        assert counted(collector) == load.uploads


def test_an_upload_whose_slot_moves_waits_and_is_not_taken_for_new(healthy: Cluster) -> None:
    store = RedisStore(healthy.url, is_cluster=True)
    store.prepare()
    sent = [judged(of_shard(7)) for _ in range(200)]  # more than a bucket holds: some ids lie in a deeper one
    store.count_all(sent)
    slot = healthy.slot_of(7)
    source = healthy.holder(slot)
    target = next(node for node in healthy.nodes if node.is_master() and node is not source)
    target.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", source.id())
    source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", target.id())
    names = source.ask("CLUSTER", "GETKEYSINSLOT", slot, 1000)
    deep = max((name for name in names if f":{keys.IDS}:" in name), key=len)
    assert deep[-1] in "01234567"
    for leaving, kept in (([name for name in names if name != deep], [deep]), ([deep], [])):
        for name in leaving:
            source.ask("MIGRATE", "127.0.0.1", target.port, name, 0, 5000)
        assert source.ask("CLUSTER", "GETKEYSINSLOT", slot, 1000) == kept
        assert {type(outcome) for outcome in store.count_all(sent)} == {StoreUnavailableError}
        assert [tally.counts for tally in store.open_tallies(frozenset())] == [(0, 0, 200, 0)]
    for node in (target, source):
        node.ask("CLUSTER", "SETSLOT", slot, "NODE", target.id())
    assert set(store.count_all(sent)) == {CountedUpload(Verdict(1), is_duplicate=True)}
    assert [tally.counts for tally in store.open_tallies(frozenset())] == [(0, 0, 200, 0)]
    store.disconnect()


@pytest.mark.long
def test_a_lost_node_stops_the_uploads_of_its_slots_alone(tmp_path: Path, registry_file: Path) -> None:
    window = Window.at(WindowKind.DAY, time.time()).text
    with running_cluster(tmp_path, replicas=0) as cluster, collecting(cluster, registry_file) as collector:
        sent = {shard: of_shard(shard, window) for shard in range(CLUSTER_SHARDS)}
        lost = cluster.holder_of_shard(0)
        theirs = {shard for shard in sent if cluster.holder_of_shard(shard) is lost}
        assert 0 < len(theirs) < CLUSTER_SHARDS
        lost.kill()
        assert {shard: post(collector.url, body)[0] for shard, body in sent.items()} == {
            shard: 503 if shard in theirs else 200 for shard in sent
        }
        lost.start()
        wait_until(lambda: post(collector.url, sent[0])[0] == 200, what="the node to be back")
        assert counted(collector) == CLUSTER_SHARDS - len(theirs) + 1


@pytest.mark.long
def test_with_two_replicas_of_each_master_any_node_may_be_away_and_nothing_stops(
    tmp_path: Path, registry_file: Path
) -> None:
    window = Window.at(WindowKind.DAY, time.time()).text
    with (
        running_cluster(tmp_path, replicas=2) as cluster,
        cluster.failing_over_quickly(),
        collecting(cluster, registry_file, "--durability", "replicated", "--snapshot-interval", "1") as collector,
    ):
        master = cluster.holder_of_shard(7)
        replica, _ = cluster.replicas_of(master)
        replica_name = replica.id()
        uploads = [of_shard(shard, window) for _ in range(2) for shard in range(CLUSTER_SHARDS)]
        first, second = uploads[:CLUSTER_SHARDS], uploads[CLUSTER_SHARDS:]

        def is_acknowledged(sent: Upload) -> bool:
            return post(collector.url, sent)[0] == 200

        def every_tally() -> int | None:
            with contextlib.suppress(urllib.error.HTTPError):
                return counted(collector)
            return None

        replica.kill()
        assert all(map(is_acknowledged, first))
        wait_until(lambda: every_tally() == len(first), what="tallies without a replica that has failed")
        for promise, why in ((Promise(Durability.REPLICATED, 2), "but --copies requires 2"), (ON_DISK, replica_name)):
            with seen_under(promise, cluster) as store, pytest.raises(StoreUnavailableError, match=why):
                list(store.open_tallies(frozenset()))
        replica.start()
        wait_until(lambda: cluster.replicas_of(master) != [], what="a replica")
        cluster.wait_until_healthy()
        master.kill()
        for sent in second:
            wait_until(partial(is_acknowledged, sent), what="another master")
        wait_until(lambda: every_tally() == len(uploads), what="tallies without a master that has failed")
        with seen_under(Promise(Durability.REPLICATED, 1), cluster) as store:
            wait_until(lambda: is_closing(store, window), what="a window to be closed")


@contextlib.contextmanager
def seen_under(promise: Promise, cluster: Cluster) -> Iterator[RedisStore]:
    """Yield the store as it is seen by a promise, while nodes may be away."""
    nodes = tuple((node.host, node.port) for node in cluster.nodes if node.process is not None)
    layout = Layout(CLUSTER_SHARDS, nodes)
    host, port = nodes[0]
    store = RedisStore(f"redis://{host}:{port}", promise, is_cluster=True, layout=layout)
    yield store
    store.disconnect()


@pytest.mark.long
def test_a_closing_that_a_node_missed_is_finished_by_the_collector(tmp_path: Path, registry_file: Path) -> None:
    window = Window.at(WindowKind.DAY, time.time()).text
    with running_cluster(tmp_path, replicas=0) as cluster, collecting(cluster, registry_file) as collector:
        for shard in range(CLUSTER_SHARDS):
            assert post(collector.url, of_shard(shard, window))[0] == 200
        lost = cluster.holder_of_shard(0)
        lost.kill()
        nodes = tuple(("127.0.0.1", node.port) for node in cluster.nodes)
        store = RedisStore(cluster.url, is_cluster=True, layout=Layout(CLUSTER_SHARDS, nodes))
        with pytest.raises(StoreUnavailableError):
            store.close(Window.parse(window))
        lost.start()
        wait_until(lambda: is_closed(store, window), what="the rest to close the window")
        late = {"accepted": 0, "refused": [{"index": 0, "code": "window_closed"}]}
        assert [post(collector.url, of_shard(shard, window)) for shard in range(CLUSTER_SHARDS)] == [
            (200, late)
        ] * CLUSTER_SHARDS
        assert counted(collector) == CLUSTER_SHARDS
        store.disconnect()


def is_closing(store: RedisStore, window: str) -> bool:
    with contextlib.suppress(StoreUnavailableError):
        store.close(Window.parse(window))
        return True
    return False


def is_closed(store: RedisStore, window: str) -> bool:
    try:
        return window in store.closed_windows()
    except StoreUnavailableError:  # a node is not back yet
        return False


def test_a_write_that_too_few_replicas_have_is_not_acknowledged(healthy: Cluster) -> None:
    store = RedisStore(healthy.url, Promise(Durability.REPLICATED, 1), is_cluster=True)
    store.prepare()
    first, second, third = (judged(of_shard(7)) for _ in range(3))
    assert store.count(first) == CountedUpload(Verdict(1), is_duplicate=False)
    master = healthy.holder_of_shard(7)
    (replica,) = healthy.replicas_of(master)
    replica.kill()
    for judgement in (second, third, second):  # the first finds out by waiting, the others when they connect
        with pytest.raises(StoreUnavailableError, match="replica"):
            store.count(judgement)
    healthy.wait_until_healthy()
    assert store.count(second) == CountedUpload(Verdict(1), is_duplicate=True)
    assert store.count(third) == CountedUpload(Verdict(1), is_duplicate=False)
    store.disconnect()


def test_a_replica_with_other_settings_is_not_waited_for(healthy: Cluster) -> None:
    store = RedisStore(healthy.url, Promise(Durability.REPLICATED, 1), is_cluster=True)
    store.prepare()
    master = healthy.holder_of_shard(7)
    (replica,) = healthy.replicas_of(master)
    assert store.count(judged(of_shard(7))).verdict.accepted == 1
    replica.ask("CONFIG", "SET", "appendfsync", "everysec")
    try:
        store.disconnect()
        with pytest.raises(StoreUnavailableError, match="appendfsync always"):
            store.count(judged(of_shard(7)))
        master.ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        with pytest.raises(StoreUnavailableError, match="appendfsync always"):
            store.count(judged(of_shard(7)))
    finally:
        replica.ask("CONFIG", "SET", "appendfsync", "always")
    assert store.count(judged(of_shard(7))).verdict.accepted == 1
    store.disconnect()
