"""Reads a store for a backup and fills a store from one, on Redis or Valkey."""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from collector.backup.cut import BucketState, ShardCut, StoredBucket, StoreProperties
from collector.backup.format import Bucket, Counts
from collector.backup.redis_scripts import CUT, PUT, READ_BUCKETS, REMEMBER
from collector.errors import ConfigError
from collector.servers.connection import Connection
from collector.servers.server import ask, info
from collector.store import keys
from collector.store.count_script import ID_BYTES
from collector.store.packed_verdict import pack, unpack
from collector.store.redis_store import RedisStore
from collector.store.schema import GRACE_FIELD, IMPORTED, IMPORTING, SCHEMA_FIELD, SHARDS_FIELD

COUNTED_MEANWHILE = (
    "a collector counts in the store: stop every collector on it, empty the store, and import the backup again"
)

IDS_A_SCRIPT = 1000
"""A script puts this many ids in a few milliseconds."""


class RedisArchive:
    """Reads and fills a store.

    Every method raises StoreUnavailableError if the store does not answer.

    Every step that fills the store can be repeated, and then changes nothing.
    """

    def __init__(self, store: RedisStore) -> None:
        """Take the store, which must be prepared."""
        self._store = store.handle

    def properties(self) -> StoreProperties:
        """Return the properties of the store."""
        self._store.require_own()
        facts = self._store.facts()
        grace = facts.get(GRACE_FIELD)
        return StoreProperties(
            schema=int(facts[SCHEMA_FIELD]),
            shards=int(facts[SHARDS_FIELD]),
            grace_s=None if grace is None else int(grace),
        )

    def servers(self) -> str:
        """Return a text that changes if a server restarts or another takes its place.

        Such a server may have lost uploads.

        Raises:
            ConfigError: if slots are moving from one server to another.

        """
        servers = sorted(filter(None, self._store.ask_servers(_server)))
        self._store.require_own()
        if "[" in "".join(servers):  # a slot on its way is written [SLOT->-NODE] or [SLOT-<-NODE]
            raise ConfigError("slots of the cluster are moving: take the backup when they have moved")
        return "; ".join(servers)

    def buckets(self, shard: int, ids: str = keys.IDS) -> Iterator[StoredBucket]:
        """Yield the buckets of a shard, each as it is when it is read.

        Uploads may be counted meanwhile.

        Args:
            shard: the shard's number.
            ids: the prefix of the buckets' keys.

        """
        cursor = b"0"
        while True:
            cursor, page = self._run(shard, "EVAL", READ_BUCKETS, 1, keys.prefix(shard), cursor, ids)
            yield from map(_stored_bucket, page)
            if cursor == b"0":
                return

    def cut(self, shard: int, known: Mapping[bytes, BucketState]) -> ShardCut:
        """Return a shard at one instant, without the buckets whose state is known.

        This is one step on the server, which counts nothing meanwhile. So buckets that were read
        before are left out.
        """
        lines = b"".join(b"%b %d %d\n" % (key, *state) for key, state in known.items())
        changed, closed, index, open_parts = self._run(shard, "EVAL", CUT, 1, keys.prefix(shard), lines)
        names = [name.decode() for name in index[::2]]
        symbols_by_name = dict(zip(names, map(int, index[1::2]), strict=True))
        return ShardCut(
            changed=tuple(map(_stored_bucket, changed)),
            closed=frozenset(window.decode() for window in closed),
            index=symbols_by_name,
            open_counts={
                name.decode(): _unpacked(packed, symbols_by_name[name.decode()]) for name, packed in open_parts
            },
        )

    def counts(self, shard: int, name: str, symbols: int) -> tuple[int, ...]:
        """Return a shard's part of a tally: one count for each symbol."""
        return _unpacked(self._run(shard, "GET", keys.tally(shard, name)) or b"", symbols)

    def is_indexed(self, name: str) -> bool:
        """Whether a tally exists, so that a read just before was complete."""
        return self._store.is_indexed(name)

    def begin(self, digest: str) -> bool:
        """Begin or continue the import of a backup.

        Returns False if the store holds all of it already.

        Until the import is finished, the store refuses to be served.

        Raises:
            ConfigError: if the store holds anything else.

        """
        facts = self._store.facts()
        if IMPORTING not in facts and facts.get(IMPORTED) == digest:
            return False
        if facts.get(IMPORTING, digest) != digest:
            raise ConfigError(
                "the import of another backup into the store was begun and not finished: import that one again, "
                "or empty the store"
            )
        if IMPORTING not in facts:
            if not self._is_empty():
                raise ConfigError("the store is in use already: a backup can only be imported into an empty store")
            self._run_on_facts("HSET", keys.STORE, IMPORTING, digest)
        return True

    def remember(self, buckets: Iterable[Bucket]) -> None:
        """Remember uploads, each in its shard, unless they are remembered already.

        Schema 1 remembered ids of uploads of which nothing was counted; they are left out.
        """
        waiting: dict[tuple[int, int, int], list[bytes]] = defaultdict(list)
        for bucket in buckets:
            for member in bucket.members:
                upload_id = member[:ID_BYTES]
                reports, counted = unpack(member[ID_BYTES:])
                if counted:
                    place = keys.shard_of(upload_id.hex(), self._store.shards), bucket.latest_end, bucket.expires_at
                    waiting[place].append(upload_id + pack(reports, sorted(counted)))
        for (shard, latest_end, expires_at), members in waiting.items():
            base = f"{keys.of_shard(shard, keys.IDS)}:{latest_end}:"
            members.sort()  # so that the ids of one script share their buckets
            for start in range(0, len(members), IDS_A_SCRIPT):
                part = members[start : start + IDS_A_SCRIPT]
                self._run(shard, "EVAL", REMEMBER, 1, base, self._store.layout.name, expires_at, *part)

    def close_all(self, windows: Iterable[str]) -> None:
        """Close windows in every shard."""
        names = list(windows)
        for shard in range(self._store.shards if names else 0):
            self._run(shard, "SADD", keys.of_shard(shard, keys.CLOSED), *names)

    def put(self, tally: Counts) -> None:
        """Store a tally. A tally is a sum over shards, so one shard can hold all of it.

        Raises:
            ConfigError: if there is another tally with that name: a collector counts in the store.

        """
        packed = _packed(tally.counts, tally.symbols)
        written = (keys.tally(0, tally.name), keys.of_shard(0, keys.TALLIES), keys.of_shard(0, keys.WINDOWS))
        if not self._run(0, "EVAL", PUT, len(written), *written, packed, tally.name, tally.symbols, tally.window):
            raise ConfigError(COUNTED_MEANWHILE)

    def finish(self, digest: str, grace_s: int | None, tallies: Collection[str]) -> None:
        """End the import: the store may be served.

        Raises:
            ConfigError: if the store holds other tallies than the given ones. Then a collector has
                counted meanwhile, perhaps uploads of the backup that were not remembered yet.

        """
        elsewhere = (self._run(shard, "EXISTS", keys.of_shard(shard, keys.TALLIES)) for shard in self._shards()[1:])
        if not set(self._store.index()).issubset(tallies) or any(elsewhere):
            raise ConfigError(COUNTED_MEANWHILE)
        grace = () if grace_s is None else (GRACE_FIELD, grace_s)
        self._run_on_facts("HSET", keys.STORE, IMPORTED, digest, *grace)
        self._run_on_facts("HDEL", keys.STORE, IMPORTING)

    def _run(self, shard: int, *command: bytes | str | int) -> Any:  # noqa: ANN401 as redis answers
        return self._store.run(shard, *command)

    def _run_on_facts(self, *command: bytes | str | int) -> Any:  # noqa: ANN401 as redis answers
        return self._store.run_on_facts(*command)

    def _shards(self) -> range:
        return range(self._store.shards)

    def _is_empty(self) -> bool:
        names = (keys.TALLIES, keys.WINDOWS, keys.CLOSED)
        return not any(
            any(self._run(shard, "EXISTS", keys.of_shard(shard, name)) for name in names)
            or next(self.buckets(shard), None)
            for shard in self._shards()
        )


