"""The rows in which processes count: a file without a name that all of them hold open.

A process locks its row until it ends, however it ends, and the next one goes on in the row of one that died. The lock
is that of the process, not of the open file, which all of them inherit; it ends with the first of the process's
descriptors of the file that is closed, so that a row must be kept for good.
"""

from __future__ import annotations

import fcntl
import mmap
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from multiprocessing.reduction import DupFd
from typing import Any

from collector.nameless_file import nameless_file


class Sheet:
    """Rows of so many bytes each, all 0 at first."""

    def __init__(self, row_bytes: int, descriptor: int | None = None) -> None:
        """Take over a file, or make one.

        Args:
            row_bytes: of a row; it takes whole pages of memory.
            descriptor: the file's; none for a new one.

        Raises:
            ConfigError: if no file can be made.

        """
        self._row_bytes = row_bytes
        self._stride = -(-row_bytes // mmap.ALLOCATIONGRANULARITY) * mmap.ALLOCATIONGRANULARITY
        self._descriptor = nameless_file() if descriptor is None else descriptor

    def __reduce__(self) -> tuple[Callable[..., Sheet], tuple[Any, ...]]:
        """Travel to a process that is being started."""
        return _adopt, (self._row_bytes, DupFd(self._descriptor))

    def row(self) -> mmap.mmap:
        """Return a row in memory that this process alone has until it ends.

        Raises:
            OSError: if there is no room for one.

        """
        for start in count(0, self._stride):
            with suppress(BlockingIOError, PermissionError):  # as systems say that another process has it
                fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, self._stride, start)
                missing = start + self._stride - os.fstat(self._descriptor).st_size
                if missing > 0:  # written, not left as a hole: one that the disk had no room for would kill the process
                    os.pwrite(self._descriptor, bytes(missing), start + self._stride - missing)
                return mmap.mmap(self._descriptor, self._stride, offset=start)
        raise AssertionError("unreachable: the rows do not end")

    def rows(self) -> Iterator[bytes]:
        """Yield every row as it is now, of processes living and dead."""
        for start in range(0, os.fstat(self._descriptor).st_size - self._stride + 1, self._stride):
            yield os.pread(self._descriptor, self._row_bytes, start)


def _adopt(row_bytes: int, descriptor: Any) -> Sheet:  # noqa: ANN401 what multiprocessing makes of a descriptor
    return Sheet(row_bytes, descriptor.detach())
