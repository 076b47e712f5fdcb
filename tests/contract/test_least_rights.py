"""The rights of the collector's user on a store: those on the page are enough, and all are
needed.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis

from client_sdk.protocol import HearsayError, Verdict, Window
from collector.backup.export import backup
from collector.backup.restore import check, restore
from collector.backup.store_filler import StoreFiller
from collector.backup.store_reader import StoreReader
from collector.check.result import Level
from collector.check.store import check_store
from collector.errors import QuotaExceededError
from collector.judgement import Allowance
from collector.required_settings import IN_MEMORY, ON_DISK, Durability, Promise
from collector.store.app_name import agree_on_app
from collector.store.redis_store import RedisStore
from collector.store.schema import SCHEMA, Purpose
from collector.store.stored_grace import agree_on_grace
from collector.upkeep.redis_retirement import RedisRetirement
from collector.upkeep.retention import TallyName
from collector.upkeep.upgrade import upgrade
from tests.support.services.cluster import Cluster
from tests.support.services.collecting import NOON, REGISTRY, TODAY, judged, report, upload
from tests.support.services.processes import START_DEADLINE_S, wait_until
from tests.support.services.rights import (
    BACKUP_USER,
    PASSWORD,
    RULES,
    RULES_OF_BACKUPS,
    RULES_OF_BACKUPS_ON_A_CLUSTER,
    RULES_ON_A_CLUSTER,
    USER,
    commands,
)

NEEDS_NO_RIGHT = {"auth", "config|resetstat"}
"""Logging in, which everybody may do, and this test's own commands."""


@pytest.fixture
def administrator(embedded_url: str) -> Iterator[redis.Redis]:
    """An emptied store with the page's user, as seen by an administrator."""
    with redis.Redis.from_url(embedded_url) as client:
        client.flushall()
        client.script_flush()
        client.config_resetstat()
        client.execute_command("ACL", "SETUSER", USER, *RULES)
        client.execute_command("ACL", "SETUSER", BACKUP_USER, *RULES_OF_BACKUPS)
        yield client
        client.acl_deluser(USER, BACKUP_USER)


@pytest.fixture
def store(embedded_url: str) -> Iterator[RedisStore]:
    used = RedisStore(embedded_url.replace("unix://", f"unix://{USER}:{PASSWORD}@"))
    yield used
    used.disconnect()


@pytest.fixture
def kept(embedded_url: str, administrator: redis.Redis) -> Iterator[RedisStore]:
    """A store with one upload and one closed window, as seen by the user who takes backups."""
    counting = RedisStore(embedded_url)
    count_upload(counting)
    counting.disconnect()
    administrator.config_resetstat()
    used = RedisStore(embedded_url.replace("unix://", f"unix://{BACKUP_USER}:{PASSWORD}@"))
    yield used
    used.disconnect()


def count_upload(store: RedisStore) -> None:
    store.prepare()
    agree_on_grace(store, 60)
    assert store.count(judged(upload(report(), report("plan", 0, "2026-W47")))).verdict == Verdict(2)
    store.close(Window.parse(TODAY))


def use(store: RedisStore, rewrite_deadline_s: float = START_DEADLINE_S) -> None:
    """Do everything once that a collector and its commands do with a store."""
    store.require_writable()
    store.prepare()
    assert upgrade(store) == (SCHEMA, SCHEMA)
    agree_on_grace(store, 60)
    agree_on_app(store.handle, "acme-notes")
    allowed = judged(upload(report(), report("os", 2)))._replace(allowance=Allowance("app", 2, int(NOON) + 10**9))
    assert not store.count(allowed).is_duplicate
    assert store.count(allowed).is_duplicate
    of_the_same_shard = upload(upload_id=secrets.token_hex(12) + allowed.upload[-8:])
    with pytest.raises(QuotaExceededError):
        store.count(judged(of_the_same_shard)._replace(allowance=allowed.allowance))
    assert store.tallied_windows() == {TODAY}
    assert [tally.counts for tally in store.open_snapshot(60, store.closed_windows(), NOON)] == [(0, 1), (0, 0, 1, 0)]
    store.close(Window.parse(TODAY))
    names = [TallyName(t.metric, t.edition, t.window) for t in store.closed_tallies(store.closed_windows())]
    RedisRetirement(store).retire(names)
    assert store.tallied_windows() == frozenset()
    wait_until(store.handle.logs().rewrite_log, deadline_s=rewrite_deadline_s, what="a rewrite to begin")
    assert not store.handle.logs().log_rewrite_failed()
    assert not [result for result in check_store(store, ON_DISK, REGISTRY) if result.level is Level.FAILED]


def back_up(store: RedisStore, empty: Callable[[], object], folder: Path) -> None:
    """Take a backup of a store with one upload, and restore it after the store was emptied."""
    store.prepare()
    file = folder / "backup.ndjson"
    ids: list[int] = []
    file.write_bytes(b"".join(backup(StoreReader(store), None, ids.append)))
    empty()
    store.prepare(Purpose.IMPORT)
    assert restore(file, check(file), StoreFiller(store), ids.append)
    assert sum(ids) == 2


