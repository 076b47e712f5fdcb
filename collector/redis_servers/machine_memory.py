"""How much memory the machine, or the control group that this program runs in, allows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

EMBEDDED_PART = 2
"""The embedded store may use this fraction of the memory: one half.

A rewrite of the store's file forks the server. At worst, if every page changes meanwhile, the copy
takes as much memory again. At its limit the store takes no uploads, so nothing changes then. Below
the limit, the rest is for the copy, for the workers and for the system.
"""

PROC, GROUPS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")


def embedded_limit_bytes() -> int:
    """Return how many bytes the embedded store may use unless the operator sets another limit."""
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min((machine, *group_limits_bytes(PROC, GROUPS))) // EMBEDDED_PART


def group_limits_bytes(own: Path, groups: Path) -> Iterator[int]:
    """Yield the memory limits of a program's control groups and their parents (Linux only).

    Args:
        own: the file that names the program's groups, see cgroups(7). It has a line ``0::PATH`` for
            version 2 or ``N:memory:PATH`` for version 1.
        groups: where the groups' file system is mounted. In a container its root is often the
            container's own group.

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
