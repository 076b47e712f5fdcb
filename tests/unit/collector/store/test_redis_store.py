from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Iterator, Sequence
from threading import Thread
from typing import Any

import pytest
import redis

from client_sdk.protocol import Verdict, Window
from collector.errors import ConfigError, QuotaExceededError, StoreUnavailableError
from collector.judge import Allowance, Judgement
from collector.required_settings import NO_PROMISE, Durability, Promise
from collector.store import keys
from collector.store.count_script import BUCKET_ENTRIES
from collector.store.facts import SCHEMA
from collector.store.redis_store import RedisStore, agree_on_settings
from collector.store.store_protocol import CountedUpload, close_due_windows
from tests.support.services.cluster import Cluster
from tests.support.services.collecting import NOON, TODAY, judged, of_shard, report, upload
from tests.support.services.processes import free_port, wait_until


@pytest.fixture
def client(embedded_url: str) -> Iterator[Any]:
    with redis.Redis.from_url(embedded_url) as connection:
        connection.flushall()
        yield connection


@pytest.fixture
def store(embedded_url: str, client: Any) -> Iterator[RedisStore]:
    assert client.ping()
    opened = RedisStore(embedded_url)
    opened.prepare()
    yield opened
    opened.disconnect()


def with_id(judgement: Judgement, upload_id: str) -> Judgement:
    return judgement._replace(upload=upload_id)


def count_batches(store: RedisStore, template: Judgement, ids: Sequence[str]) -> None:
    """Count an upload with each id, in batches like a relay's: one sync to disk serves a batch."""
    for first in range(0, len(ids), A_BATCH):
        batch = [with_id(template, upload_id) for upload_id in ids[first : first + A_BATCH]]
        assert {type(outcome) for outcome in store.count_all(batch)} == {CountedUpload}


def bytes_of_ids(client: Any) -> int:
    return sum(client.memory_usage(key, samples=0) for key in client.keys("{0}:seen:*"))


def test_a_new_store_says_its_schema_its_shards_and_its_name(store: RedisStore, client: Any) -> None:
    store.prepare()
    name = store.layout.name.encode()
    assert client.hgetall(keys.STORE) == {
        b"schema": str(SCHEMA).encode(),
        b"shards": b"1",
        b"name": name,
        b"named": b"1",
    }
    assert client.get("{0}:name") == name


def test_an_existing_store_keeps_its_number_of_shards(embedded_url: str, client: Any) -> None:
    client.hset(keys.STORE, mapping={"schema": str(SCHEMA), "shards": "4"})
    store = RedisStore(embedded_url)
    store.prepare()
    for shard in range(32):
        assert store.count(judged(of_shard(shard))).verdict == Verdict(1)
    assert len(client.keys("{*}:tally:os:*")) == 4
    assert [tally.counts for tally in store.open_snapshot(60, frozenset(), NOON)] == [(0, 0, 32, 0)]
    store.disconnect()


def test_a_store_of_another_schema_is_refused(embedded_url: str, client: Any) -> None:
    client.hset(keys.STORE, mapping={"schema": str(SCHEMA + 1), "shards": "1"})
    store = RedisStore(embedded_url)
    with pytest.raises(ConfigError, match=f"schema {SCHEMA + 1}"):
        store.prepare()
    store.disconnect()


@pytest.mark.parametrize(
    ("setting", "value", "usual", "memory_is_enough"),
    [
        ("appendfsync", "everysec", "always", True),
        ("no-appendfsync-on-rewrite", "yes", "no", True),
        ("maxmemory-policy", "allkeys-lru", "noeviction", False),
    ],
)
def test_a_store_that_would_not_keep_what_it_acknowledges_is_refused(
    embedded_url: str, client: Any, setting: str, value: str, usual: str, *, memory_is_enough: bool
) -> None:
    store = RedisStore(embedded_url)
    client.config_set(setting, value)
    try:
        with pytest.raises(ConfigError, match=rf"{setting} {usual} \(now {value}\)"):
            store.prepare()
        if memory_is_enough:
            RedisStore(embedded_url, NO_PROMISE).prepare()
        else:
            with pytest.raises(ConfigError, match=setting):
                RedisStore(embedded_url, NO_PROMISE).prepare()
    finally:
        client.config_set(setting, usual)
    store.disconnect()