def used(administrator: redis.Redis) -> set[str]:
    """Return the commands used since the store was emptied, without those of this test."""
    calls = {name.removeprefix("cmdstat_"): stat["calls"] for name, stat in administrator.info("commandstats").items()}
    return {name for name, times in calls.items() if times and not name.startswith("acl|")} - NEEDS_NO_RIGHT


def allow(administrator: redis.Redis, *rules: str, user: str = USER) -> None:
    administrator.execute_command("ACL", "SETUSER", user, *rules)  # type: ignore[no-untyped-call] # the client's


def test_the_page_grants_enough_and_nothing_that_is_not_used(administrator: redis.Redis, store: RedisStore) -> None:
    use(store)
    assert used(administrator) == set(commands(RULES))


def test_the_page_grants_enough_for_backups_and_nothing_that_is_not_used(
    administrator: redis.Redis, kept: RedisStore, tmp_path: Path
) -> None:
    back_up(kept, administrator.flushall, tmp_path)
    assert used(administrator) - {"flushall"} == set(commands(RULES_OF_BACKUPS))


@pytest.mark.parametrize("command", commands(RULES))
def test_without_any_of_its_rights_something_fails(administrator: redis.Redis, store: RedisStore, command: str) -> None:
    allow(administrator, f"-{command}")
    # otherwise that rewrite never begins
    deadline_s = 1.0 if command == "bgrewriteaof" else START_DEADLINE_S
    with pytest.raises((HearsayError, TimeoutError)):
        use(store, deadline_s)


@pytest.mark.parametrize("command", commands(RULES_OF_BACKUPS))
def test_without_any_of_its_rights_a_backup_fails(
    administrator: redis.Redis, kept: RedisStore, tmp_path: Path, command: str
) -> None:
    allow(administrator, f"-{command}", user=BACKUP_USER)
    with pytest.raises(HearsayError):
        back_up(kept, administrator.flushall, tmp_path)


@contextlib.contextmanager
def asking(cluster: Cluster) -> Iterator[None]:
    """Move a shard's slot to another node, which must then be asked for missing keys."""
    slot = cluster.slot_of(0)
    source = cluster.holder(slot)
    target = next(node for node in cluster.nodes if node.is_master() and node is not source)
    target.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", source.id())
    source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", target.id())
    try:
        yield
    finally:
        cluster.empty()
        for node in (source, target):
            node.ask("CLUSTER", "SETSLOT", slot, "STABLE")


def as_user(cluster: Cluster, user: str, rules: list[str], missing: str) -> str:
    """Create a user who lacks one right on every node; return the cluster's URL for that user."""
    for node in cluster.nodes:
        node.ask("ACL", "SETUSER", user, *rules, *filter(None, (missing.replace("+", "-"),)))
    return cluster.url.replace("//", f"//{user}:{PASSWORD}@")


@contextlib.contextmanager
def store_of(cluster: Cluster, url: str, promise: Promise) -> Iterator[RedisStore]:
    """Yield the cluster as a store, and remove the created users."""
    store = RedisStore(url, promise, is_cluster=True)
    try:
        yield store
    finally:
        store.disconnect()
        for node in cluster.nodes:
            node.ask("ACL", "DELUSER", USER, BACKUP_USER)


@pytest.mark.parametrize("missing", ["", *RULES_ON_A_CLUSTER])
def test_a_cluster_needs_more_rights(cluster: Cluster, missing: str) -> None:
    cluster.empty()
    url = as_user(cluster, USER, [*RULES, *RULES_ON_A_CLUSTER], missing)
    with (
        store_of(cluster, url, Promise(Durability.REPLICATED, 1)) as store,
        pytest.raises(HearsayError) if missing else contextlib.nullcontext(),
    ):
        use(store)
        cluster.empty()
        store.prepare()
        with asking(cluster):
            assert store.closed_windows() == frozenset()


@pytest.mark.parametrize("missing", ["", *RULES_OF_BACKUPS_ON_A_CLUSTER])
def test_a_backup_of_a_cluster_needs_more_rights(cluster: Cluster, tmp_path: Path, missing: str) -> None:
    cluster.empty()
    with store_of(cluster, cluster.url, ON_DISK) as counting:
        count_upload(counting)
    url = as_user(cluster, BACKUP_USER, [*RULES_OF_BACKUPS, *RULES_OF_BACKUPS_ON_A_CLUSTER], missing)
    with (
        store_of(cluster, url, IN_MEMORY) as store,
        pytest.raises(HearsayError) if missing else contextlib.nullcontext(),
    ):
        back_up(store, cluster.empty, tmp_path)
        cluster.empty()
        store.prepare()
        with asking(cluster):
            assert store.closed_windows() == frozenset()
