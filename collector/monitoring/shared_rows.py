"""The rows in which processes count: an unlinked file that all of them hold open.

A process locks its row until it ends, in whatever way, and the next process continues in the row of
one that died. The lock belongs to the process, not to the open file, which all of them inherit. It
ends as soon as the process closes any of its descriptors of the file, so a process must keep its
row for good.
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

from collector.unlinked_file import unlinked_file


class Sheet:
    """Rows of equal length, all zeros at first."""

    def __init__(self, row_bytes: int, descriptor: int | None = None) -> None:
        """Take over a file, or create one.

        Args:
            row_bytes: the bytes of a row; a row takes whole pages of memory.
            descriptor: the file's descriptor, or None for a new file.

        Raises:
            ConfigError: if no file can be created.

        """
        self._row_bytes = row_bytes
        self._stride = -(-row_bytes // mmap.ALLOCATIONGRANULARITY) * mmap.ALLOCATIONGRANULARITY
        self._descriptor = unlinked_file() if descriptor is None else descriptor

    def __reduce__(self) -> tuple[Callable[..., Sheet], tuple[Any, ...]]:
        """Pass the sheet to a process that is being started."""
        return _adopt, (self._row_bytes, DupFd(self._descriptor))

    def row(self) -> mmap.mmap:
        """Return a row in shared memory that belongs to this process until it ends.

        Raises:
            OSError: if there is no room for a row.

        """
        for start in count(0, self._stride):
            with suppress(
                BlockingIOError, PermissionError
            ):  # systems differ in how they say that another process has it
                fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, self._stride, start)
                missing = start + self._stride - os.fstat(self._descriptor).st_size
                if missing > 0:
                    # written, not left as a hole: if the disk had no room for it, it would kill the
                    # process
                    os.pwrite(self._descriptor, bytes(missing), start + self._stride - missing)
                return mmap.mmap(self._descriptor, self._stride, offset=start)
        raise AssertionError("unreachable: the rows do not end")

    def rows(self) -> Iterator[bytes]:
        """Yield the present content of every row, of living and dead processes."""
        for start in range(0, os.fstat(self._descriptor).st_size - self._stride + 1, self._stride):
            yield os.pread(self._descriptor, self._row_bytes, start)


def _adopt(row_bytes: int, descriptor: Any) -> Sheet:  # noqa: ANN401 multiprocessing's own type
    return Sheet(row_bytes, descriptor.detach())
