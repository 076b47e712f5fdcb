"""A model of the script that counts an upload: the same keys and answers, with time as an argument.

`tests/simulation/test_store_script.py` keeps it equal to the script on Valkey.
"""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha1
from typing import Any, NamedTuple

from collector.store import keys
from collector.store.count_script import (
    ARGUMENTS_AN_ADDITION,
    BUCKET_ENTRIES,
    BUCKET_LEVELS,
    COUNTED,
    DUPLICATE,
    FIRST_ADDITION,
    ID_BYTES,
    LATE,
    NOT_THE_STORE,
    OVER_QUOTA,
    QUOTA_KEPT_S,
)

CLOCKS_APART = "the clocks of store and collector are days apart"
"""The beginning of the script's error for an id that would expire at once."""


class ScriptError(Exception):
    """The script's answer is an error."""


class _Addition(NamedTuple):
    """An addition to a tally: its name, its number of symbols, and the reported symbols."""

    tally: str
    symbols: int
    reported: str

    @property
    def window(self) -> str:
        return self.tally.rpartition(":")[2]


@dataclass
class StoreScript:
    """The keys of a server and the script on them.

    Attributes:
        entries: of a small bucket.
        levels: of a tree of buckets.
        values: an integer, a set, a hash, the sorted members of a bucket or the counters of a tally
            by its key.
        expiries: when keys expire, in Unix seconds.

    """

    entries: int = BUCKET_ENTRIES
    levels: int = BUCKET_LEVELS
    values: dict[str, Any] = field(default_factory=dict)
    expiries: dict[str, int] = field(default_factory=dict)
    _now_s: float = 0.0

    def count(self, shard: str, arguments: Sequence[bytes | str | int], now_s: float) -> bytes:
        """Return the script's answer at an instant.

        Raises:
            ScriptError: if the answer is an error.

        """
        self._now_s = now_s
        given: Sequence[Any] = arguments
        name, upload, remembered, ends, place, expiry = given[:6]
        rest = given[FIRST_ADDITION - 1 :]
        additions = [_Addition(*rest[at : at + ARGUMENTS_AN_ADDITION]) for at in range(0, len(rest), 3)]
        if self._value(f"{shard}{keys.NAME}") != name:
            raise ScriptError(NOT_THE_STORE)
        if closed := self._closed(shard, additions):
            return bytes((LATE,)) + " ".join(closed).encode()
        paths = {int(end): list(self._path(f"{shard}{keys.IDS}:{end}:", name, upload)) for end in ends.split()}
        members = (self._member(bucket, upload) for path in paths.values() for bucket in path)
        member = next(filter(None, members), None)
        if member is not None:
            self._add(f"{shard}duplicates", 1)
            return bytes((DUPLICATE,)) + member[ID_BYTES:]
        if place == 0:
            return bytes((COUNTED,))
        if expiry <= int(now_s):
            raise ScriptError(CLOCKS_APART)
        if not self._charge(shard, *given[6 : FIRST_ADDITION - 1]):
            return bytes((OVER_QUOTA,))
        for addition in additions:
            self._count(shard, addition)
        self._remember(paths[place], upload + remembered, expiry)
        return bytes((COUNTED,))

    def forget_expired(self, now_s: float) -> None:
        """Delete the keys that have expired at an instant."""
        self._now_s = now_s
        for key in list(self.expiries):
            self._value(key)

    def _value(self, key: str) -> Any:
        """Return the value of a key; None if there is none, or it has expired."""
        if key in self.expiries and self.expiries[key] < self._now_s:
            del self.values[key], self.expiries[key]
        return self.values.get(key)

    def _add(self, key: str, by: int) -> None:
        self.values[key] = (self._value(key) or 0) + by

    def _expire_at(self, key: str, expiry: int) -> None:
        if expiry <= self._now_s:
            self.expiries.pop(key, None)
            del self.values[key]
        else:
            self.expiries[key] = expiry

    def _closed(self, shard: str, additions: Sequence[_Addition]) -> list[str]:
        """Return the windows of an upload that are closed."""
        closed = self._value(f"{shard}{keys.CLOSED}") or ()
        return [window for window in dict.fromkeys(each.window for each in additions) if window in closed]

    def _path(self, base: str, name: str, upload: bytes) -> Iterator[str]:
        """Yield the buckets that an id may be in, from the root down to one that is not full."""
        digits = f"{int(sha1(name.encode() + upload).hexdigest()[:6], 16):0{BUCKET_LEVELS}o}"  # noqa: S324 as the script
        for depth in range(self.levels + 1):
            yield base + digits[:depth]
            if len(self._value(base + digits[:depth]) or ()) < self.entries:
                return

    def _member(self, bucket: str, upload: bytes) -> bytes | None:
        """Return an id with what is remembered of it."""
        members = self._value(bucket) or []
        at = bisect_left(members, upload)
        found: bytes | None = members[at] if at < len(members) and members[at].startswith(upload) else None
        return found

    def _remember(self, path: Sequence[str], member: bytes, expiry: int) -> None:
        """Put an id into the last bucket of a path, and extend the life of all buckets above it."""
        insort(self.values.setdefault(path[-1], []), member)
        for bucket in path:
            self._expire_at(bucket, max(expiry, self.expiries.get(bucket, expiry)))

    def _charge(self, shard: str, allowance: str, allowance_end: int, allowed: int, charge: int) -> bool:
        """Charge an allowance, if there is one; return whether it has enough left."""
        if allowance:
            quota = f"{shard}quota:{allowance}:{allowance_end}"
            if (self._value(quota) or 0) + charge > allowed:
                return False
            self._add(quota, charge)
            self._expire_at(quota, allowance_end + QUOTA_KEPT_S)
        return True

    def _count(self, shard: str, addition: _Addition) -> None:
        counters = self.values.setdefault(f"{shard}tally:{addition.tally}", [])
        for symbol in map(int, re.findall(r": (\d+)", addition.reported)):
            counters += [0] * (symbol + 1 - len(counters))
            counters[symbol] += 1
            if counters[symbol] == 1:
                self.values.setdefault(f"{shard}{keys.TALLIES}", {})[addition.tally] = addition.symbols
                self.values.setdefault(f"{shard}{keys.WINDOWS}", set()).add(addition.window)