def test_the_grace_can_grow_only_while_no_window_is_open(store: RedisStore) -> None:
    agree_on_settings(store, 100, copies=0)
    agree_on_settings(store, 200, copies=0)
    store.count(judged(upload()))
    agree_on_settings(store, 50, copies=0)
    with pytest.raises(ConfigError, match=f"from 50 seconds.*{TODAY}"):
        agree_on_settings(store, 51, copies=0)
    store.close(Window.parse(TODAY))
    agree_on_settings(store, 51, copies=0)


def test_a_closing_that_broke_off_is_finished_though_the_window_is_not_due(embedded_url: str, client: Any) -> None:
    client.hset(keys.STORE, mapping={"schema": str(SCHEMA), "shards": "4"})
    store = RedisStore(embedded_url)
    store.prepare()
    store.close(Window.parse("2026-11-19"))
    client.sadd("{2}:closed", TODAY)
    assert store.closed_windows() == {"2026-11-19"}
    assert store.half_closed_windows() == {TODAY}
    close_due_windows(store, now_s=NOON, grace_s=60)
    assert store.closed_windows() == {"2026-11-19", TODAY}
    assert store.half_closed_windows() == frozenset()
    store.disconnect()


def test_a_store_that_is_not_there_is_unavailable() -> None:
    store = RedisStore(f"redis://127.0.0.1:{free_port()}")
    for metric in (store.require_writable, store.closed_windows, lambda: store.count(judged(upload()))):
        with pytest.raises(StoreUnavailableError):
            metric()
    store.disconnect()


def test_a_url_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigError, match="--redis"):
        RedisStore("http://example.com")


def test_a_tally_is_packed_counters_one_a_symbol(store: RedisStore, client: Any) -> None:
    for symbol in (3, 3, 0):
        store.count(judged(upload(report("os", symbol))))
    (key,) = client.keys("{0}:tally:os:*")
    packed = client.get(key)
    assert packed == b"".join(count.to_bytes(8) for count in (1, 0, 0, 2))


MOST_ID_BYTES = 40

A_BATCH = 500

HOSTILE_IDS = {
    "drawn at random": lambda _: secrets.token_hex(16),
    "counted up": lambda number: f"{number:032x}",
    "alike but for their end": lambda number: f"{'5' * 16}{number:016x}",
    "one child a bucket": lambda number: f"{number * 8 % 0o77777777 << 104 | number:032x}",
}
"""The sender of an upload chooses its id."""


@pytest.mark.slow
@pytest.mark.parametrize("id_of", HOSTILE_IDS.values(), ids=HOSTILE_IDS)
def test_ids_fill_small_buckets_whatever_they_are_and_each_is_found_again(
    store: RedisStore, client: Any, id_of: Callable[[int], str]
) -> None:
    template = judged(upload())
    ids = [id_of(number) for number in range(3000)]
    count_batches(store, template, ids)
    buckets = client.keys("{0}:seen:*")
    assert max(map(client.zcard, buckets)) <= BUCKET_ENTRIES
    assert {client.object("encoding", bucket) for bucket in buckets} == {b"listpack"}
    assert sum(map(client.zcard, buckets)) == len(ids)
    assert bytes_of_ids(client) / len(ids) <= MOST_ID_BYTES
    count_batches(store, template, ids)
    assert [tally.counts for tally in store.open_snapshot(60, frozenset(), NOON)] == [(0, len(ids))]


