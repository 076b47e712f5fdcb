"""How full the memory of a store's servers is, and a watch that warns when it is nearly full."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import NamedTuple

from collector.errors import StoreUnavailableError
from collector.log import Event

NEARLY_FULL = 0.75
"""From this fraction on, a server counts as nearly full.

There is still time to give it more memory.
"""

FULL = 0.95
"""From this fraction on, uploads will fail soon.

A rewrite of the file and the clients need memory too.
"""

ROOM = 0.70
"""Below this fraction a server that was nearly full has room again.

It is lower than NEARLY_FULL, so that a server near the limit does not log both messages in turn.
"""

LOOK_INTERVAL_S = 10.0
"""Seconds between two looks. In that time the fastest uploads take some megabytes."""

GIB = 2**30

_log = logging.getLogger(__name__)


class Memory(NamedTuple):
    """The memory of one server.

    Attributes:
        used_bytes: what it uses.
        most_bytes: what it may use.
        is_limited: whether `most_bytes` is its own limit (maxmemory), beyond which it refuses
            uploads. If not, it is its machine's memory, and when that runs out the system kills
            some program.

    """

    used_bytes: int
    most_bytes: int
    is_limited: bool

    @classmethod
    def of(cls, facts: Mapping[str, str]) -> Memory:
        """Read it from the facts of INFO memory."""
        limit = int(facts["maxmemory"])
        return cls(int(facts["used_memory"]), limit or int(facts["total_system_memory"]), limit > 0)

    @property
    def part(self) -> float:
        """The fraction in use, from 0."""
        return self.used_bytes / self.most_bytes

    def __str__(self) -> str:
        """Describe it for people."""
        limit = "its maxmemory" if self.is_limited else "its machine's memory"
        return f"a server uses {self.used_bytes / GIB:.2f} GiB, {self.part:.0%} of {limit}"


class MemoryWatch:
    """Looks at the servers from time to time.

    Logs once when one is nearly full, and once when all have room again.
    """

    def __init__(self, look: Callable[[], Iterable[Memory]], clock: Callable[[], float] = time.monotonic) -> None:
        """Start a watch.

        Args:
            look: returns the memory of every server, or raises StoreUnavailableError.
            clock: seconds, monotonic.

        """
        self._look = look
        self._clock = clock
        self._next_s = float("-inf")
        self._has_warned = False
        self._part = 0.0

    def __call__(self) -> float:
        """Return the fraction of memory in use on the fullest server when last looked at."""
        now_s = self._clock()
        if now_s >= self._next_s:
            self._next_s = now_s + LOOK_INTERVAL_S
            with suppress(StoreUnavailableError):  # maintenance asks more often, and logs it
                self._take(max(self._look(), key=lambda memory: memory.part))
        return self._part

    def _take(self, fullest: Memory) -> None:
        self._part = fullest.part
        if self._part >= NEARLY_FULL and not self._has_warned:
            _log.warning(
                "the store is nearly full: %s; when it is full, uploads get a 503: give it more, or retire tallies",
                fullest,
                extra=Event.STORE_NEARLY_FULL.extra,
            )
            self._has_warned = True
        elif self._part < ROOM and self._has_warned:
            _log.info("the store has room again: %s", fullest, extra=Event.STORE_HAS_ROOM.extra)
            self._has_warned = False
