"""How much memory this program's machine, or the group that it runs in, lets it use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

EMBEDDED_PART = 2
"""The embedded store may use one part in so many.

Half: a rewrite of the store's file forks it, and the copy takes as much again at the very worst, if every page changes
meanwhile. At its limit the store takes no upload, so that nothing changes then; below it, what is left is for that,
for the workers and for the system.
"""

PROC, GROUPS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")


def embedded_limit_bytes() -> int:
    """Return how much memory the embedded store may use unless an operator says otherwise."""
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min((machine, *group_limits_bytes(PROC, GROUPS))) // EMBEDDED_PART


def group_limits_bytes(own: Path, groups: Path) -> Iterator[int]:
    """Yield the memory limits of the control groups that a program runs in, the outer ones too (Linux only).

    Args:
        own: the file that names its groups, as in cgroups(7): a line ``0::PATH`` (version 2), or ``N:memory:PATH``.
        groups: where the groups' file system is mounted; in a container its root is often the container's own group.

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
