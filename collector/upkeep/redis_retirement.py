"""Retires tallies on Redis or Valkey.

It takes two steps, so that a reader never adds up half a tally. First the names leave the index of
every shard; then the counts are deleted. A reader looks at the index again after reading: a tally
that is still in it was complete. If a retirement breaks off, the next one finishes it, because
names are kept until their counts are deleted. Until then readers see nothing of a question in a
window of which any tally is going (see `RedisStore`).
"""

from __future__ import annotations

from collections.abc import Collection

from collector.store import keys
from collector.store.redis_store import RedisStore
from collector.upkeep.retention import TallyName

TAKE_OUT_OF_INDEX = """
-- KEYS: the shard's closed windows; its index of tallies; its windows with a tally; names of tallies being retired
-- ARGV: names of tallies
for _, name in ipairs(ARGV) do
  local is_closed = redis.call('SISMEMBER', KEYS[1], string.match(name, '[^:]+$')) == 1
  if is_closed and redis.call('HDEL', KEYS[2], name) == 1 then redis.call('SADD', KEYS[4], name) end
end
local left = {}
for _, name in ipairs(redis.call('HKEYS', KEYS[2])) do left[string.match(name, '[^:]+$')] = true end
for _, window in ipairs(redis.call('SMEMBERS', KEYS[3])) do
  if not left[window] then redis.call('SREM', KEYS[3], window) end
end
"""

NAMES_A_SCRIPT = 1000
"""A script holds up all uploads while it runs. A thousand names take about a millisecond."""


class RedisRetirement:
    """Retires the tallies of a store; see Retirable."""

    def __init__(self, store: RedisStore) -> None:
        """Take a store that is prepared."""
        self._store = store

    def closed_windows(self) -> frozenset[str]:
        """See Retirable."""
        return self._store.closed_windows()

    def tally_names(self) -> frozenset[TallyName]:
        """See Retirable."""
        return frozenset(TallyName(*name.split(":")) for name in self._store.shards.index())

    def begun(self) -> frozenset[TallyName]:
        """Return the names of tallies whose retirement broke off. The next one finishes it."""
        return frozenset(TallyName(*name.split(":")) for name in self._all_going())

    def retire(self, names: Collection[TallyName]) -> None:
        """See Retirable."""
        going = self._all_going().union(":".join(name) for name in names)
        for shard in range(self._store.layout.shards):
            self._take_out_of_index(shard, sorted(going))
        for shard in range(self._store.layout.shards):
            self._forget_counts(shard)

    def _take_out_of_index(self, shard: int, names: list[str]) -> None:
        touched = [keys.of_shard(shard, name) for name in (keys.CLOSED, keys.TALLIES, keys.WINDOWS, keys.GOING)]
        for start in range(0, len(names), NAMES_A_SCRIPT):
            part = names[start : start + NAMES_A_SCRIPT]
            self._store.shards.run(shard, "EVAL", TAKE_OUT_OF_INDEX, len(touched), *touched, *part)

    def _forget_counts(self, shard: int) -> None:
        names = sorted(self._going(shard))
        for start in range(0, len(names), NAMES_A_SCRIPT):
            part = names[start : start + NAMES_A_SCRIPT]
            self._store.shards.run(shard, "UNLINK", *(keys.tally(shard, name) for name in part))
            self._store.shards.run(shard, "SREM", keys.of_shard(shard, keys.GOING), *part)

    def _all_going(self) -> set[str]:
        return set[str]().union(*map(self._going, range(self._store.layout.shards)))

    def _going(self, shard: int) -> set[str]:
        return {name.decode() for name in self._store.shards.run(shard, "SMEMBERS", keys.of_shard(shard, keys.GOING))}