@pytest.mark.slow
def test_a_remembered_id_costs_at_most_40_bytes(store: RedisStore, client: Any) -> None:
    template = judged(upload())
    number = 20_000
    store.count(with_id(template, secrets.token_hex(16)))
    before = bytes_of_ids(client)
    count_batches(store, template, [secrets.token_hex(16) for _ in range(number)])
    after = bytes_of_ids(client)
    assert (after - before) / number <= MOST_ID_BYTES


def test_a_bucket_outlives_those_below_it(store: RedisStore, client: Any) -> None:
    soon = judged(upload())
    later = soon._replace(remember_until=soon.remember_until + 10**6)
    for _ in range(BUCKET_ENTRIES):
        store.count(with_id(soon, secrets.token_hex(16)))
    deep = secrets.token_hex(16)
    store.count(with_id(later, deep))
    base = f"{{0}}:seen:{soon.latest_end}:"
    (below,) = {key.decode() for key in client.keys(base + "*")} - {base}
    assert client.expiretime(base) == client.expiretime(below) == later.remember_until
    store.count(with_id(later, deep))
    assert [tally.counts for tally in store.open_snapshot(60, frozenset(), NOON)] == [(0, BUCKET_ENTRIES + 1)]


def test_ids_expire_by_the_calendar_and_not_by_when_they_came(store: RedisStore, client: Any) -> None:
    judgement = judged(upload())
    store.count(judgement)
    (bucket,) = client.keys("{0}:seen:*")
    assert client.expiretime(bucket) == judgement.remember_until


def test_no_upload_is_counted_whose_id_the_server_would_forget_at_once(store: RedisStore, client: Any) -> None:
    now_s = int(client.time()[0])
    late = judged(upload(report()))._replace(remember_until=now_s - 1)
    for _ in range(2):
        with pytest.raises(StoreUnavailableError, match="clocks of store and collector"):
            store.count(late)
    assert client.keys("{*}:*") == [b"{0}:name"]


def test_a_quota_holds_until_midnight_though_the_servers_clock_is_hours_ahead(store: RedisStore, client: Any) -> None:
    hours_ago = int(client.time()[0]) - 23 * 3600
    ends_soon = Allowance("app", 1, hours_ago)
    store.count(judged(upload())._replace(allowance=ends_soon))
    with pytest.raises(QuotaExceededError):
        store.count(judged(upload())._replace(allowance=ends_soon))
    assert client.expiretime(f"{{0}}:quota:app:{hours_ago}") == hours_ago + 24 * 3600


def test_a_script_that_the_server_forgot_is_sent_again(store: RedisStore, client: Any) -> None:
    store.count(judged(upload()))
    client.script_flush()
    assert store.count(judged(upload())).verdict == Verdict(1)


def test_a_connection_that_broke_is_opened_again(store: RedisStore, client: Any) -> None:
    store.count(judged(upload()))
    client.client_kill_filter(_type="normal", skipme=True)
    assert store.count(judged(upload())).verdict == Verdict(1)
    assert [tally.counts for tally in store.open_snapshot(60, frozenset(), NOON)] == [(0, 2)]


def test_a_server_that_took_over_with_other_settings_is_not_acknowledged_from(store: RedisStore, client: Any) -> None:
    store.count(judged(upload()))
    client.config_set("appendfsync", "everysec")
    try:
        client.client_kill_filter(_type="normal", skipme=True)
        for _ in range(2):
            with pytest.raises(StoreUnavailableError, match=r"appendfsync always \(now everysec\)"):
                store.count(judged(upload()))
        assert [type(outcome) for outcome in store.count_all([judged(upload())] * 2)] == [StoreUnavailableError] * 2
    finally:
        client.config_set("appendfsync", "always")
    assert store.count(judged(upload())).verdict == Verdict(1)


FULL = {"maxmemory": "1"}, {"min-replicas-to-write": "1"}
REFUSES = "store's memory is full|returned an error"


@contextlib.contextmanager
def refusing_writes(client: Any, setting: dict[str, str]) -> Iterator[None]:
    """Make a server refuse every write and answer everything else."""
    ((name, value),) = setting.items()
    client.config_set(name, value)
    try:
        yield
    finally:
        client.config_set(name, 0)


