"""The results of `check`, one by one.

Some are simulated, because a real store would have to be spoiled for them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import pytest
import redis

from client_sdk.protocol import Registry
from collector import check
from collector.check import (
    CheckResult,
    Level,
    check_access,
    check_disk,
    check_registry,
    check_store,
    check_tally_memory,
)
from collector.redis_servers.memory import Memory
from collector.required_settings import ON_DISK
from collector.store import keys
from collector.store.redis_store import RedisStore
from collector.store.tally_memory import TallyMemory
from tests.support.devices.definitions import BOOLEAN, TEXT, registry_text
from tests.support.services.cluster import Cluster
from tests.support.services.collecting import OPEN, REGISTRY, REGISTRY_TEXT, judged, key_entry, report, upload
from tests.support.services.processes import free_port


@pytest.fixture
def store(embedded_url: str) -> Iterator[RedisStore]:
    """An empty store that no collector has begun to use."""
    with redis.Redis.from_url(embedded_url) as client:
        client.flushall()
    opened = RedisStore(embedded_url, ON_DISK)
    yield opened
    opened.disconnect()


TODAY = date(2026, 11, 20)


def texts_about(results: list[CheckResult], what: str) -> list[tuple[Level, str]]:
    return [(result.level, result.text) for result in results if result.subject == what]


def test_a_registry_is_looked_through_metric_by_metric(registry_file: Path) -> None:
    registry, results = check_registry(registry_file, TODAY)
    assert registry == Registry.parse(REGISTRY_TEXT)
    assert [level for level, _ in texts_about(results, "channels")] == [Level.OK]
    warnings = [text for level, text in texts_about(results, "registry") if level is Level.WARNING]
    assert "metric.old expired on 2026-11-10: remove it, or set a later date" in warnings
    assert sum("has no owner" in text for text in warnings) == len(REGISTRY.metrics)
    assert not [text for text in warnings if "metric.os expired" in text]


def test_a_stop_of_an_unknown_metric_is_a_warning(registry_file: Path) -> None:
    registry_file.write_text(f'stopped = ["os:0123456789ab"]\n{REGISTRY_TEXT}')
    _, results = check_registry(registry_file, TODAY)
    sentence = f'"os:0123456789ab"; did you mean "os:{REGISTRY.metric("os").edition}"?'
    (warning,) = (text for level, text in texts_about(results, "registry") if sentence in text)
    assert (Level.WARNING, warning) in texts_about(results, "registry")


def test_every_mistake_of_a_registry_is_a_failure(registry_file: Path) -> None:
    registry_file.write_text(REGISTRY_TEXT.replace("epsilon = 1", "epsilon = 0"))
    registry, results = check_registry(registry_file, TODAY)
    assert registry is None
    assert len(results) == 3
    assert {result.level for result in results} == {Level.FAILED}


def test_a_new_store_is_well_and_left_as_it_is(store: RedisStore) -> None:
    results = list(check_store(store, ON_DISK, REGISTRY))
    assert {result.level for result in results} == {Level.OK}
    assert texts_about(results, "schema") == [(Level.OK, "the store is new")]
    assert "valkey 9" in texts_about(results, "store")[0][1]
    assert "on the store's disk" in texts_about(results, "promise")[0][1]
    assert store.run(0, "DBSIZE") == 0


@pytest.mark.parametrize(("hours", "said"), [(-25, "25 hours ahead of"), (73, "3 days behind")])
def test_a_clock_that_is_wrong_is_a_warning(
    store: RedisStore, monkeypatch: pytest.MonkeyPatch, hours: int, said: str
) -> None:
    own_s = time.time() + hours * 3600
    monkeypatch.setattr("collector.redis_servers.clocks.time", SimpleNamespace(time=lambda: own_s))
    ((level, text),) = texts_about(list(check_store(store, ON_DISK, REGISTRY)), "clocks")
    assert level is Level.WARNING
    assert text.startswith(f"the clock of a server of the store is {said} this machine's")


def test_tallies_of_editions_that_the_registry_does_not_hold_are_named(store: RedisStore) -> None:
    store.prepare()
    store.count(judged(upload(report(), report("os", 1))))
    (known,) = texts_about(list(check_store(store, ON_DISK, REGISTRY)), "editions")
    message = "the store has tallies of 2 question editions; the registry or its history contains each of them"
    assert known == (Level.OK, message)
    edited = Registry.parse(REGISTRY_TEXT.replace('"other"', '"others"'))
    ((level, text),) = texts_about(list(check_store(store, ON_DISK, edited)), "editions")
    assert level is Level.WARNING
    assert f"tallies of os in edition {REGISTRY.metric('os').edition}" in text


@pytest.mark.parametrize(("field", "value", "says"), [("schema", "9", "schema 9"), ("importing", "x", "import again")])
def test_a_store_that_cannot_be_served_is_a_failure(store: RedisStore, field: str, value: str, says: str) -> None:
    store.prepare()
    store.run_on_facts("HSET", keys.STORE, field, value)
    ((level, text),) = texts_about(list(check_store(store, ON_DISK, REGISTRY)), "schema")
    assert (level, says in text) == (Level.FAILED, True)


def test_a_promise_that_a_server_does_not_keep_is_a_failure(store: RedisStore, embedded_url: str) -> None:
    with redis.Redis.from_url(embedded_url) as client:
        client.config_set("appendfsync", "everysec")
        try:
            results = list(check_store(store, ON_DISK, REGISTRY))
        finally:
            client.config_set("appendfsync", "always")
    assert [(result.level, result.subject) for result in results] == [(Level.FAILED, "promise")]
    assert "appendfsync always (now everysec)" in results[0].text


@pytest.mark.parametrize(
    ("setting", "value", "usual"), [("slowlog-log-slower-than", "10000", "-1"), ("aof-timestamp-enabled", "yes", "no")]
)
def test_a_server_that_keeps_when_uploads_came_is_warned_of(
    store: RedisStore, embedded_url: str, setting: str, value: str, usual: str
) -> None:
    with redis.Redis.from_url(embedded_url) as client:
        client.config_set(setting, value)
        try:
            ((level, text),) = texts_about(list(check_store(store, ON_DISK, REGISTRY)), "privacy")
        finally:
            client.config_set(setting, usual)
    assert level is Level.WARNING
    assert f"{setting} {usual}" in text


def test_a_cluster_that_stops_with_one_node_is_a_failure(cluster: Cluster) -> None:
    store = RedisStore(cluster.url, ON_DISK, is_cluster=True)
    (described,) = texts_about(list(check_store(store, ON_DISK, None)), "store")
    assert "servers: 3, replicas: 3" in described[1]
    cluster.nodes[0].client.config_set("cluster-require-full-coverage", "yes")
    try:
        results = list(check_store(store, ON_DISK, None))
    finally:
        cluster.nodes[0].client.config_set("cluster-require-full-coverage", "no")
        store.disconnect()
    assert [(result.level, result.subject) for result in results] == [(Level.FAILED, "promise")]
    assert "cluster-require-full-coverage no (now yes)" in results[0].text


@pytest.mark.slow
def test_a_node_of_a_cluster_that_takes_no_write_is_a_failure(cluster: Cluster) -> None:
    cluster.empty()
    store = RedisStore(cluster.url, ON_DISK, is_cluster=True)
    for full in [node for node in cluster.nodes if node.is_master()]:
        assert texts_about(list(check_store(store, ON_DISK, None)), "write") == [
            (Level.OK, "the store accepted a write")
        ]
        full.client.config_set("min-replicas-to-write", 5)
        try:
            results = list(check_store(store, ON_DISK, None))
        finally:
            full.client.config_set("min-replicas-to-write", 0)
        assert texts_about(results, "write") == []
        assert [text for level, text in texts_about(results, "store") if level is Level.FAILED]
    store.disconnect()


def test_a_store_that_does_not_answer_is_a_failure() -> None:
    store = RedisStore(f"redis://127.0.0.1:{free_port()}", ON_DISK)
    (result,) = check_store(store, ON_DISK, REGISTRY)
    assert (result.level, result.subject) == (Level.FAILED, "store")


@pytest.mark.parametrize(
    ("used", "limit", "level"),
    [(74, 100, Level.OK), (75, 100, Level.WARNING), (95, 100, Level.FAILED), (95, 0, Level.OK), (950, 0, Level.FAILED)],
)
def test_memory_is_compared_with_the_limit_or_else_with_the_machine(used: int, limit: int, level: Level) -> None:
    facts = {"used_memory": str(used), "maxmemory": str(limit), "total_system_memory": "1000"}
    assert check._memory(Memory.from_info(facts)).level is level


class Usage(NamedTuple):
    free: int


@pytest.mark.parametrize(("free", "level"), [(10**9, Level.OK), (10**9 - 1, Level.WARNING)])
def test_a_disk_needs_room_for_a_rewrite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, level: Level
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: Usage(free))
    assert check_disk(tmp_path / "not" / "yet").level is level


UPLOAD, READ = key_entry("app", "upload", "one"), key_entry("dashboard", "read", "two")
RELAY = key_entry("edge", "relay", "three")
KEYS_ONLY = 'uploads = "keys"\n'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (UPLOAD + READ, [(Level.OK, "1 upload, 1 read, 0 relay")]),
        (OPEN + READ, [(Level.OK, "0 upload, 1 read, 0 relay"), (Level.OK, "anyone may report")]),
        (KEYS_ONLY + READ, [(Level.OK, "0 upload, 1 read, 0 relay"), (Level.WARNING, "only relays may report")]),
        (KEYS_ONLY + READ + RELAY, [(Level.OK, "0 upload, 1 read, 1 relay"), (Level.OK, "only relays may report")]),
        (READ, [(Level.FAILED, "uploads: is missing, and there is no upload key")]),
        (UPLOAD, [(Level.OK, "1 upload, 0 read, 0 relay"), (Level.WARNING, "no key may read tallies")]),
        (
            UPLOAD + key_entry("some", "read", "two", 'metrics = ["os", "oz"]'),
            [(Level.OK, "1 upload, 1 read, 0 relay"), (Level.WARNING, "some may read oz, which the registry does not")],
        ),
        ("[[key]]", [(Level.FAILED, "name: is missing"), (Level.FAILED, "role"), (Level.FAILED, "sha256")]),
    ],
)
def test_keys_are_looked_through(tmp_path: Path, text: str, expected: list[tuple[Level, str]]) -> None:
    (tmp_path / "access.toml").write_text(text)
    results = list(check_access(tmp_path / "access.toml", REGISTRY))
    assert [result.level for result in results] == [level for level, _ in expected]
    assert all(part in result.text for result, (_, part) in zip(results, expected, strict=True))


def test_keys_are_not_held_against_a_registry_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "access.toml").write_text(UPLOAD + key_entry("some", "read", "two", 'metrics = ["oz"]'))
    assert {result.level for result in check_access(tmp_path / "access.toml", None)} == {Level.OK}


TEXTS = Registry.parse(registry_text(a=BOOLEAN, word=TEXT | {"cells": 131_072, "max_length": 16}))
"""1,517,400 symbols of texts."""


@pytest.mark.parametrize(
    ("shards", "free_bytes", "level", "said"),
    [
        (1, [20_000_000], Level.OK, "needs up to 12 MB in 1 shard"),
        (64, [400_000_000, 0, 400_000_000], Level.OK, "needs up to 777 MB in 64 shards"),
        (64, [300_000_000, 0, 400_000_000], Level.FAILED, "needs up to 777 MB in 64 shards, but 700 MB are free"),
        (1, [0], Level.FAILED, "make the tally of metric.word smaller (for texts, with fewer cells)"),
    ],
)
def test_a_window_of_every_metric_must_fit(shards: int, free_bytes: list[int], level: Level, said: str) -> None:
    result = check_tally_memory(TallyMemory.from_registry(TEXTS, shards), free_bytes)
    assert result.level is level
    assert said in result.text


def test_fewer_cells_make_smaller_tallies() -> None:
    small = Registry.parse(registry_text(word=TEXT | {"cells": 16_384, "max_length": 16}))
    assert check_tally_memory(TallyMemory.from_registry(small, 64), [100_000_000]).level is Level.OK


def test_strata_have_tallies_of_their_own() -> None:
    text = registry_text(a=BOOLEAN | {"strata": ["platform"]}) + '[strata]\nplatform = ["x", "y"]\n'
    needed = TallyMemory.from_registry(Registry.parse(text), 1)
    assert check_tally_memory(needed, [48]).level is Level.OK
    assert check_tally_memory(needed, [47]).level is Level.FAILED


def room(store: RedisStore) -> str:
    (text,) = (each.text for each in check_store(store, ON_DISK, TEXTS) if each.subject == "room")
    return text


def test_the_shards_are_those_of_the_store_and_of_a_new_one_only_if_there_is_none(store: RedisStore) -> None:
    assert room(store) == "one window of every question needs up to 12 MB in 1 shard, as a new store has"
    store.prepare()
    assert room(store) == "one window of every question needs up to 12 MB in 1 shard"
    store.run_on_facts("HSET", keys.STORE, "shards", 64)  # as one that came from a cluster
    assert room(store).startswith("one window of every question needs up to 777 MB in 64 shards")
