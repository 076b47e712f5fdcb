"""Measures the memory that a store's servers use, and the memory that this machine allows."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from collector.errors import StoreUnavailableError, in_units
from collector.log import Event

NEARLY_FULL = 0.75
"""A server that uses at least this fraction of its memory is nearly full.

The operator then still has time to give the server more memory.
"""

FULL = 0.95
"""If a server uses at least this fraction of its memory, uploads are expected to fail soon.

Clients and a rewrite of the append-only file need the remaining memory.
"""

ROOM = 0.70
"""A server that was nearly full has enough memory again once it uses less than this fraction.

If this limit and `NEARLY_FULL` were equal, memory use near the limit would cause many warnings.
"""

LOOK_INTERVAL_S = 10.0
"""Seconds between two checks. Meanwhile, even the fastest uploads need only a few megabytes."""

_log = logging.getLogger(__name__)

EMBEDDED_PART = 2
"""The embedded store may use the machine's memory divided by this number.

A rewrite of the store's file forks the server. In the worst case, every page of memory changes
during the rewrite, and the copy needs as much memory as the store. The other half of the memory is
for the copy, the workers and the system.
"""

PROC, GROUPS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")


class Memory(NamedTuple):
    """The memory of one server.

    Attributes:
        most_bytes: the memory that the server may use.
        is_limited: whether `most_bytes` is the server's own limit (maxmemory), at which the server
            refuses uploads. Otherwise, `most_bytes` is the machine's memory. If all of it is used,
            the system kills a program.
    """

    used_bytes: int
    most_bytes: int
    is_limited: bool

    @classmethod
    def from_info(cls, facts: Mapping[str, str]) -> Memory:
        """Read the numbers from the response to the command ``INFO memory``."""
        limit = int(facts["maxmemory"])
        return cls(int(facts["used_memory"]), limit or int(facts["total_system_memory"]), limit > 0)

    @property
    def part(self) -> float:
        """The fraction of the allowed memory that is in use."""
        return self.used_bytes / self.most_bytes

    def __str__(self) -> str:
        limit = "its maxmemory" if self.is_limited else "its machine's memory"
        return f"a server uses {in_units(self.used_bytes)}, {self.part:.0%} of {limit} ({in_units(self.most_bytes)})"


class MemoryWatch:
    """Checks the servers' memory from time to time.

    The log says when a server becomes nearly full, and when all servers have enough memory again.
    """

    def __init__(self, look: Callable[[], Iterable[Memory]], clock: Callable[[], float] = time.monotonic) -> None:
        """Store a function that returns the memory of every server."""
        self._look = look
        self._clock = clock
        self._next_s = float("-inf")
        self._has_warned = False
        self._part = 0.0

    def __call__(self) -> float:
        """Return the fraction of memory that was in use on the fullest server at the last check."""
        now_s = self._clock()
        if now_s >= self._next_s:
            self._next_s = now_s + LOOK_INTERVAL_S
            with suppress(StoreUnavailableError):  # maintenance checks more often, and logs that the store is down
                self._take(max(self._look(), key=lambda memory: memory.part))
        return self._part

    def _take(self, fullest: Memory) -> None:
        self._part = fullest.part
        if self._part >= NEARLY_FULL and not self._has_warned:
            _log.warning(
                (
                    "the store is nearly full: %s. Once it is full, uploads get a 503: give it more memory, or "
                    "retire tallies"
                ),
                fullest,
                extra=Event.STORE_NEARLY_FULL.extra,
            )
            self._has_warned = True
        elif self._part < ROOM and self._has_warned:
            _log.info("the store has free memory again: %s", fullest, extra=Event.STORE_HAS_ROOM.extra)
            self._has_warned = False


def embedded_limit_bytes() -> int:
    """Return the number of bytes that the embedded store may use if the operator sets no limit."""
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min((machine, *group_limits_bytes(PROC, GROUPS))) // EMBEDDED_PART


def group_limits_bytes(own: Path, groups: Path) -> Iterator[int]:
    """Yield the memory limits of a program's control groups and their parents (Linux only).

    Args:
        own: the file that names the program's groups; see cgroups(7). The file has a line
            ``0::PATH`` for version 2 or ``N:memory:PATH`` for version 1.
        groups: the folder of the file system of control groups. In a container, the root of this
            file system is often the container's own group.
    """
    lines = own.read_text(encoding="utf-8").splitlines() if own.is_file() else []
    for line in lines:
        number, controllers, path = line.split(":", 2)
        if number == "0":
            root, name = groups, "memory.max"
        elif "memory" in controllers.split(","):
            root, name = groups / "memory", "memory.limit_in_bytes"
        else:
            continue
        group = Path(path)
        for folder in (group, *group.parents):
            limit = root / folder.relative_to("/") / name
            if limit.is_file() and (text := limit.read_text(encoding="utf-8").strip()).isdecimal():
                yield int(text)
