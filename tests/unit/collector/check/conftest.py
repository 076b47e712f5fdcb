"""What tests of checks share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis

from collector.required_settings import ON_DISK
from collector.store.redis_store import RedisStore


@pytest.fixture
def store(embedded_url: str) -> Iterator[RedisStore]:
    """An empty store that no collector has begun to use."""
    with redis.Redis.from_url(embedded_url) as client:
        client.flushall()
    opened = RedisStore(embedded_url, ON_DISK)
    yield opened
    opened.disconnect()
