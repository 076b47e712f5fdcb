"""A registry of which no window would fit into the store is refused when it is served.

Not only when the store is full for the first time.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis

from client_sdk.protocol import Registry
from collector.errors import ConfigError
from collector.required_settings import ON_DISK
from collector.store.redis_store import RedisStore
from collector.store.tally_memory import require_memory
from tests.support.devices.definitions import BOOLEAN, TEXT, registry_text

TEXTS = Registry.parse(registry_text(a=BOOLEAN, word=TEXT | {"cells": 131_072, "max_length": 16}))
"""1,517,402 symbols, so 12,139,216 bytes."""


@pytest.fixture
def server(embedded_url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(embedded_url) as client:
        client.flushall()
        yield client
        client.config_set("maxmemory", 0)


@pytest.fixture
def store(server: redis.Redis, embedded_url: str) -> Iterator[RedisStore]:
    assert server.dbsize() == 0
    opened = RedisStore(embedded_url, ON_DISK)
    opened.prepare()
    yield opened
    opened.disconnect()


@pytest.mark.slow
def test_the_tallies_of_a_window_must_fit_into_all_that_the_servers_may_use(
    server: redis.Redis, store: RedisStore
) -> None:
    needed = 8 * 1_517_402 * store.layout.shards
    server.config_set("maxmemory", needed)
    require_memory(store, TEXTS)
    server.config_set("maxmemory", needed - 1)
    with pytest.raises(ConfigError) as error:
        require_memory(store, TEXTS)
    assert str(error.value) == (
        f"one window of every question needs up to {needed / 1e6:,.0f} MB in 1 shard, but {needed / 1e6:,.0f} MB "
        "is all that the servers may use: give the servers more memory, or make the tally of metric.word smaller "
        "(for texts, with fewer cells)"
    )


def test_what_an_earlier_run_has_counted_does_not_keep_a_collector_from_its_start(
    server: redis.Redis, store: RedisStore
) -> None:
    server.set("ballast", b"x" * 8 * 10**6)
    server.config_set("maxmemory", 13 * 10**6 * store.layout.shards)
    require_memory(store, TEXTS)
