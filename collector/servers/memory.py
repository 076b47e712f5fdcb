"""How full the memory of a store's servers is: what is made of their facts, and who looks and tells."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import NamedTuple

from collector.errors import StoreUnavailableError
from collector.log import Event

NEARLY_FULL = 0.75
"""The part of its memory from which on a server is nearly full: there is time left to give it more."""

FULL = 0.95
"""The part from which on uploads fail soon: a rewrite of its file, and clients, take some too."""

ROOM = 0.70
"""Below this part a server that was nearly full has room again: less than the other, or it would be told each time."""

LOOK_INTERVAL_S = 10.0
"""Seconds between two looks: in so long the fastest uploads take some megabytes."""

GIB = 2**30

_log = logging.getLogger(__name__)


class Memory(NamedTuple):
    """The memory of one server.

    Attributes:
        used_bytes: what it uses.
        most_bytes: what it may use at most.
        is_limited: whether that is its own limit (maxmemory), beyond which it refuses uploads; else it is its machine's
            memory, of which the system would end some program.

    """

    used_bytes: int
    most_bytes: int
    is_limited: bool

    @classmethod
    def of(cls, facts: Mapping[str, str]) -> Memory:
        """Read it from INFO memory."""
        limit = int(facts["maxmemory"])
        return cls(int(facts["used_memory"]), limit or int(facts["total_system_memory"]), limit > 0)

    @property
    def part(self) -> float:
        """How much of it is used, from 0."""
        return self.used_bytes / self.most_bytes

    def __str__(self) -> str:
        """Return it for people."""
        of_what = "its maxmemory" if self.is_limited else "its machine's memory"
        return f"a server uses {self.used_bytes / GIB:.2f} GiB, {self.part:.0%} of {of_what}"


class MemoryWatch:
    """Looks at the servers now and then, says once when one is nearly full, and once when all have room again."""

    def __init__(self, look: Callable[[], Iterable[Memory]], clock: Callable[[], float] = time.monotonic) -> None:
        """Take what looks; it raises StoreUnavailableError where a server does not answer."""
        self._look = look
        self._clock = clock
        self._next_s = float("-inf")
        self._is_told = False
        self._part = 0.0

    def __call__(self) -> float:
        """Return the used part of the fullest server's memory, as of the last look that succeeded."""
        now_s = self._clock()
        if now_s >= self._next_s:
            self._next_s = now_s + LOOK_INTERVAL_S
            with suppress(StoreUnavailableError):  # maintenance, which asks more often, says so
                self._take(max(self._look(), key=lambda memory: memory.part))
        return self._part

    def _take(self, fullest: Memory) -> None:
        self._part = fullest.part
        if self._part >= NEARLY_FULL and not self._is_told:
            _log.warning(
                "the store is nearly full: %s; when it is full uploads get a 503: give it more, or retire tallies",
                fullest,
                extra=Event.STORE_NEARLY_FULL.extra,
            )
            self._is_told = True
        elif self._part < ROOM and self._is_told:
            _log.info("the store has room again: %s", fullest, extra=Event.STORE_HAS_ROOM.extra)
            self._is_told = False
