"""What uploads leave in a real store is bounded by what they add to tallies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import redis

from client_sdk.protocol import MAX_REPORTS
from collector.judge import Judgement
from collector.store.count_script import MOST_BYTES
from collector.store.redis_store import RedisStore
from collector.store.store_protocol import CountedUpload
from tests.support.services.collecting import judged
from tests.support.services.hostile_uploads import HONEST, HOSTILE, Kind

UPLOADS = 1500
"""Enough to fill buckets on two levels and start a third."""

ROUNDING_BYTES = 1
"""How far two averages may differ because buckets are filled differently."""


@pytest.fixture
def client(embedded_url: str) -> Iterator[Any]:
    with redis.Redis.from_url(embedded_url) as connection:
        yield connection


def judgements(kind: Kind) -> list[Judgement]:
    """Judge uploads of a kind; those that differ in their ids only are judged once."""
    uploads, judged_once = [kind.make(number) for number in range(UPLOADS)], dict[int, Judgement]()
    for upload in uploads:
        if id(upload.reports) not in judged_once:
            judged_once[id(upload.reports)] = judged(upload)
    return [judged_once[id(upload.reports)]._replace(upload=upload.id) for upload in uploads]


def left_bytes(client: Any, store: RedisStore, kind: Kind) -> float:
    """Return the bytes, without tallies, that an upload of a kind leaves behind."""
    client.flushall()
    store.prepare()
    before = set(client.keys())
    for outcome in store.count_all(judgements(kind)):
        assert isinstance(outcome, CountedUpload)
        assert outcome.verdict.accepted == kind.counted
    left: int = sum(client.memory_usage(key, samples=0) for key in set(client.keys("{0}:seen:*")) - before)
    return left / UPLOADS


@pytest.fixture(scope="module")
def honest(embedded_url: str) -> Iterator[float]:
    with redis.Redis.from_url(embedded_url) as connection:
        store = RedisStore(embedded_url)
        yield left_bytes(connection, store, HONEST)
        store.disconnect()


@pytest.mark.slow
@pytest.mark.parametrize("kind", HOSTILE.values(), ids=HOSTILE)
def test_no_upload_leaves_more_than_an_honest_one_and_a_byte_for_each_counted_report(
    client: Any, embedded_url: str, honest: float, kind: Kind
) -> None:
    store = RedisStore(embedded_url)
    left = left_bytes(client, store, kind)
    assert left <= (honest + min(kind.counted, MOST_BYTES) + ROUNDING_BYTES if kind.counted else 0)
    assert {client.object("encoding", key) for key in client.keys("{0}:seen:*")} <= {b"listpack"}
    store.disconnect()


def test_hostile_uploads_include_some_with_no_few_and_many_counted_reports() -> None:
    assert {0, 1, MAX_REPORTS // 2} <= {kind.counted for kind in HOSTILE.values()}