@pytest.mark.parametrize("setting", FULL, ids=str)
def test_a_store_that_refuses_uploads_is_not_ready(store: RedisStore, client: Any, setting: dict[str, str]) -> None:
    with refusing_writes(client, setting):
        assert store.closed_windows() == frozenset()
        with pytest.raises(StoreUnavailableError, match=REFUSES):
            store.count(judged(upload()))
        with pytest.raises(StoreUnavailableError, match=REFUSES):
            store.require_writable()
    store.require_writable()


def test_a_store_that_was_emptied_is_not_ready(store: RedisStore, client: Any) -> None:
    client.flushall()
    with pytest.raises(StoreUnavailableError, match="emptied"):
        store.require_writable()


def test_asking_whether_a_store_is_ready_writes_nothing(store: RedisStore, client: Any) -> None:
    before = set(client.keys()), client.info("persistence")["aof_current_size"]
    store.require_writable()
    assert (set(client.keys()), client.info("persistence")["aof_current_size"]) == before


def test_a_cluster_is_ready_while_any_of_its_nodes_counts(cluster: Cluster) -> None:
    cluster.empty()
    store = RedisStore(cluster.url, is_cluster=True)
    store.prepare()
    first, *others = [node.client for node in cluster.nodes if node.is_master()]
    try:
        with contextlib.ExitStack() as stack:
            for client in others:
                stack.enter_context(refusing_writes(client, FULL[0]))
            store.require_writable()
            stack.enter_context(refusing_writes(first, FULL[0]))
            with pytest.raises(StoreUnavailableError, match=REFUSES):
                store.require_writable()
        store.require_writable()
    finally:
        store.disconnect()


def test_what_a_store_is_must_be_said_rightly(embedded_url: str, client: Any) -> None:
    assert client.ping()
    with pytest.raises(ConfigError, match="omit --cluster"):
        RedisStore(embedded_url, is_cluster=True).prepare()


def test_a_cluster_must_be_called_one(cluster: Cluster) -> None:
    with pytest.raises(ConfigError, match="add --cluster"):
        RedisStore(cluster.url).prepare()


def test_a_cluster_that_one_node_could_stop_is_refused(cluster: Cluster) -> None:
    cluster.nodes[-1].ask("CONFIG", "SET", "cluster-require-full-coverage", "yes")
    try:
        with pytest.raises(ConfigError, match=r"cluster-require-full-coverage no \(now yes\).*a lost node"):
            RedisStore(cluster.url, is_cluster=True).prepare()
    finally:
        cluster.nodes[-1].ask("CONFIG", "SET", "cluster-require-full-coverage", "no")


def test_more_copies_than_there_are_replicas_are_refused(cluster: Cluster, embedded_url: str) -> None:
    cluster.wait_until_healthy()
    with pytest.raises(ConfigError, match="has 1 replica in sync, but --copies requires 2"):
        RedisStore(cluster.url, Promise(Durability.REPLICATED, 2), is_cluster=True).prepare()
    with pytest.raises(ConfigError, match="the store has 0 replicas"):
        RedisStore(embedded_url, Promise(Durability.REPLICATED, 1)).prepare()


def test_a_store_keeps_its_shards_and_the_nodes_of_a_cluster_are_learned(cluster: Cluster) -> None:
    cluster.wait_until_healthy()
    cluster.empty()
    store = RedisStore(cluster.url, is_cluster=True)
    store.prepare()
    ports = {address[1] for address in store.layout.nodes if address is not None}
    assert (store.layout.shards, ports) == (64, {node.port for node in cluster.nodes})


