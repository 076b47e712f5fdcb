"""A shard that was emptied or replaced is noticed: nothing is counted there, and nothing is read as
zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import redis

from client_sdk.protocol import Verdict, Window
from collector.backup.export import backup
from collector.backup.restore import check, restore
from collector.backup.store_filler import StoreFiller
from collector.backup.store_reader import StoreReader
from collector.check import CheckResult, Level, check_store
from collector.errors import ConfigError, StoreUnavailableError
from collector.required_settings import ON_DISK
from collector.store import keys
from collector.store.count_script import NOT_THE_STORE
from collector.store.facts import SCHEMA, Purpose, numbered
from collector.store.preparation import accept_lost_shards
from collector.store.redis_store import RedisStore
from tests.support.services.cluster import Cluster
from tests.support.services.collecting import NOON, REGISTRY, TODAY, judged, of_shard, report, upload

WINDOW = Window.parse(TODAY)


@dataclass
class Emptied:
    """A store that is emptied while it is used.

    Attributes:
        store: ready.
        anew: returns the same store as seen by a collector that starts.
        empty: empties all of it.

    """

    store: RedisStore
    anew: Callable[[], RedisStore]
    empty: Callable[[], object]


@pytest.fixture(params=["embedded_url", "cluster"])
def emptied(request: pytest.FixtureRequest) -> Iterator[Emptied]:
    anew: Callable[[], RedisStore]
    empty: Callable[[], object]
    if request.param == "cluster":
        nodes: Cluster = request.getfixturevalue("cluster")
        nodes.wait_until_healthy()
        anew, empty = partial(RedisStore, nodes.url, is_cluster=True), nodes.empty
    else:
        url: str = request.getfixturevalue("embedded_url")
        anew, empty = partial(RedisStore, url), redis.Redis.from_url(url).flushall
    empty()
    store = anew()
    store.prepare()
    yield Emptied(store, anew, empty)
    store.disconnect()


@dataclass
class Halved:
    """A store on a cluster, one master of which is emptied.

    Attributes:
        store: every shard has counted an upload, and one window was closed early.
        anew: returns the same store as seen by a collector that starts.
        lost: the shards on the master that is to be emptied.
        kept: the other shards.
        empty: empties that master.

    """

    store: RedisStore
    anew: Callable[[], RedisStore]
    lost: list[int]
    kept: list[int]
    empty: Callable[[], object]


@pytest.fixture(params=["beside the facts", "with the facts"])
def halved(request: pytest.FixtureRequest, cluster: Cluster) -> Iterator[Halved]:
    cluster.wait_until_healthy()
    cluster.empty()
    anew = partial(RedisStore, cluster.url, is_cluster=True)
    store = anew()
    store.prepare()
    for shard in range(store.layout.shards):
        store.count(judged(of_shard(shard)))
    store.close(Window.parse("2026-11-19"))
    facts = cluster.holder(int(cluster.nodes[0].ask("CLUSTER", "KEYSLOT", keys.STORE)))
    masters = [node for node in cluster.nodes if node.is_master()]
    lost = facts if request.param == "with the facts" else next(node for node in masters if node is not facts)
    shards = [shard for shard in range(store.layout.shards) if cluster.holder_of_shard(shard) is lost]
    others = [shard for shard in range(store.layout.shards) if shard not in shards]
    yield Halved(store, anew, shards, others, lambda: lost.ask("FLUSHALL"))
    store.disconnect()


def said(store: RedisStore, level: Level) -> list[str]:
    return [result.text for result in results(store) if result.level is level]


def results(store: RedisStore) -> list[CheckResult]:
    subjects = ("schema", "shards", "editions")
    return [result for result in check_store(store, ON_DISK, REGISTRY) if result.subject in subjects]


def read_all(store: RedisStore) -> list[Callable[[], Any]]:
    """Return every way to read a store, and one to close a window."""
    return [
        store.closed_windows,
        store.tallied_windows,
        store.index,
        lambda: list(store.closed_tallies(frozenset({TODAY}))),
        lambda: store.open_snapshot(60, frozenset(), NOON),
        lambda: b"".join(backup(StoreReader(store), None, lambda _: None)),
        lambda: store.close(WINDOW),
    ]


def test_a_store_that_is_emptied_under_open_connections_counts_nothing_and_shows_no_zeros(emptied: Emptied) -> None:
    first, second = judged(of_shard(0)), judged(of_shard(0))
    assert emptied.store.count(first).verdict == Verdict(1)
    emptied.empty()
    for judgement in (first, second):
        with pytest.raises(StoreUnavailableError, match=NOT_THE_STORE):
            emptied.store.count(judgement)
    assert {type(outcome) for outcome in emptied.store.count_all([first, second])} == {StoreUnavailableError}
    for read in (emptied.store.require_writable, *read_all(emptied.store)[:-1]):
        with pytest.raises(StoreUnavailableError, match="has lost shard"):
            read()
    with pytest.raises(StoreUnavailableError, match="has lost shard"):
        read_all(emptied.store)[-1]()


def test_a_backup_of_a_store_that_is_emptied_meanwhile_has_no_end(emptied: Emptied) -> None:
    def empty(_: int) -> None:
        emptied.empty()

    emptied.store.count(judged(of_shard(0)))
    with pytest.raises(StoreUnavailableError, match="has lost shard"):
        list(backup(StoreReader(emptied.store), None, empty))


def test_an_import_into_a_store_that_is_emptied_meanwhile_is_not_finished(emptied: Emptied, tmp_path: Path) -> None:
    def empty(_: int) -> None:
        emptied.empty()

    emptied.store.count(judged(of_shard(0)))
    file = tmp_path / "backup.ndjson"
    file.write_bytes(b"".join(backup(StoreReader(emptied.store), None, lambda _: None)))
    emptied.empty()
    store = emptied.anew()
    store.prepare(Purpose.IMPORT)
    with pytest.raises(StoreUnavailableError, match="has lost shard"):
        restore(file, check(file), StoreFiller(store), empty)
    store.disconnect()


def test_tallies_of_a_store_that_is_emptied_while_they_are_read_have_no_end(emptied: Emptied) -> None:
    emptied.store.count(judged(upload(report(), report("os", 2), upload_id="0" * 32)))
    emptied.store.close(WINDOW)
    reading = emptied.store.closed_tallies(frozenset({TODAY}))
    assert next(reading).counts == (0, 1)
    emptied.empty()
    with pytest.raises(StoreUnavailableError, match="has lost shard"):
        list(reading)


def test_a_store_that_was_emptied_on_purpose_is_a_new_one_for_who_starts_then(emptied: Emptied) -> None:
    emptied.empty()
    store = emptied.anew()
    assert said(store, Level.OK) == ["the store is new"]
    assert store.facts() == {}
    store.prepare()
    assert store.layout.name != emptied.store.layout.name
    assert store.count(judged(of_shard(0))).verdict == Verdict(1)
    store.disconnect()


def test_a_store_whose_first_start_was_broken_off_is_new(emptied: Emptied) -> None:
    emptied.empty()
    store = emptied.anew()
    store.run_on_facts("HSET", keys.STORE, "schema", SCHEMA)
    assert said(store, Level.OK) == ["the store is new"]
    store.prepare()
    assert said(store, Level.FAILED) == []
    store.disconnect()


def test_shards_of_a_store_from_before_names_get_them_at_the_next_start(emptied: Emptied) -> None:
    emptied.store.count(judged(of_shard(0)))
    emptied.store.run_on_facts("HDEL", keys.STORE, "named")
    for shard in range(emptied.store.layout.shards):
        emptied.store.run(shard, "UNLINK", keys.of_shard(shard, keys.NAME))
    store = emptied.anew()
    (warning,) = said(store, Level.WARNING)
    assert "would go unnoticed" in warning
    assert store.names(store.layout.shards) == [None] * store.layout.shards
    store.prepare()
    assert said(store, Level.WARNING) == []
    assert store.count(judged(of_shard(0))).verdict == Verdict(1)
    assert [tally.counts for tally in store.open_snapshot(60, frozenset(), NOON)] == [(0, 0, 2, 0)]
    store.disconnect()


def test_naming_that_was_broken_off_is_finished_and_hides_no_loss_afterwards(emptied: Emptied) -> None:
    store = emptied.anew()
    store.run_on_facts("HDEL", keys.STORE, "named")
    store.run(0, "UNLINK", keys.of_shard(0, keys.NAME))
    assert accept_lost_shards(store) == []
    store.prepare()
    assert set(store.names(store.layout.shards)) == {store.layout.name}
    store.run(0, "UNLINK", keys.of_shard(0, keys.NAME))
    with pytest.raises(ConfigError, match=r"lost shard 0, and.*accept-loss"):
        store.prepare()
    assert "lost shard 0, and" in said(store, Level.FAILED)[0]
    store.disconnect()


def test_an_emptied_part_of_a_cluster_counts_nothing_while_the_rest_continues(halved: Halved) -> None:
    halved.empty()
    for shard in halved.lost:
        with pytest.raises(StoreUnavailableError, match=NOT_THE_STORE):
            halved.store.count(judged(of_shard(shard)))
    outcomes = halved.store.count_all([judged(of_shard(shard)) for shard in halved.kept])
    assert not any(isinstance(outcome, StoreUnavailableError) for outcome in outcomes)
    halved.store.require_writable()
    for read in read_all(halved.store):
        with pytest.raises(StoreUnavailableError, match="has lost"):
            read()


def test_a_part_of_a_cluster_that_was_lost_is_named_at_the_start_and_can_be_given_up(halved: Halved) -> None:
    halved.empty()
    for _ in range(2):  # nothing is written to such a store
        started = halved.anew()
        with pytest.raises(ConfigError, match=f"{numbered(halved.lost)}.*bring back.*accept-loss"):
            started.prepare()
        assert numbered(halved.lost) in said(started, Level.FAILED)[0]
        started.disconnect()
    giving_up = halved.anew()
    accepted = accept_lost_shards(giving_up)
    assert numbered(halved.lost) in accepted[0]
    assert accept_lost_shards(giving_up) == []
    giving_up.prepare()
    giving_up.disconnect()
    assert halved.store.closed_windows() == {"2026-11-19"}
    for shard in halved.lost:
        assert halved.store.count(judged(of_shard(shard))).verdict == Verdict(1)
    halved.store.close(WINDOW)
    (tally,) = halved.store.closed_tallies(halved.store.closed_windows())
    assert tally.counts == (0, 0, halved.store.layout.shards, 0)


def test_facts_that_an_older_collector_wrote_in_the_place_of_lost_ones_are_put_right(halved: Halved) -> None:
    halved.empty()
    started = halved.anew()
    started.run_on_facts("UNLINK", keys.STORE)
    started.run_on_facts("HSET", keys.STORE, "schema", SCHEMA, "shards", 64, "name", "drawn anew")
    with pytest.raises(ConfigError, match=f"another store's name is on {numbered(halved.kept)}"):
        started.prepare()
    assert len(accept_lost_shards(started)) == 2
    started.prepare()
    assert started.layout.name == halved.store.layout.name
    started.disconnect()