def _server(connection: Connection) -> str:
    """Return a text that changes if a master restarts, takes over or gets slots.

    It is empty for a replica.
    """
    facts = info(connection, "replication") | info(connection, "server") | info(connection, "cluster")
    if facts["role"] != "master":
        return ""
    nodes = ask(connection, "CLUSTER", "NODES").decode() if facts.get("cluster_enabled") == "1" else ""
    slots = [slot for line in nodes.splitlines() if "myself" in line for slot in line.split()[8:]]
    return " ".join((facts["run_id"], *slots))


def _stored_bucket(raw: list[Any]) -> StoredBucket:
    key, expires_at, members = raw
    return StoredBucket(key, Bucket(int(key.split(b":")[2]), expires_at, tuple(members)))


def _packed(counts: Mapping[int, int], symbols: int) -> bytes:
    """Return the counters up to the last reported symbol, and one more.

    A collector never counts that one more, so its tallies differ from restored ones.
    """
    packed = bytearray(8 * min(max(counts, default=-1) + 2, symbols))
    for symbol, count in counts.items():
        struct.pack_into(">q", packed, 8 * symbol, count)
    return bytes(packed)


def _unpacked(packed: bytes, symbols: int) -> tuple[int, ...]:
    """Return the counters of all symbols; the store keeps none after the last reported symbol."""
    return struct.unpack(f">{symbols}q", packed.ljust(8 * symbols, b"\0"))
