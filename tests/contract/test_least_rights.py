"""The rights of the collector's user on a store: those on the page are enough, and all are
needed.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from client_sdk.protocol import HearsayError, Verdict, Window
from collector.backup.export import backup
from collector.backup.restore import check, restore
from collector.backup.store_filler import StoreFiller, require_room
from collector.backup.store_reader import StoreReader
from collector.check import Level, check_store
from collector.errors import QuotaExceededError, StoreUnavailableError
from collector.judge import Allowance
from collector.required_settings import NO_PROMISE, ON_DISK, Durability, Promise
from collector.retention import RedisRetirement, TallyName
from collector.store.facts import Purpose
from collector.store.preparation import agree_on_app, app_of
from collector.store.redis_store import RedisStore, agree_on_settings
from tests.support.services.cluster import Cluster
from tests.support.services.collecting import NOON, REGISTRY, TODAY, judged, report, upload
from tests.support.services.processes import START_DEADLINE_S, wait_until
from tests.support.services.rights import (
    BACKUP_USER,
    PASSWORD,
    RESTORE_USER,
    RULES,
    RULES_OF_BACKUPS,
    RULES_OF_BACKUPS_ON_A_CLUSTER,
    RULES_OF_RESTORES,
    RULES_OF_RESTORES_ON_A_CLUSTER,
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
        client.execute_command("ACL", "SETUSER", RESTORE_USER, *RULES_OF_RESTORES)
        yield client
        client.acl_deluser(USER, BACKUP_USER, RESTORE_USER)


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


@pytest.fixture
def filled(embedded_url: str) -> Iterator[RedisStore]:
    """The same store, as seen by the user who restores backups."""
    used = RedisStore(embedded_url.replace("unix://", f"unix://{RESTORE_USER}:{PASSWORD}@"))
    yield used
    used.disconnect()


def count_upload(store: RedisStore) -> None:
    store.prepare()
    agree_on_settings(store, 60, copies=0)
    assert store.count(judged(upload(report(), report("plan", 0, "2026-W47")))).verdict == Verdict(2)
    store.close(Window.parse(TODAY))


def use(store: RedisStore, rewrite_deadline_s: float = START_DEADLINE_S) -> None:
    """Do everything once that a collector and its commands do with a store."""
    store.require_writable()
    store.prepare()
    agree_on_settings(store, 60, copies=0)
    agree_on_app(store, "acme-notes")
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
    wait_until(store.logs().rewrite_log, deadline_s=rewrite_deadline_s, what="a rewrite to begin")
    assert not store.logs().log_rewrite_failed()
    for result in check_store(store, ON_DISK, REGISTRY):
        if result.level is Level.FAILED:
            raise StoreUnavailableError(result.text)


def back_up(store: RedisStore, file: Path) -> Path:
    """Take a backup of a store with one upload."""
    store.prepare(Purpose.READ)
    ids: list[int] = []
    file.write_bytes(b"".join(backup(StoreReader(store), app_of(store), ids.append)))
    assert sum(ids) == 1
    return file


def put_back(store: RedisStore, file: Path) -> None:
    """Restore a backup in an empty store."""
    contents = check(file)
    require_room(store, contents.digest, contents.demand)
    store.prepare(Purpose.IMPORT)
    assert restore(file, contents, StoreFiller(store), lambda _: None)
    agree_on_app(store, "acme-notes")


def used(administrator: redis.Redis) -> set[str]:
    """Return the commands used since the store was emptied, without those of this test."""
    calls = {name.removeprefix("cmdstat_"): stat["calls"] for name, stat in administrator.info("commandstats").items()}
    return {name for name, times in calls.items() if times and not name.startswith("acl|")} - NEEDS_NO_RIGHT


def allow(administrator: redis.Redis, *rules: str, user: str = USER) -> None:
    administrator.execute_command("ACL", "SETUSER", user, *rules)  # type: ignore[no-untyped-call] # the client's


def test_the_page_grants_enough_and_nothing_that_is_not_used(administrator: redis.Redis, store: RedisStore) -> None:
    use(store)
    assert used(administrator) == set(commands(RULES))


def test_the_page_grants_enough_for_backups_and_restores_and_nothing_that_is_not_used(
    administrator: redis.Redis, kept: RedisStore, filled: RedisStore, tmp_path: Path
) -> None:
    file = back_up(kept, tmp_path / "backup.ndjson")
    assert used(administrator) == set(commands(RULES_OF_BACKUPS))
    administrator.flushall()
    administrator.config_resetstat()
    put_back(filled, file)
    assert used(administrator) == set(commands(RULES_OF_RESTORES))


def test_the_user_who_takes_backups_can_write_nothing(
    administrator: redis.Redis, kept: RedisStore, embedded_url: str, tmp_path: Path
) -> None:
    def content() -> dict[bytes, bytes | None]:
        return {key: administrator.dump(key) for key in administrator.scan_iter()}

    before = content()
    back_up(kept, tmp_path / "backup.ndjson")
    assert set(administrator.acl_cat("write")) & set(commands(RULES_OF_BACKUPS)) == set()
    with redis.Redis.from_url(embedded_url.replace("unix://", f"unix://{BACKUP_USER}:{PASSWORD}@")) as client:
        for words in WRITES:
            with pytest.raises(redis.exceptions.ResponseError, match=REFUSED):
                client.execute_command(*words)
    assert content() == before


REFUSED = "no permissions|No permissions|can't run this command|Write commands are not allowed"

WRITES: tuple[tuple[str | int, ...], ...] = (
    ("SET", "hearsay:x", 1),
    ("HSET", "hearsay:store", "schema", 9),
    ("SADD", "{0}:closed", "2026-11-21"),
    ("UNLINK", "{0}:tallies"),
    ("EXPIREAT", "{0}:tallies", 1),
    ("FLUSHALL",),
    ("CONFIG", "SET", "maxmemory", 1),
    ("EVAL", "return redis.call('SET', KEYS[1], 1)", 1, "hearsay:x"),
    ("EVAL", "return 1", 0),
    ("EVAL_RO", "return redis.call('SET', KEYS[1], 1)", 1, "hearsay:x"),
    ("EVAL_RO", "return redis.call('HSET', 'hearsay:store', 'schema', 9)", 0),
)
"""Ways to change a store, also by scripts."""


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
        back_up(kept, tmp_path / "backup.ndjson")


@pytest.mark.parametrize("command", commands(RULES_OF_RESTORES))
def test_without_any_of_its_rights_a_restore_fails(
    administrator: redis.Redis, kept: RedisStore, filled: RedisStore, tmp_path: Path, command: str
) -> None:
    file = back_up(kept, tmp_path / "backup.ndjson")
    administrator.flushall()
    allow(administrator, f"-{command}", user=RESTORE_USER)
    with pytest.raises(HearsayError):
        put_back(filled, file)


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
            node.ask("ACL", "DELUSER", USER, BACKUP_USER, RESTORE_USER)


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
        store_of(cluster, url, NO_PROMISE) as store,
        pytest.raises(HearsayError) if missing else contextlib.nullcontext(),
    ):
        back_up(store, tmp_path / "backup.ndjson")
        cluster.empty()
        begun = RedisStore(cluster.url, is_cluster=True)
        begun.prepare()
        begun.disconnect()
        store.prepare(Purpose.READ)
        with asking(cluster):
            assert store.closed_windows() == frozenset()


@pytest.mark.parametrize("missing", ["", *RULES_OF_RESTORES_ON_A_CLUSTER])
def test_a_restore_into_a_cluster_needs_more_rights(cluster: Cluster, tmp_path: Path, missing: str) -> None:
    cluster.empty()
    with store_of(cluster, cluster.url, ON_DISK) as counting:
        count_upload(counting)
        file = back_up(counting, tmp_path / "backup.ndjson")
    cluster.empty()
    url = as_user(cluster, RESTORE_USER, [*RULES_OF_RESTORES, *RULES_OF_RESTORES_ON_A_CLUSTER], missing)
    with (
        store_of(cluster, url, NO_PROMISE) as store,
        pytest.raises(HearsayError) if missing else contextlib.nullcontext(),
    ):
        put_back(store, file)
        cluster.empty()
        with asking(cluster):
            store.prepare(Purpose.IMPORT)
