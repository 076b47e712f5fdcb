"""What a backup takes of a store: no more than it was refused for, however short it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import date, timedelta
from hashlib import sha256
from pathlib import Path

import pytest
import redis

from client_sdk.protocol import Registry
from collector.backup.lines import (
    MOST_SYMBOLS,
    BackupError,
    BackupLine,
    Bucket,
    ClosedWindows,
    Editions,
    End,
    Header,
    TallyLine,
    encode,
)
from collector.backup.restore import check, restore
from collector.backup.store_filler import StoreFiller, require_room
from collector.errors import ConfigError
from collector.store import keys
from collector.store.facts import SCHEMA, Purpose
from collector.store.redis_store import RedisStore
from tests.support.services.collecting import NOON, REGISTRY, REGISTRY_TEXT, TODAY

GONE = "0123456789ab"
"""An edition that no registry defines any more."""

YEAR_9998 = int(NOON) + 7971 * 365 * 86_400


def days(number: int) -> list[str]:
    """Return the names of days, from 1970 on."""
    return [(date(1970, 1, 1) + timedelta(days=day)).isoformat() for day in range(number)]


def written(path: Path, lines: Iterable[BackupLine]) -> Path:
    """Write a backup of these lines."""
    encoded = [encode(line) for line in (Header(SCHEMA, 1, 259_200, None), *lines)]
    content = b"".join(encoded)
    path.write_bytes(content + encode(End(len(encoded), sha256(content).hexdigest())))
    return path


def alone(number: int) -> Bucket:
    """Return a bucket of a single upload, under a window of its own."""
    return Bucket(YEAR_9998 + number, YEAR_9998 + number, (sha256(b"%d" % number).digest()[:16] + b"\0",))


HUNGRY: dict[str, Callable[[], list[BackupLine]]] = {
    "one report of the last symbol": lambda: [TallyLine("os", GONE, TODAY, MOST_SYMBOLS, {MOST_SYMBOLS - 1: 1})],
    "windows in every shard": lambda: [ClosedWindows(tuple(days(2000)))],
    "uploads one by one": lambda: [alone(number) for number in range(2000)],
    "uploads together": lambda: [
        Bucket(YEAR_9998, YEAR_9998, tuple(sha256(b"%d" % number).digest()[:16] + b"\0" for number in range(2000)))
    ],
    "tallies without reports": lambda: [TallyLine("os", GONE, day, 2, {}) for day in days(1000)],
    "strata": lambda: [Editions({f"m{number}:{GONE}": GONE for number in range(2000)})],
}


@pytest.fixture
def client(embedded_url: str) -> Iterator[redis.Redis]:
    """An empty store, as seen by an administrator."""
    with redis.Redis.from_url(embedded_url) as client:
        client.flushall()
        yield client
        client.config_set("maxmemory", 0)
        client.flushall()


def used_bytes(client: redis.Redis) -> int:
    return int(client.info("memory")["used_memory"])


def store_of(embedded_url: str, client: redis.Redis, shards: int) -> RedisStore:
    """Return a new store of so many shards."""
    client.hset(keys.STORE, "shards", str(shards))
    store = RedisStore(embedded_url)
    store.prepare(Purpose.IMPORT)
    return store


@pytest.mark.slow
@pytest.mark.parametrize(("hungry", "shards"), [*((hungry, 1) for hungry in HUNGRY), ("windows in every shard", 64)])
def test_a_store_takes_no_more_for_a_backup_than_is_asked_for(
    hungry: str, shards: int, embedded_url: str, client: redis.Redis, tmp_path: Path
) -> None:
    path = written(tmp_path / "backup", HUNGRY[hungry]())
    store, contents = store_of(embedded_url, client, shards), check(path)
    before = used_bytes(client)
    restore(path, contents, StoreFiller(store), lambda _: None)
    store.disconnect()
    assert used_bytes(client) - before <= contents.demand.total_bytes(shards)


HOSTILE = [TallyLine("os", GONE, day, MOST_SYMBOLS, {MOST_SYMBOLS - 1: 1}) for day in days(8)]
"""A gigabyte of the store within 1,390 bytes, of an edition that a registry may have had."""


def test_a_short_backup_of_huge_tallies_is_refused_before_anything_is_written(
    embedded_url: str, client: redis.Redis, tmp_path: Path
) -> None:
    path = written(tmp_path / "backup", HOSTILE)
    assert path.stat().st_size <= 1390
    client.config_set("maxmemory", used_bytes(client) + 10**9)
    contents, store = check(path), RedisStore(embedded_url)
    with pytest.raises(
        ConfigError, match=r"needs up to 1.1 GB .* line 2, is that of metric\.os .* 16,777,216 symbols \(134 MB"
    ):
        require_room(store, contents.digest, contents.demand)
    store.disconnect()
    assert client.dbsize() == 0


@pytest.mark.slow
def test_windows_that_every_shard_would_note_are_refused_where_there_is_no_room(
    embedded_url: str, client: redis.Redis, tmp_path: Path
) -> None:
    path = written(tmp_path / "backup", [ClosedWindows(tuple(days(20_000)))])
    client.config_set("maxmemory", used_bytes(client) + 20 * path.stat().st_size)
    contents, store = check(path), RedisStore(embedded_url)
    require_room(store, contents.digest, contents.demand)
    client.hset(keys.STORE, "shards", "64")
    with pytest.raises(ConfigError, match="the backup needs up to 77 MB of the store"):
        require_room(store, contents.digest, contents.demand)
    store.disconnect()


def test_an_import_that_was_begun_goes_on_in_the_room_that_it_has_taken(
    embedded_url: str, client: redis.Redis, tmp_path: Path
) -> None:
    path = written(tmp_path / "backup", HOSTILE[:1])
    contents, store = check(path), store_of(embedded_url, client, 1)
    assert StoreFiller(store).begin(contents.digest)
    client.config_set("maxmemory", used_bytes(client) + 2**20)
    require_room(store, contents.digest, contents.demand)
    with pytest.raises(ConfigError, match="needs up to 134 MB"):
        require_room(store, "another", contents.demand)
    store.disconnect()


OS = REGISTRY.metric("os")
STRATA = Registry.parse(
    REGISTRY_TEXT.replace("[metric.os]", '[metric.os]\nstrata = ["platform"]') + '[strata]\nplatform = ["ios"]\n'
).metric("os")


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (
            [TallyLine("os", OS.edition, TODAY, MOST_SYMBOLS, {MOST_SYMBOLS - 1: 1})],
            r"line 2: the tally of metric\.os has 16,777,216 symbols, but 4 according to the registry: the file",
        ),
        (
            [TallyLine("os", GONE, day, 4 + number, {3: 1}) for number, day in enumerate(days(2))],
            r"line 3: the tally of metric\.os has 5 symbols, but another tally of the same question, in line 2, has 4",
        ),
        (
            [
                TallyLine("os", STRATA.editions[1], TODAY, 5, {4: 1}),
                TallyLine("os", OS.edition, TODAY, 4, {3: 1}),
                Editions({f"os:{edition}": OS.edition for edition in STRATA.editions}),
            ],
            r"line 2: the tally of metric\.os has 5 symbols, but another tally of the same question, in line 3, has 4",
        ),
        ([TallyLine("os", GONE, TODAY, 4, {0: 1})] * 2, "line 3 repeats the tally of line 2: the file was changed"),
    ],
)
def test_tallies_that_no_store_has_are_refused_by_line_and_metric(
    lines: list[BackupLine], problem: str, tmp_path: Path
) -> None:
    with pytest.raises(BackupError, match=problem):
        check(written(tmp_path / "backup", lines), REGISTRY)


def test_tallies_of_editions_that_the_registry_no_longer_has_are_imported(
    embedded_url: str, client: redis.Redis, tmp_path: Path
) -> None:
    known, former = TallyLine("os", OS.edition, TODAY, 4, {3: 1}), TallyLine("os", GONE, TODAY, 900, {899: 1})
    contents = check(written(tmp_path / "backup", [known, former, ClosedWindows((TODAY,))]), REGISTRY)
    store = store_of(embedded_url, client, 1)
    require_room(store, contents.digest, contents.demand)
    assert restore(tmp_path / "backup", contents, StoreFiller(store), lambda _: None)
    assert {tally.edition: len(tally.counts) for tally in store.closed_tallies(frozenset({TODAY}))} == {
        OS.edition: 4,
        GONE: 900,
    }
    store.disconnect()
