"""Backups of a store that counts: every upload is whole or missing, and never counted twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import redis

from client_sdk.protocol import Upload, Verdict, Window
from collector.backup import restore
from collector.backup.export import backup
from collector.backup.lines import BackupError, Bucket, Editions, End, encode
from collector.backup.restore import read_backup
from collector.backup.store_filler import StoreFiller
from collector.backup.store_reader import BucketState, ShardCut, StoredBucket, StoreReader
from collector.errors import ConfigError, StoreUnavailableError
from collector.required_settings import ON_DISK
from collector.retention import RedisRetirement, TallyName
from collector.store import keys
from collector.store.facts import SCHEMA, Purpose
from collector.store.redis_store import RedisStore, agree_on_settings
from collector.store.shards import Shards
from collector.store.store_protocol import CountedUpload
from tests.support.services.cluster import Cluster
from tests.support.services.collecting import REGISTRY, TODAY, judged, report, upload

WEEK = "2026-W47"

OS = TallyName("os", REGISTRY.metric("os").edition, TODAY)

Opener = Callable[..., RedisStore]


def nothing(_: int) -> None:
    pass


@pytest.fixture
def opened(embedded_url: str) -> Iterator[Opener]:
    """Opens one of several stores on one server."""
    stores = []
    with redis.Redis.from_url(embedded_url) as client:
        client.flushall()

    def open_store(number: int, *, shards: int = 1, purpose: Purpose = Purpose.USE) -> RedisStore:
        url = f"{embedded_url}?db={number}"
        with redis.Redis.from_url(url) as client:
            client.hsetnx(keys.STORE, "schema", str(SCHEMA))
            client.hsetnx(keys.STORE, "shards", str(shards))
        store = RedisStore(url)
        store.prepare(purpose)
        stores.append(store)
        return store

    yield open_store
    for store in stores:
        store.disconnect()


def mixed_uploads(count: int) -> list[Upload]:
    """Return uploads of one to three windows and metrics, some of whose reports are refused."""
    mixed = [
        (report("os", 3),),
        (report(), report("os", 9)),
        (report("plan", 1, WEEK), report("os", 0), report(window="2026-11-19")),
    ]
    return [upload(*mixed[index % len(mixed)]) for index in range(count)]


def count(store: RedisStore, uploads: Iterable[Upload]) -> list[CountedUpload]:
    """Count uploads in one round trip."""
    outcomes = store.count_all([judged(sent) for sent in uploads])
    assert not [outcome for outcome in outcomes if isinstance(outcome, Exception)]
    return [outcome for outcome in outcomes if not isinstance(outcome, Exception)]


def written(store: RedisStore, path: Path) -> Path:
    path.write_bytes(b"".join(backup(StoreReader(store), "acme-notes", nothing)))
    return path


def put(path: Path, target: RedisStore) -> bool:
    return restore.restore(path, restore.check(path), StoreFiller(target), nothing)


def state(store: RedisStore) -> tuple[object, ...]:
    """Return everything that a backup must hold."""
    parts = [StoreReader(store).cut(shard, {}) for shard in range(store.layout.shards)]
    ids = {
        (member, stored.bucket.latest_end)
        for part in parts
        for stored in part.changed
        for member in stored.bucket.members
    }
    tallies = {
        (tally.metric, tally.window, tally.counts)
        for tally in (*store.closed_tallies(store.closed_windows()), *store.open_tallies(frozenset()))
    }
    return ids, tallies, store.closed_windows(), store.tallied_windows(), StoreReader(store).header(None).grace_s


@pytest.mark.slow
@pytest.mark.parametrize(("before", "after"), [(1, 1), (1, 64), (4, 1)])
def test_everything_is_in_the_new_store_whatever_its_shards(
    opened: Opener, tmp_path: Path, before: int, after: int
) -> None:
    old, new = opened(0, shards=before), opened(1, shards=after, purpose=Purpose.IMPORT)
    agree_on_settings(old, 7, copies=0)
    sent = mixed_uploads(400)
    verdicts = [counted.verdict for counted in count(old, sent)]
    old.close(Window.parse("2026-11-19"))
    assert put(written(old, tmp_path / "backup"), new)
    assert state(new) == state(old)
    repeated = count(new, sent)
    assert repeated == count(old, sent)
    assert [counted.verdict for counted in repeated] == verdicts
    assert state(new) == state(old)


def test_what_is_a_stratum_of_what_stays_known_and_a_backup_of_format_1_knows_of_none(
    opened: Opener, tmp_path: Path
) -> None:
    old, new, older = opened(0), opened(1, purpose=Purpose.IMPORT), opened(2, purpose=Purpose.IMPORT)
    editions = {"os:0123456789ab": "3fb1c02a77d9", "os:3fb1c02a77d9": "3fb1c02a77d9"}
    old.remember_editions(editions)
    count(old, mixed_uploads(3))
    path = written(old, tmp_path / "backup")
    put(path, new)
    assert new.own_editions() == editions
    lines = [line for line in read_backup(path) if not isinstance(line, (Editions, End))]
    body = b"".join(map(encode, lines))
    path.write_bytes(body + encode(End(len(lines), sha256(body).hexdigest())))
    put(path, older)
    assert older.own_editions() == {}
    assert state(older) == state(new)


def test_ids_are_remembered_for_as_long_as_before(opened: Opener, tmp_path: Path) -> None:
    old, new = opened(0), opened(1, shards=4, purpose=Purpose.IMPORT)
    count(old, mixed_uploads(300))
    put(written(old, tmp_path / "backup"), new)

    def expiries(store: RedisStore) -> set[tuple[int, int]]:
        reader = StoreReader(store)
        buckets = [stored.bucket for shard in range(store.layout.shards) for stored in reader.buckets(shard)]
        return {(bucket.latest_end, bucket.expires_at) for bucket in buckets}

    assert expiries(new) == expiries(old)
    assert all(expires_at > latest_end for latest_end, expires_at in expiries(new))


def test_restored_buckets_stay_small_and_are_filled_from_the_top(opened: Opener, tmp_path: Path) -> None:
    old, new = opened(0), opened(1, purpose=Purpose.IMPORT)
    sent = mixed_uploads(3000)
    count(old, sent)
    put(written(old, tmp_path / "backup"), new)
    sizes = {stored.key.decode(): len(stored.bucket.members) for stored in StoreReader(new).buckets(0)}
    assert max(sizes.values()) == 128
    assert sum(sizes.values()) == 3000
    for key in sizes:
        base, _, path = key.rpartition(":")
        assert not path or sizes[f"{base}:{path[:-1]}"] == 128


class Counting(StoreReader):
    """A store that goes on counting after every page of buckets and just before each cut."""

    def __init__(self, store: RedisStore, later: Iterable[Upload]) -> None:
        super().__init__(store)
        self._counting_store = store
        self._later = iter(later)

    def _count(self, most: int) -> None:
        count(self._counting_store, islice(self._later, most))

    def buckets(self, shard: int) -> Iterator[StoredBucket]:
        for stored in super().buckets(shard):
            self._count(3)
            yield stored

    def cut(self, shard: int, known: Mapping[bytes, BucketState]) -> ShardCut:
        self._count(100)
        cut = super().cut(shard, known)
        self._count(50)
        return cut


@pytest.mark.slow
@pytest.mark.parametrize("shards", [1, 4])
def test_an_upload_that_comes_during_an_export_is_in_it_whole_or_not_at_all(
    opened: Opener, tmp_path: Path, shards: int
) -> None:
    old, new = opened(0, shards=shards), opened(1, shards=8, purpose=Purpose.IMPORT)
    early, late = mixed_uploads(600), mixed_uploads(900)
    count(old, early)
    path = tmp_path / "backup"
    path.write_bytes(b"".join(backup(Counting(old, late), None, nothing)))
    count(old, late)
    put(path, new)
    assert all(counted.is_duplicate for counted in count(new, early))
    assert 0 < sum(counted.is_duplicate for counted in count(new, late)) < len(late)
    assert state(new) == state(old)


def test_a_window_that_closes_during_an_export_is_closed_in_it_only_if_its_tallies_are_final(
    opened: Opener, tmp_path: Path
) -> None:
    old, new = opened(0, shards=4), opened(1, purpose=Purpose.IMPORT)

    class Closing(StoreReader):
        def cut(self, shard: int, known: Mapping[bytes, BucketState]) -> ShardCut:
            if shard == 2:
                old.close(Window.parse(TODAY))
            return super().cut(shard, known)

    old.close(Window.parse("2026-11-19"))
    count(old, mixed_uploads(40))
    path = tmp_path / "backup"
    path.write_bytes(b"".join(backup(Closing(old), None, nothing)))
    put(path, new)
    assert new.closed_windows() == {"2026-11-19"}
    new.close(Window.parse(TODAY))
    assert state(new) == state(old)


def test_a_tally_that_is_retired_during_an_export_is_whole_or_missing(opened: Opener, tmp_path: Path) -> None:
    old, new = opened(0, shards=4), opened(1, purpose=Purpose.IMPORT)

    class Retiring(StoreReader):
        def counts(self, shard: int, name: str, symbols: int) -> tuple[int, ...]:
            if shard == 1:
                RedisRetirement(old).retire([OS])
            return super().counts(shard, name, symbols)

    count(old, [upload(report("os", 1), report(), upload_id=f"{number:032x}") for number in range(40)])
    old.close(Window.parse(TODAY))
    path = tmp_path / "backup"
    path.write_bytes(b"".join(backup(Retiring(old), None, nothing)))
    put(path, new)
    assert [(tally.metric, sum(tally.counts)) for tally in new.closed_tallies(new.closed_windows())] == [
        ("dark_mode", 40)
    ]


class BreakingHandle:
    """A store that stops answering after a number of steps."""

    def __init__(self, handle: Shards, steps: int) -> None:
        self._handle = handle
        self._steps = steps

    def __getattr__(self, name: str) -> Any:
        if name in ("run", "run_on_facts"):
            self._step()
        return getattr(self._handle, name)

    def _step(self) -> None:
        if not self._steps:
            raise StoreUnavailableError("for the test")
        self._steps -= 1


def breaking(store: RedisStore, steps: int) -> StoreFiller:
    filler = StoreFiller(store)
    vars(filler)["store"] = BreakingHandle(store, steps)
    return filler


def test_an_import_that_breaks_off_anywhere_continues_and_counts_nothing_twice(opened: Opener, tmp_path: Path) -> None:
    old, new = opened(0), opened(1, shards=4, purpose=Purpose.IMPORT)
    sent = mixed_uploads(20)
    count(old, sent)
    old.close(Window.parse("2026-11-19"))
    path = written(old, tmp_path / "backup")
    contents, steps, is_done = restore.check(path), 0, False
    while not is_done:
        try:
            is_done = restore.restore(path, contents, breaking(new, steps), nothing)
        except StoreUnavailableError:
            steps += 1
        assert steps < 200
    assert steps > 10
    assert state(new) == state(old)
    assert all(counted.is_duplicate for counted in count(new, sent))


def test_a_store_with_a_part_of_a_backup_is_not_served(opened: Opener, tmp_path: Path) -> None:
    old, new = opened(0), opened(1, purpose=Purpose.IMPORT)
    path, other = written(old, tmp_path / "backup"), tmp_path / "other"
    old.count(judged(upload()))
    written(old, other)
    with pytest.raises(StoreUnavailableError):
        restore.restore(path, restore.check(path), breaking(new, 5), nothing)
    with pytest.raises(ConfigError, match="run hearsay-collector store import again"):
        opened(1)
    with pytest.raises(ConfigError, match="import that backup again"):
        put(other, new)
    assert put(path, new)
    opened(1)


def test_of_two_imports_that_begin_at_once_one_is_refused(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    store = opened(1, purpose=Purpose.IMPORT)
    first, second = StoreFiller(store), StoreFiller(store)

    def overtaken() -> bool:
        assert first.begin("one backup")
        return True

    monkeypatch.setattr(second, "_is_empty", overtaken)
    with pytest.raises(ConfigError, match="the import of another backup into the store was started"):
        second.begin("another backup")
    assert store.facts()["importing"] == "one backup"


def test_a_backup_is_put_once_even_if_the_store_has_counted_since(opened: Opener, tmp_path: Path) -> None:
    old, new = opened(0), opened(1, purpose=Purpose.IMPORT)
    old.count(judged(upload()))
    path = written(old, tmp_path / "backup")
    assert put(path, new)
    new.count(judged(upload()))
    assert not put(path, new)
    assert [tally.counts for tally in new.open_tallies(frozenset())] == [(0, 2)]


@pytest.mark.parametrize(
    "used", [lambda store: store.count(judged(upload())), lambda store: store.close(Window.parse(TODAY))]
)
def test_a_store_in_use_takes_no_backup(opened: Opener, tmp_path: Path, used: Callable[[RedisStore], object]) -> None:
    old, new = opened(0), opened(1, shards=4)
    used(new)
    before = state(new)
    with pytest.raises(ConfigError, match="only be imported into an empty store"):
        put(written(old, tmp_path / "backup"), new)
    assert state(new) == before
    opened(1)


@pytest.fixture
def lines(opened: Opener, tmp_path: Path) -> list[bytes]:
    """The lines of a valid backup."""
    old = opened(0)
    count(old, mixed_uploads(10))
    return written(old, tmp_path / "sound").read_bytes().splitlines(keepends=True)


def test_a_file_that_is_cut_anywhere_is_refused_before_anything_is_changed(lines: list[bytes], tmp_path: Path) -> None:
    path = tmp_path / "backup"
    whole = b"".join(lines)
    for length in (0, 1, len(lines[0]), len(lines[0]) + 9, len(whole) - len(lines[-1]), len(whole) - 2):
        path.write_bytes(whole[:length])
        with pytest.raises(
            BackupError, match=r"is incomplete: its last line, \d+|line \d+ is not JSON, or is incomplete"
        ):
            restore.check(path)


def test_a_changed_missing_or_doubled_line_is_named(lines: list[bytes], tmp_path: Path) -> None:
    path, last = tmp_path / "backup", len(lines)
    damaged = {
        f"line {last} does not match": [lines[0], lines[1].replace(b'"latest_end":1', b'"latest_end":2'), *lines[2:]],
        f"line {last - 1} does not match": [lines[0], *lines[2:]],
        f"line {last + 1} does not match": [*lines[:2], lines[1], *lines[2:]],
        "line 3 is a second header": [*lines[:2], lines[0], *lines[2:]],
        "line 1 should be the header": lines[1:],
        f"line {last + 1} follows the end of the backup": [*lines, lines[1]],
        "line 2 is not JSON": [lines[0], b"x" + lines[1], *lines[2:]],
        "line 1 is damaged": [b'{"metric":"os"}\n'],
    }
    for problem, content in damaged.items():
        path.write_bytes(b"".join(content))
        with pytest.raises(BackupError, match=problem):
            restore.check(path)
    with pytest.raises(BackupError, match="cannot be read"):
        restore.check(tmp_path / "none")


def test_a_file_that_changes_between_checking_and_importing_leaves_the_import_unfinished(
    opened: Opener, lines: list[bytes], tmp_path: Path
) -> None:
    path = tmp_path / "sound"
    contents = restore.check(path)
    opened(0).count(judged(upload()))
    written(opened(0), path)
    with pytest.raises(BackupError, match="changed during the import"):
        restore.restore(path, contents, StoreFiller(opened(1, purpose=Purpose.IMPORT)), nothing)
    with pytest.raises(ConfigError):
        opened(1)
    assert lines


def test_expired_ids_are_not_brought_back(opened: Opener, tmp_path: Path) -> None:
    new = opened(1, purpose=Purpose.IMPORT)
    StoreFiller(new).remember([Bucket(86_400, 172_800, (bytes(16) + b"\0",))])
    assert list(StoreReader(new).buckets(0)) == []
    assert tmp_path


def test_verdicts_of_restored_uploads_are_the_first_ones(opened: Opener, tmp_path: Path) -> None:
    old, new = opened(0), opened(1, shards=16, purpose=Purpose.IMPORT)
    old.close(Window.parse(TODAY))
    sent = upload(report(), report("os", 1), report("plan", 1, WEEK))
    first = old.count(judged(sent)).verdict
    assert first.accepted == 1
    put(written(old, tmp_path / "backup"), new)
    assert new.count(judged(sent)) == (first, True)
    assert new.count(judged(upload())).verdict == Verdict(1, first.refused[:1])


@pytest.mark.slow
def test_a_store_may_grow_from_one_server_to_a_cluster_and_go_back(
    opened: Opener, cluster: Cluster, tmp_path: Path
) -> None:
    cluster.empty()
    old, back = opened(0), opened(1, purpose=Purpose.IMPORT)
    grown = RedisStore(cluster.url, ON_DISK, is_cluster=True)
    grown.prepare(Purpose.IMPORT)
    sent = mixed_uploads(300)
    count(old, sent[:200])
    old.close(Window.parse("2026-11-19"))
    put(written(old, tmp_path / "backup"), grown)
    assert grown.layout.shards == 64
    assert state(grown) == state(old)
    assert all(counted.is_duplicate for counted in count(grown, sent[:200]))
    path = tmp_path / "of the cluster"
    path.write_bytes(b"".join(backup(Counting(grown, sent[200:]), None, nothing)))
    put(path, back)
    count(grown, sent)
    count(back, sent)
    assert state(back) == state(grown)
    grown.disconnect()


def test_no_backup_is_taken_of_a_cluster_whose_slots_are_moving(cluster: Cluster) -> None:
    cluster.empty()
    store = RedisStore(cluster.url, ON_DISK, is_cluster=True)
    store.prepare()
    giver, taker = [node for node in cluster.nodes if node.is_master()][:2]
    slot = next(first for first, _, holder, *_ in giver.ask("CLUSTER", "SLOTS") if str(holder[2]) == giver.id())
    giver.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", taker.id())
    try:
        with pytest.raises(ConfigError, match="slots of the cluster are moving"):
            list(backup(StoreReader(store), None, nothing))
    finally:
        giver.ask("CLUSTER", "SETSLOT", slot, "STABLE")
    assert list(backup(StoreReader(store), None, nothing))
    store.disconnect()


def test_a_backup_during_which_a_server_was_replaced_has_no_end(opened: Opener) -> None:
    class Replaced(StoreReader):
        def cut(self, shard: int, known: Mapping[bytes, BucketState]) -> ShardCut:
            self.servers = lambda: "another server"  # type: ignore[method-assign] # once
            return super().cut(shard, known)

    seen: list[bytes] = []
    with pytest.raises(BackupError, match="take the backup again"):
        seen.extend(backup(Replaced(opened(0)), None, nothing))
    assert not any(b'"end"' in line for line in seen)


@pytest.mark.slow
@pytest.mark.parametrize("shards", [1, 4])
@pytest.mark.parametrize("metric", ["os", "dark_mode"])
@pytest.mark.parametrize("step", ["close_all", "remember"])
def test_a_collector_that_counts_during_an_import_is_noticed(
    opened: Opener, tmp_path: Path, shards: int, metric: str, step: str
) -> None:
    old, new = opened(0), opened(1, shards=shards, purpose=Purpose.IMPORT)
    count(old, [upload(report("os", 1))] * 3)
    path, late = written(old, tmp_path / "backup"), upload(report(metric, 1))

    class Served(StoreFiller):
        def remember(self, buckets: Iterable[Bucket]) -> None:
            if step == "remember":
                new.count(judged(late))
            super().remember(buckets)

        def close_all(self, windows: Iterable[str]) -> None:
            super().close_all(windows)
            new.count(judged(late))

    with pytest.raises(ConfigError, match="a collector is counting in the store"):
        restore.restore(path, restore.check(path), Served(new), nothing)
    with pytest.raises(ConfigError, match="run hearsay-collector store import again"):
        opened(1)
