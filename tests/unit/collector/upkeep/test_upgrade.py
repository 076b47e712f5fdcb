"""Stores of other schemas: newer ones are refused, older ones until they are upgraded."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from click.testing import CliRunner

from client_sdk.protocol import Upload, Verdict
from collector.commands.cli import cli
from collector.embedded.store import EmbeddedStore
from collector.errors import ConfigError, StoreUnavailableError
from collector.store import keys
from collector.store.count_script import BUCKET_ENTRIES
from collector.store.redis_store import RedisStore
from collector.store.schema import SCHEMA, Purpose, require_usable
from collector.upkeep.upgrade import STEPS, upgrade
from tests.support.services.collecting import NOON, judged, report, upload


@pytest.fixture
def store(embedded_url: str) -> Iterator[RedisStore]:
    with redis.Redis.from_url(embedded_url) as client:
        client.flushall()
    used = RedisStore(embedded_url)
    used.prepare()
    yield used
    used.disconnect()


def schema_of(store: RedisStore) -> int:
    return int(store.handle.facts()["schema"])


def test_a_step_leads_from_every_older_schema_to_this_one() -> None:
    assert sorted(STEPS) == list(range(1, SCHEMA))


def test_a_newer_store_is_refused_whatever_it_is_opened_for(store: RedisStore) -> None:
    store.handle.run_on_facts("HSET", keys.STORE, "schema", SCHEMA + 1)
    for purpose in Purpose:
        with pytest.raises(ConfigError, match="use the version of Hearsay that wrote it"):
            store.prepare(purpose)


def test_an_older_store_is_opened_for_an_upgrade_only(store: RedisStore) -> None:
    store.handle.run_on_facts("HSET", keys.STORE, "schema", SCHEMA - 1)
    for purpose in (Purpose.USE, Purpose.IMPORT):
        with pytest.raises(ConfigError, match="run hearsay-collector upgrade"):
            store.prepare(purpose)
    store.prepare(Purpose.UPGRADE)


def test_a_store_with_a_part_of_a_backup_is_opened_for_the_rest_only() -> None:
    facts = {"schema": str(SCHEMA), "importing": "a digest"}
    require_usable(facts, Purpose.IMPORT)
    for purpose in (Purpose.USE, Purpose.UPGRADE):
        with pytest.raises(ConfigError, match="run hearsay-collector import again"):
            require_usable(facts, purpose)


def test_steps_are_done_in_order_each_from_where_the_last_one_ended(store: RedisStore) -> None:
    done: list[tuple[str, int]] = []
    steps = {
        SCHEMA: lambda used: done.append(("first", schema_of(used))),
        SCHEMA + 1: lambda used: done.append(("second", schema_of(used))),
    }
    assert upgrade(store, steps, SCHEMA + 2) == (SCHEMA, SCHEMA + 2)
    assert done == [("first", SCHEMA), ("second", SCHEMA + 1)]
    assert upgrade(store, steps, SCHEMA + 2) == (SCHEMA + 2, SCHEMA + 2)
    assert len(done) == 2


def test_an_interrupted_upgrade_continues_with_the_interrupted_step(store: RedisStore) -> None:
    done: list[str] = []
    failures = [StoreUnavailableError("for the test")]

    def second(_: RedisStore) -> None:
        if failures:
            raise failures.pop()
        done.append("second")

    steps = {SCHEMA: lambda _: done.append("first"), SCHEMA + 1: second}
    with pytest.raises(StoreUnavailableError):
        upgrade(store, steps, SCHEMA + 2)
    assert schema_of(store) == SCHEMA + 1
    assert upgrade(store, steps, SCHEMA + 2) == (SCHEMA + 1, SCHEMA + 2)
    assert done == ["first", "second"]


def test_two_upgrades_at_once_are_one(store: RedisStore) -> None:
    def other(used: RedisStore) -> None:
        with pytest.raises(ConfigError, match="another upgrade of the store is under way"):
            upgrade(used, {}, SCHEMA)

    upgrade(store, {SCHEMA: other}, SCHEMA + 1)
    assert schema_of(store) == SCHEMA + 1


def test_an_upgrade_that_was_killed_does_not_hold_up_one_that_is_alone(store: RedisStore) -> None:
    store.handle.run_on_facts("SET", keys.UPGRADING, 1)
    with pytest.raises(ConfigError, match="under way"):
        upgrade(store)
    assert upgrade(store, is_alone=True) == (SCHEMA, SCHEMA)
    assert upgrade(store) == (SCHEMA, SCHEMA)


def test_the_command_is_alone_on_a_data_directory(tmp_path: Path) -> None:
    with EmbeddedStore(tmp_path) as embedded:
        killed = RedisStore(embedded.url)
        killed.prepare()
        killed.handle.run_on_facts("SET", keys.UPGRADING, 1)
        killed.disconnect()
    result = CliRunner().invoke(cli, ["upgrade", "--data-dir", str(tmp_path)])
    assert (result.exit_code, result.output) == (0, f"the store has schema {SCHEMA} already\n")


def test_a_missing_step_changes_nothing(store: RedisStore) -> None:
    with pytest.raises(ConfigError, match="upgrade with an earlier version first"):
        upgrade(store, {SCHEMA: lambda _: None}, SCHEMA + 2)
    assert schema_of(store) == SCHEMA


EXPIRY = 4_000_000_000
"""Unix seconds far from now."""

ALTERNATING = b"\xff" + b"".join(bytes((index, index, 1 + index % 2)) for index in range(1, 256))
"""What schema 1 remembered of 256 reports: the first counted, the others refused, alternating."""

NOTHING_COUNTED = b"\x01\x00\x01\x01"


def remember_as_schema_1(client: redis.Redis, sent: Upload, remembered: bytes) -> None:
    """Put an id where schema 1 had it: in the tree of its latest window, by its first bits."""
    path, level = format(int(sent.id[:6], 16), "08o"), 0
    base = f"{{0}}:ids:{judged(sent).ends[0]}:"
    while client.zcard(base + path[:level]) == BUCKET_ENTRIES:
        level += 1
    client.zadd(base + path[:level], {bytes.fromhex(sent.id) + remembered: 0})
    client.expireat(base + path[:level], EXPIRY)


def test_ids_of_schema_1_are_found_again_and_those_of_which_nothing_counted_are_gone(
    store: RedisStore, embedded_url: str
) -> None:
    store.handle.run_on_facts("HSET", keys.STORE, "schema", 1)
    whole = [upload(report(), report("os", 2)) for _ in range(3 * BUCKET_ENTRIES)]
    mixed = upload(*[report()] * 256)
    far_off = upload(report(), report("plan", 0, "9998-W01"))
    nothing = upload(report("os", 2), report("os", 3))
    with redis.Redis.from_url(embedded_url) as client:
        for sent in whole:
            remember_as_schema_1(client, sent, b"\x01")
        remember_as_schema_1(client, mixed, ALTERNATING)
        remember_as_schema_1(client, far_off, b"\x01\x01\x01\x04")
        remember_as_schema_1(client, nothing, NOTHING_COUNTED)
        before = client.keys("{0}:ids:*")
        assert len(before) > 3
        assert upgrade(store) == (1, SCHEMA)
        assert client.keys("{0}:ids:*") == []
        buckets = client.keys("{0}:seen:*")
        assert {client.object("encoding", bucket) for bucket in buckets} == {b"listpack"}
        assert {client.expiretime(bucket) for bucket in buckets} == {EXPIRY}
        assert sum(map(client.zcard, buckets)) == len(whole) + 2
    store.prepare()
    outcomes = [store.count(judged(sent)) for sent in (*whole, mixed, far_off, nothing)]
    assert [counted.is_duplicate for counted in outcomes] == [*[True] * (len(whole) + 2), False]
    assert [counted.verdict.accepted for counted in outcomes] == [*[2] * len(whole), 1, 1, 2]
    assert [tally.counts for tally in store.open_snapshot(60, frozenset(), NOON)] == [(0, 0, 1, 1)]


def test_an_upgrade_of_ids_that_broke_off_loses_and_doubles_none(store: RedisStore, embedded_url: str) -> None:
    sent = [upload(upload_id=secrets.token_hex(16)) for _ in range(2 * BUCKET_ENTRIES)]
    with redis.Redis.from_url(embedded_url) as client:
        for each in sent:
            remember_as_schema_1(client, each, b"\0")
        kept = {key: client.dump(key) for key in client.keys("{0}:ids:*")}
        for key, dumped in kept.items():
            STEPS[1](store)
            # as if it had not been removed yet
            client.restore(key, EXPIRY * 1000, dumped, absttl=True)
        STEPS[1](store)
        assert sum(map(client.zcard, client.keys("{0}:seen:*"))) == len(sent)
    assert {store.count(judged(each)) for each in sent} == {(Verdict(1), True)}
