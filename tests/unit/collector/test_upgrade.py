"""Stores of other schemas: a newer one is refused, an older one is upgraded step by step and refused until then."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis

from collector import keys
from collector.config import ConfigError
from collector.redis_store import RedisStore
from collector.schema import SCHEMA, Purpose, require_usable
from collector.store import StoreUnavailableError
from collector.upgrade import STEPS, upgrade


@pytest.fixture
def store(embedded_url: str) -> Iterator[RedisStore]:
    with redis.Redis.from_url(embedded_url) as client:
        client.flushall()
    used = RedisStore(embedded_url)
    used.prepare()
    yield used
    used.disconnect()


def schema_of(store: RedisStore) -> int:
    return int(store.facts()["schema"])


def test_a_step_leads_from_every_older_schema_to_this_one() -> None:
    assert sorted(STEPS) == list(range(1, SCHEMA))


def test_a_newer_store_is_refused_whatever_it_is_opened_for(store: RedisStore) -> None:
    store.tell("HSET", keys.STORE, "schema", SCHEMA + 1)
    for purpose in Purpose:
        with pytest.raises(ConfigError, match="use the version of Hearsay that wrote it"):
            store.prepare(purpose)


def test_an_older_store_is_opened_for_an_upgrade_only(store: RedisStore) -> None:
    store.tell("HSET", keys.STORE, "schema", SCHEMA - 1)
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


def test_an_upgrade_that_broke_off_goes_on_with_the_step_that_broke(store: RedisStore) -> None:
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


def test_a_missing_step_changes_nothing(store: RedisStore) -> None:
    with pytest.raises(ConfigError, match="upgrade with an earlier one first"):
        upgrade(store, {SCHEMA: lambda _: None}, SCHEMA + 2)
    assert schema_of(store) == SCHEMA