def test_the_files_of_all_nodes_are_rewritten_and_one_that_is_busy_is_asked_again(cluster: Cluster) -> None:
    cluster.wait_until_healthy()
    store = RedisStore(cluster.url, is_cluster=True)
    store.prepare()
    before = [node.client.info("persistence")["aof_rewrites"] for node in cluster.nodes]
    logs = store.logs()
    wait_until(logs.rewrite_log, what="the last rewrite to begin")
    wait_until(
        lambda: all(
            node.client.info("persistence")["aof_rewrites"] > rewrites
            for node, rewrites in zip(cluster.nodes, before, strict=True)
        ),
        what="a rewrite of every file",
    )
    assert not logs.log_rewrite_failed()


def test_the_append_only_file_is_rewritten_when_asked(store: RedisStore, client: Any) -> None:
    before = client.info("persistence")["aof_rewrites"]
    logs = store.logs()
    wait_until(logs.rewrite_log, what="a rewrite to begin")
    wait_until(lambda: client.info("persistence")["aof_rewrites"] > before, what="the rewrite")
    assert not logs.log_rewrite_failed()


def test_ids_are_kept_in_no_order_of_arrival(store: RedisStore, client: Any) -> None:
    template = judged(upload())
    ids = [secrets.token_hex(16) for _ in range(BUCKET_ENTRIES)]
    for upload_id in ids:
        store.count(with_id(template, upload_id))
    (bucket,) = client.keys("{0}:seen:*")
    assert client.zrange(bucket, 0, -1) == [bytes.fromhex(upload_id) + b"\x00" for upload_id in sorted(ids)]


def test_the_look_at_open_windows_is_renewed_after_its_interval_and_shared(
    store: RedisStore, client: Any, embedded_url: str
) -> None:
    def shown(reader: RedisStore) -> list[tuple[int, ...]]:
        return [tally.counts for tally in reader.open_snapshot(3600, frozenset(), NOON)]

    store.count(judged(upload()))
    assert shown(store) == [(0, 1)]
    store.count(judged(upload()))
    other = RedisStore(embedded_url)
    assert shown(other) == [(0, 1)]
    assert 0 < client.ttl(keys.SNAPSHOT) <= 3600
    client.delete(keys.SNAPSHOT)
    assert shown(store) == shown(other) == [(0, 2)]
    other.disconnect()


def test_two_readers_at_once_share_the_first_look(store: RedisStore, client: Any) -> None:
    store.count(judged(upload()))
    assert client.set(keys.SNAPSHOT, '{"taken_s":7,"tallies":[["os","000000000000","2026-11-20",[1,2]]]}', ex=60)
    snapshot = store.open_snapshot(60, frozenset(), NOON)
    assert (snapshot.taken_s, [tally.counts for tally in snapshot]) == (7, [(1, 2)])


def test_the_embedded_store_keeps_no_receive_times(client: Any) -> None:
    expected = {"slowlog-log-slower-than": "-1", "aof-timestamp-enabled": "no", "maxmemory-policy": "noeviction"}
    assert {name: client.config_get(name)[name] for name in expected} == expected


def test_a_thread_that_ends_closes_its_connections(store: RedisStore) -> None:
    opened: list[Any] = []

    def count() -> None:
        store.count(judged(upload()))
        opened.extend(store._connections._own().values())

    thread = Thread(target=count)
    thread.start()
    thread.join()
    assert len(opened) == 1
    wait_until(lambda: not opened[0].is_connected, what="the connection of the ended thread to be closed")
    store.count(judged(upload()))


def test_only_reading_tallies_leaves_a_mark_and_frequent_metrics_reveal_no_time(cluster: Cluster) -> None:
    def marks() -> list[str]:
        return [key for node in cluster.nodes if node.is_master() for key in node.client.keys("{*}:read")]

    cluster.wait_until_healthy()
    cluster.empty()
    store = RedisStore(cluster.url, is_cluster=True)
    store.prepare()
    store.count(judged(upload()))
    assert store.closed_windows() == frozenset()
    assert store.tallied_windows() == {TODAY}
    assert marks() == []
    assert list(store.closed_tallies(frozenset({TODAY}))) == []
    assert len(marks()) == len([node for node in cluster.nodes if node.is_master()])
    store.disconnect()
