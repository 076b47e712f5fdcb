"""Fills a store on Redis or Valkey from a backup, if the store has enough memory.

A restored backup may need far more memory than the size of its file. A tally needs memory for every
possible symbol: a line with a single report of symbol 16,777,215 needs 134 MB. In addition, each
shard stores the name of every closed window.

Each Lua script in this module is one atomic step on the server.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from collector.backup.lines import BackupLine, Bucket, ClosedWindows, Editions, TallyLine
from collector.backup.store_reader import StoreReader
from collector.errors import ConfigError, in_units, require
from collector.redis_servers.memory import Memory
from collector.redis_servers.server import parse_info
from collector.store import keys
from collector.store.count_script import BUCKET_ENTRIES, BUCKET_LEVELS, ID_BYTES, PATH
from collector.store.facts import GRACE_FIELD, IMPORTED, IMPORTING, SHARDS_FIELD
from collector.store.shards import Shards
from collector.store.tally_memory import COUNTER_BYTES, free_bytes

COUNTED_MEANWHILE = (
    "a collector is counting in the store: stop every collector on it, empty the store, and import the backup again"
)

IDS_A_SCRIPT = 1000
"""The maximum number of ids per call of a script. Such a call takes a few milliseconds."""

WINDOWS_A_COMMAND = 1000
"""The maximum number of windows that one command closes.

Servers limit the number of arguments, and a long command delays other commands.
"""

REMEMBER = f"""
-- Stores upload ids, unless they are already stored.
-- KEYS[1]: the beginning of the buckets' keys, up to the end of the window.
-- ARGV[1]: the store's name.
-- ARGV[2]: the time when the ids expire (Unix seconds).
-- Further ARGV: the ids, each followed by the bytes to store next to it (see `pack`).
-- The ids form the same tree of buckets as in count_script: a bucket is filled before the buckets below it.
{PATH}

local function put(path, level, members)
  local bucket, is_there = KEYS[1] .. path, {{}}
  local present = redis.call('ZRANGE', bucket, 0, -1)
  for _, member in ipairs(present) do is_there[string.sub(member, 1, {ID_BYTES})] = true end
  local room = level == {BUCKET_LEVELS} and math.huge or {BUCKET_ENTRIES} - #present
  local added, below = {{}}, {{}}
  for _, member in ipairs(members) do
    local id = string.sub(member, 1, {ID_BYTES})
    if not is_there[id] then
      if #added < 2 * room then
        is_there[id] = true  -- a backup may contain the same id twice
        table.insert(added, 0)
        table.insert(added, member)
      else
        local next = string.sub(path_of(ARGV[1], id), 1, level + 1)
        below[next] = below[next] or {{}}
        table.insert(below[next], member)
      end
    end
  end
  if #added > 0 then redis.call('ZADD', bucket, unpack(added)) end
  redis.call('EXPIREAT', bucket, ARGV[2], 'NX')
  redis.call('EXPIREAT', bucket, ARGV[2], 'GT')
  for next, rest in pairs(below) do put(next, level + 1, rest) end
end

