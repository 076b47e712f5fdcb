"""A store that is read for a backup or filled from one, on Redis or Valkey: the adapter of `backup.archive`."""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from collector.backup.format import Bucket, Counts
from collector.backup.ports import Cut, Facts, Found, State
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
"""So many are put within some milliseconds."""


class RedisArchive:
    """Reads and fills a store; see Source and Target."""

    def __init__(self, store: RedisStore) -> None:
        """Take the store, which must be prepared."""
        self._store = store

    def facts(self) -> Facts:
        """See Source."""
        self._store.require_own()
        found = self._store.facts()
        grace = found.get(GRACE_FIELD)
        return Facts(int(found[SCHEMA_FIELD]), int(found[SHARDS_FIELD]), None if grace is None else int(grace))

    def standing(self) -> str:
        """See Source."""
        standing = sorted(filter(None, self._store.ask_servers(_standing)))
        self._store.require_own()
        if "[" in "".join(standing):  # a slot on its way is written [SLOT->-NODE] or [SLOT-<-NODE]
            raise ConfigError("slots of the cluster are moving: take the backup when they have moved")
        return "; ".join(standing)

    def buckets(self, shard: int, ids: str = keys.IDS) -> Iterator[Found]:
        """See Source; ``ids`` is what the names of buckets begin with."""
        cursor = b"0"
        while True:
            cursor, page = self._run(shard, "EVAL", READ_BUCKETS, 1, keys.prefix(shard), cursor, ids)
            yield from map(_found, page)
            if cursor == b"0":
                return

    def cut(self, shard: int, known: Mapping[bytes, State]) -> Cut:
        """See Source."""
        lines = b"".join(b"%b %d %d\n" % (key, *state) for key, state in known.items())
        changed, closed, index, opened = self._run(shard, "EVAL", CUT, 1, keys.prefix(shard), lines)
        names = [name.decode() for name in index[::2]]
        symbols_of = dict(zip(names, map(int, index[1::2]), strict=True))
        return Cut(
            tuple(map(_found, changed)),
            frozenset(window.decode() for window in closed),
            symbols_of,
            {name.decode(): _unpacked(packed, symbols_of[name.decode()]) for name, packed in opened},
        )

    def counts(self, shard: int, name: str, symbols: int) -> tuple[int, ...]:
        """See Source."""
        return _unpacked(self._run(shard, "GET", keys.tally(shard, name)) or b"", symbols)

    def is_indexed(self, name: str) -> bool:
        """See Source."""
        return self._store.is_indexed(name)

    def begin(self, digest: str) -> bool:
        """See Target."""
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
            self._tell("HSET", keys.STORE, IMPORTING, digest)
        return True

    def remember(self, buckets: Iterable[Bucket]) -> None:
        """See Target; of an upload of which nothing was counted schema 1 remembered the id too."""
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
            members.sort()  # so that those of a script share their buckets
            for start in range(0, len(members), IDS_A_SCRIPT):
                part = members[start : start + IDS_A_SCRIPT]
                self._run(shard, "EVAL", REMEMBER, 1, base, self._store.layout.name, expires_at, *part)

    def close_all(self, windows: Iterable[str]) -> None:
        """See Target."""
        names = list(windows)
        for shard in range(self._store.shards if names else 0):
            self._run(shard, "SADD", keys.of_shard(shard, keys.CLOSED), *names)

    def put(self, tally: Counts) -> None:
        """See Target; a tally is a sum over shards, so one shard may hold it all."""
        packed = _packed(tally.counts, tally.symbols)
        touched = (keys.tally(0, tally.name), keys.of_shard(0, keys.TALLIES), keys.of_shard(0, keys.WINDOWS))
        if not self._run(0, "EVAL", PUT, len(touched), *touched, packed, tally.name, tally.symbols, tally.window):
            raise ConfigError(COUNTED_MEANWHILE)

    def finish(self, digest: str, grace_s: int | None, tallies: Collection[str]) -> None:
        """See Target."""
        elsewhere = (self._run(shard, "EXISTS", keys.of_shard(shard, keys.TALLIES)) for shard in self._shards()[1:])
        if not set(self._store.index()).issubset(tallies) or any(elsewhere):
            raise ConfigError(COUNTED_MEANWHILE)
        grace = () if grace_s is None else (GRACE_FIELD, grace_s)
        self._tell("HSET", keys.STORE, IMPORTED, digest, *grace)
        self._tell("HDEL", keys.STORE, IMPORTING)

    def _run(self, shard: int, *command: bytes | str | int) -> Any:  # noqa: ANN401 as redis answers
        return self._store.run(shard, *command)

    def _tell(self, *command: bytes | str | int) -> Any:  # noqa: ANN401 as redis answers
        return self._store.tell(*command)

    def _shards(self) -> range:
        return range(self._store.shards)

    def _is_empty(self) -> bool:
        names = (keys.TALLIES, keys.WINDOWS, keys.CLOSED)
        return not any(
            any(self._run(shard, "EXISTS", keys.of_shard(shard, name)) for name in names)
            or next(self.buckets(shard), None)
            for shard in self._shards()
        )


def _standing(connection: Connection) -> str:
    """Return what changes when a server starts anew, takes over or gets slots; nothing for a replica."""
    facts = info(connection, "replication") | info(connection, "server") | info(connection, "cluster")
    if facts["role"] != "master":
        return ""
    known = ask(connection, "CLUSTER", "NODES").decode() if facts.get("cluster_enabled") == "1" else ""
    slots = [slot for line in known.splitlines() if "myself" in line for slot in line.split()[8:]]
    return " ".join((facts["run_id"], *slots))


def _found(raw: list[Any]) -> Found:
    key, expires_at, members = raw
    return Found(key, Bucket(int(key.split(b":")[2]), expires_at, tuple(members)))


def _packed(counts: Mapping[int, int], symbols: int) -> bytes:
    """Return the counters up to the last symbol that was reported, and one more: what a collector counted has none."""
    packed = bytearray(8 * min(max(counts, default=-1) + 2, symbols))
    for symbol, count in counts.items():
        struct.pack_into(">q", packed, 8 * symbol, count)
    return bytes(packed)


def _unpacked(packed: bytes, symbols: int) -> tuple[int, ...]:
    """Return the counters of all symbols; the store keeps none after the last that was reported."""
    return struct.unpack(f">{symbols}q", packed.ljust(8 * symbols, b"\0"))
