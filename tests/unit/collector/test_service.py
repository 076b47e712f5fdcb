"""What the service does with a store before it counts."""

from __future__ import annotations

import redis

from collector.service import admit
from collector.store.redis_store import RedisStore
from collector.store.strata import own_editions
from tests.support.services.collecting import REGISTRY


def test_a_store_that_is_ready_for_a_registry_remembers_its_editions(embedded_url: str) -> None:
    with redis.Redis.from_url(embedded_url) as client:
        client.flushall()
    store = RedisStore(embedded_url)
    store.prepare()
    admit(store, REGISTRY)
    assert store.own_editions() == own_editions(REGISTRY)
    store.disconnect()
