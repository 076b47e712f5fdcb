"""Reads a store on Redis or Valkey for a backup.

Each Lua script in this module is one atomic step on the server.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from collector.backup.lines import Bucket, Header
from collector.errors import ConfigError
from collector.redis_servers.connection import Connection
from collector.redis_servers.server import ask, info
from collector.store import keys
from collector.store.facts import GRACE_FIELD, SCHEMA_FIELD, SHARDS_FIELD
from collector.store.shards import Shards

READ_BUCKETS = """
-- Returns the next cursor, and for each bucket that was found: its key, its expiry and its members.
-- KEYS[1]: the prefix of the shard's keys (no key has this name).
-- ARGV[1]: the cursor that the previous call returned, or 0 for the first call.
-- ARGV[2]: the first word of the buckets' names.
local found, visited, cursor = {}, 0, ARGV[1]
repeat
  local page = redis.call('SCAN', cursor, 'MATCH', KEYS[1] .. ARGV[2] .. ':*', 'COUNT', 100)
  cursor, visited = page[1], visited + 100
  for _, key in ipairs(page[2]) do
    table.insert(found, {key, redis.call('EXPIRETIME', key), redis.call('ZRANGE', key, 0, -1)})
  end
until cursor == '0' or #found >= 50 or visited >= 10000
return {cursor, found}
"""
"""Reads some of a shard's buckets of remembered uploads.

One call delays uploads by only a few milliseconds.
"""

CUT = f"""
-- Returns the buckets that differ from the known ones, the closed windows, the index of tallies, and
-- the shard's counts of open windows.
-- KEYS[1]: the prefix of the shard's keys (no key has this name).
-- ARGV[1]: the buckets that were read before, one per line: key, expiry and number of uploads.
local known = {{}}
for key, state in string.gmatch(ARGV[1], '(%S+) (%S+ %S+)\\n') do known[key] = state end
local changed, cursor = {{}}, '0'
repeat
  local page = redis.call('SCAN', cursor, 'MATCH', KEYS[1] .. '{keys.IDS}:*', 'COUNT', 1000)
  cursor = page[1]
  for _, key in ipairs(page[2]) do
    local expiry = redis.call('EXPIRETIME', key)
    if known[key] ~= expiry .. ' ' .. redis.call('ZCARD', key) then
      table.insert(changed, {{key, expiry, redis.call('ZRANGE', key, 0, -1)}})
    end
  end
until cursor == '0'
local closed, is_closed = redis.call('SMEMBERS', KEYS[1] .. 'closed'), {{}}
for _, window in ipairs(closed) do is_closed[window] = true end
local index, open = redis.call('HGETALL', KEYS[1] .. 'tallies'), {{}}
for i = 1, #index, 2 do
  if not is_closed[string.match(index[i], '[^:]+$')] then
    table.insert(open, {{index[i], redis.call('GET', KEYS[1] .. 'tally:' .. index[i])}})
  end
end
return {{changed, closed, index, open}}
"""

BucketState: TypeAlias = tuple[int, int]
"""The time at which a bucket expires (Unix seconds), and the number of uploads in the bucket.

Uploads are never removed from a bucket, so every change of the bucket changes these values.
"""


class StoredBucket(NamedTuple):
    """A bucket of remembered uploads, and its key in the store."""

    key: bytes
    bucket: Bucket

    @property
    def state(self) -> BucketState:
        """The state of the bucket."""
        return self.bucket.expires_at, len(self.bucket.members)


@dataclass(frozen=True, slots=True)
class ShardCut:
    """A shard's *cut*: its content at one instant, except the counts of closed windows.

    Attributes:
        changed: the buckets that were added or changed after `StoreReader.buckets` read them.
        closed: the names of the windows that are closed in the shard.
        index: the number of symbols of each tally in the shard, keyed by the tally's name.
        open_counts: the shard's counts for each tally of an open window, keyed by the tally's name.
    """

    changed: tuple[StoredBucket, ...]
    closed: frozenset[str]
    index: Mapping[str, int]
    open_counts: Mapping[str, tuple[int, ...]]


class StoreReader:
    """Reads a store, even while collectors count uploads. No permission to write is needed.

    Every method raises StoreUnavailableError if the store does not respond.
    """

    def __init__(self, store: Shards) -> None:
        """Remember the store to read. `preparation.prepare` must have been called for the store."""
        self.store = store

    def header(self, app: str | None) -> Header:
        """Return the header of a backup. ``app`` names the store's app; None if it is unknown."""
        self.store.require_own()
        facts = self.store.facts()
        grace = facts.get(GRACE_FIELD)
        return Header(
            int(facts[SCHEMA_FIELD]), int(facts[SHARDS_FIELD]), grace_s=None if grace is None else int(grace), app=app
        )

    def servers(self) -> str:
        """Return a string that changes if a server restarts or is replaced.

        After such a change, the store may have lost acknowledged uploads.

        Raises:
            ConfigError: if slots are moving from one server to another.
        """
        servers = sorted(filter(None, self.store.ask_servers(_server)))
        self.store.require_own()
        if "[" in "".join(servers):  # a slot that moves is written [SLOT->-NODE] or [SLOT-<-NODE]
            raise ConfigError("slots of the cluster are moving: take the backup after they have moved")
        return "; ".join(servers)

    def buckets(self, shard: int) -> Iterator[StoredBucket]:
        """Yield a shard's buckets of remembered uploads.

        The buckets are read in several steps, at different times.
        """
        cursor = b"0"
        while True:
            cursor, page = self.store.run(shard, "EVAL_RO", READ_BUCKETS, 1, keys.prefix(shard), cursor, keys.IDS)
            yield from map(_stored_bucket, page)
            if cursor == b"0":
                return

    def cut(self, shard: int, known: Mapping[bytes, BucketState]) -> ShardCut:
        """Return a shard's content at one instant, except the known buckets that have not changed.

        The server counts nothing while it reads this content. Reading is fast, because unchanged
        buckets are left out. ``known`` contains the state of each bucket that `buckets` has
        yielded, keyed by the bucket's key.
        """
        lines = b"".join(b"%b %d %d\n" % (key, *state) for key, state in known.items())
        changed, closed, index, open_parts = self.store.run(shard, "EVAL_RO", CUT, 1, keys.prefix(shard), lines)
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
        """Return a shard's part of a tally, with one count for each symbol."""
        return _unpacked(self.store.run(shard, "GET", keys.tally(shard, name)) or b"", symbols)


def _server(connection: Connection) -> str:
    """Return a string that changes if a master restarts or is replaced, or if its slots change.

    For a replica, the string is empty.
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


def _unpacked(packed: bytes, symbols: int) -> tuple[int, ...]:
    """Return one count for each symbol. The stored bytes may omit zeros at the end."""
    return struct.unpack(f">{symbols}q", packed.ljust(8 * symbols, b"\0"))