put('', 0, {{unpack(ARGV, 3)}})
"""

PUT = """
-- Stores a tally. Returns 0 if a different tally of this name exists, and otherwise 1.
-- KEYS[1]: the key of the tally.
-- KEYS[2]: the key of the shard's index of tallies.
-- KEYS[3]: the key of the shard's set of windows with a tally.
-- ARGV[1]: the packed counts.
-- ARGV[2]: the tally's name.
-- ARGV[3]: the number of symbols.
-- ARGV[4]: the window's name.
local found = redis.call('GET', KEYS[1])
if found and found ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1])
redis.call('HSET', KEYS[2], ARGV[2], ARGV[3])
redis.call('SADD', KEYS[3], ARGV[4])
return 1
"""

NAME_BYTES: Final = 50
"""The approximate overhead, in bytes, of storing a name in a set or hash."""

BUCKET_BYTES: Final = 120
"""The approximate overhead, in bytes, of a sorted set that expires, not counting its members."""

MEMBER_BYTES: Final = 8
"""The overhead, in bytes, of a member of a small sorted set, not counting the member itself."""

EMPTY_BYTES: Final = 65_536
"""An upper bound on the memory, in bytes, of the few keys that every store has."""


def require_room(store: Shards, digest: str, demand: Demand) -> None:
    """Refuse a backup that does not fit into a store's memory, before anything is written.

    If the store already contains parts of this backup or the whole backup, the check is skipped,
    because the used memory then includes this data.

    Raises:
        ConfigError: if the backup does not fit, or if a server cannot provide the required
            durability.
        StoreUnavailableError: if a server does not respond.
    """
    store.require_promise()
    facts = store.facts()
    if digest in (facts.get(IMPORTING), facts.get(IMPORTED)):
        return
    needed_bytes = demand.total_bytes(int(facts.get(SHARDS_FIELD, store.number_of_new)))
    of_tallies = Memory.from_info(parse_info(store.run(0, "INFO", "memory")))
    for needed, room in (
        (demand.tally_bytes, max(0, of_tallies.most_bytes - of_tallies.used_bytes)),
        (needed_bytes, sum(store.ask_servers(free_bytes))),
    ):
        require(needed <= room, demand.lack(needed, room))


class StoreFiller:
    """Fills a store from a backup, step by step.

    Repeating a step changes nothing. Every method raises StoreUnavailableError if the store does
    not respond.
    """

    def __init__(self, store: Shards) -> None:
        """Remember the store to fill. `preparation.prepare` must have been called for the store."""
        self.store = store
        self._reader = StoreReader(store)

    def begin(self, digest: str) -> bool:
        """Begin or continue the import of a backup.

        Until the import is finished, no collector can use the store.

        Returns:
            Whether the import must continue. False if the store already contains the whole backup.

        Raises:
            ConfigError: if the store contains anything other than parts of this backup.
        """
        facts = self.store.facts()
        if IMPORTING not in facts and facts.get(IMPORTED) == digest:
            return False
        if IMPORTING not in facts:
            if not self._is_empty():
                raise ConfigError("the store is already in use: a backup can only be imported into an empty store")
            # use HSETNX, because another import may begin at the same time
            self.store.run_on_facts("HSETNX", keys.STORE, IMPORTING, digest)
            facts = self.store.facts()
        if facts.get(IMPORTING) != digest:
            raise ConfigError(
                "the import of another backup into the store was started but not finished: import that backup "
                "again, or empty the store"
            )
        return True

    def remember(self, buckets: Iterable[Bucket]) -> None:
        """Store the ids of counted uploads, each in its shard.

        Ids that are already stored are skipped.
        """
        waiting: dict[tuple[int, int, int], list[bytes]] = defaultdict(list)
        for bucket in buckets:
            for member in bucket.members:
                shard = keys.shard_of(member[:ID_BYTES].hex(), self.store.layout.shards)
                waiting[shard, bucket.latest_end, bucket.expires_at].append(member)
        for (shard, latest_end, expires_at), members in waiting.items():
            base = f"{keys.of_shard(shard, keys.IDS)}:{latest_end}:"
            members.sort()  # so that the order of the ids in the backup makes no difference
            for start in range(0, len(members), IDS_A_SCRIPT):
                part = members[start : start + IDS_A_SCRIPT]
                self.store.run(shard, "EVAL", REMEMBER, 1, base, self.store.layout.name, expires_at, *part)

    def close_all(self, windows: Iterable[str]) -> None:
        """Close windows in every shard."""
        names = list(windows)
        for start in range(0, len(names), WINDOWS_A_COMMAND):
            for shard in range(self.store.layout.shards):
                part = names[start : start + WINDOWS_A_COMMAND]
                self.store.run(shard, "SADD", keys.of_shard(shard, keys.CLOSED), *part)

    def put(self, tally: TallyLine) -> None:
        """Store a whole tally in shard 0.

        Readers add up all shards, so the tally need not be split.

        Raises:
            ConfigError: if the store has a different tally with this name. This means that a
                collector is using the store.
        """
        packed = _packed(tally.counts, tally.symbols)
        written = (keys.tally(0, tally.name), keys.of_shard(0, keys.TALLIES), keys.of_shard(0, keys.WINDOWS))
        if not self.store.run(0, "EVAL", PUT, len(written), *written, packed, tally.name, tally.symbols, tally.window):
            raise ConfigError(COUNTED_MEANWHILE)

    def finish(self, digest: str, grace_s: int | None, tallies: Collection[str]) -> None:
        """End the import, so that a collector can use the store.

        ``tallies`` contains the names of all tallies in the backup. ``grace_s`` is the grace period
        of the exported store, or None if it is unknown.

        Raises:
            ConfigError: if the store has tallies that are not in ``tallies``. A collector may then
                have counted uploads of the backup again during the import.
        """
        elsewhere = (
            self.store.run(shard, "EXISTS", keys.of_shard(shard, keys.TALLIES))
            for shard in range(1, self.store.layout.shards)
        )
        if not set(self.store.index()).issubset(tallies) or any(elsewhere):
            raise ConfigError(COUNTED_MEANWHILE)
        grace = () if grace_s is None else (GRACE_FIELD, grace_s)
        self.store.run_on_facts("HSET", keys.STORE, IMPORTED, digest, *grace)
        self.store.run_on_facts("HDEL", keys.STORE, IMPORTING)

    def _is_empty(self) -> bool:
        names = (keys.TALLIES, keys.WINDOWS, keys.CLOSED)
        return not any(
            any(self.store.run(shard, "EXISTS", keys.of_shard(shard, name)) for name in names)
            or next(self._reader.buckets(shard), None)
            for shard in range(self.store.layout.shards)
        )


def _packed(counts: Mapping[int, int], symbols: int) -> bytes:
    """Return the counts of a tally as bytes, 64 bits for each count.

    Counts after that of the highest reported symbol are 0. Only the first of them is included, if
    there is one. A collector never writes this 0, so the 0 marks a restored tally.
    """
    packed = bytearray(8 * min(max(counts, default=-1) + 2, symbols))
    for symbol, count in counts.items():
        struct.pack_into(">q", packed, 8 * symbol, count)
    return bytes(packed)


class Demand:
    """The memory that the lines of a backup need in a store.

    Attributes:
        tally_bytes: the memory of the tallies, which are all in one shard.
    """

    def __init__(self) -> None:
        """Start with the memory of an empty store."""
        self.tally_bytes = self._bytes_a_shard = 0
        self._other_bytes = EMPTY_BYTES
        self._largest: tuple[int, TallyLine] | None = None

    def add(self, number: int, line: BackupLine) -> None:
        """Add the memory that a line needs. ``number`` is the line's number, for error messages."""
        match line:
            case TallyLine():
                self.tally_bytes += COUNTER_BYTES * line.symbols + 3 * (NAME_BYTES + len(line.name))
                if self._largest is None or line.symbols > self._largest[1].symbols:
                    self._largest = number, line
            case Bucket(members=members):
                self._other_bytes += BUCKET_BYTES + sum(len(member) + MEMBER_BYTES for member in members)
            case ClosedWindows(windows=windows):
                self._bytes_a_shard += sum(len(window) + NAME_BYTES for window in windows)
            case Editions(own=own):
                self._other_bytes += sum(len(edition) + len(each) + NAME_BYTES for edition, each in own.items())

    def total_bytes(self, shards: int) -> int:
        """Return the memory, in bytes, that all lines need if the store has ``shards`` shards."""
        return self.tally_bytes + self._other_bytes + shards * self._bytes_a_shard

    def lack(self, needed_bytes: int, room_bytes: int) -> str:
        """Return the error message for a backup that does not fit into the free memory."""
        largest = ""
        if self._largest is not None:
            number, tally = self._largest
            largest = (
                f"; its largest tally, in line {number}, is that of metric.{tally.metric} in {tally.window}, with "
                f"{tally.symbols:,} symbols ({in_units(COUNTER_BYTES * tally.symbols)})"
            )
        return (
            f"the backup needs up to {in_units(needed_bytes)} of the store's memory, and "
            f"{in_units(room_bytes)} are free{largest}: give the server more memory (maxmemory, or "
            "--store-memory). If your app never had this metric, the file is not one of your backups. "
            "Nothing was written"
        )
