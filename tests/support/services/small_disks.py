"""Disks of a few megabytes, to be filled.

Only this process and those that it starts see them: the kernel unmounts them with the last one,
however the tests end.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from tests.support.services import kernel
from tests.support.services.processes import wait_until
from tests.support.services.programs import require_mark

BALLAST = "ballast"


@contextmanager
def mounted(mount: Path, megabytes: int = 3, files: int = 1000) -> Iterator[Path]:
    """Mount a small disk, for the given number of files, at a directory that is made for it."""
    require_mark("a small disk")
    assert os.geteuid() == 0, "this test mounts a small disk: run it as root"
    _take_mounts_of_its_own()
    mount.mkdir()
    options = f"size={megabytes}m,nr_inodes={files},mode=0700"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", mount], check=True)  # noqa: S607 wherever it is
    try:
        yield mount
    finally:
        wait_until(  # a rewrite of a store's file may outlive the store by a moment
            lambda: subprocess.run(["umount", mount], check=False).returncode == 0,  # noqa: S607 as above
            what="the last process to leave the disk",
        )


@cache
def _take_mounts_of_its_own() -> None:
    kernel.unshare(kernel.CLONE_NEWNS)
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)  # noqa: S607 wherever it is


def room_on(folder: Path) -> int:
    """Return the free bytes of a disk."""
    status = os.statvfs(folder)
    return status.f_bavail * status.f_frsize


def fill(disk: Path, spare: int = 0) -> Path:
    """Fill a disk except for ``spare`` bytes; return the file that fills it."""
    ballast = disk / BALLAST
    ballast.write_bytes(bytes(room_on(disk) - spare))
    return ballast
