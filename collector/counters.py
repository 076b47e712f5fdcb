"""The workers' counters: 64-bit integers in shared memory, with one row per worker.

Counting needs no message and no system call. When a worker dies, its replacement continues in the
same row. Therefore the sums never decrease.

The multiprocess mode of prometheus_client has three disadvantages, compared with this module:

* A killed collector leaves a folder of files behind. The only file of this module has no name, so
  nothing is left behind.
* The files in this folder are sparse. If the disk is full, counting kills the worker (SIGBUS). With
  this module, the worker continues, but is missing from the metrics.
* Counting an upload takes 3.56 us. With this module, counting an upload takes 1.10 us.

The counters count only uploads, perturbed reports and requests. No counter belongs to a symbol, a
metric or a device. A relay counts an upload only after its batch was sent or given up. The relay's
metrics therefore reveal no more about arrival times than the collector can see.
"""

from __future__ import annotations

import fcntl
import logging
import mmap
import os
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import count
from multiprocessing.reduction import DupFd
from typing import Any

from client_sdk.protocol.wire.verdict import Refusal
from collector.api.messages import OPERATIONS
from collector.api.problem import Problem
from collector.files import unlinked_file
from collector.store.store_protocol import CountedUpload

_log = logging.getLogger(__name__)


class SharedCounters:
    """Rows of equal length, initially zero, in a file that all processes keep open.

    A process locks its row until the process ends. Another process can then continue in the row.
    Closing any descriptor of the file would release the lock, so all descriptors stay open.
    """

    def __init__(self, row_bytes: int, descriptor: int | None = None) -> None:
        """Use the file with this descriptor; None means a new file. Each row occupies whole pages.

        Raises:
            ConfigError: if no file can be created.
        """
        self._row_bytes = row_bytes
        self._stride = -(-row_bytes // mmap.ALLOCATIONGRANULARITY) * mmap.ALLOCATIONGRANULARITY
        self._descriptor = unlinked_file() if descriptor is None else descriptor

    def __reduce__(self) -> tuple[Callable[..., SharedCounters], tuple[Any, ...]]:
        return _adopt, (self._row_bytes, DupFd(self._descriptor))

    def row(self) -> mmap.mmap:
        """Return a row, in shared memory, that belongs to this process until the process ends.

        Raises:
            OSError: if there is no space for a row.
        """
        for start in count(0, self._stride):
            with suppress(BlockingIOError, PermissionError):  # locked by another process; errors differ by system
                fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, self._stride, start)
                missing = start + self._stride - os.fstat(self._descriptor).st_size
                if missing > 0:
                    # write the row instead of leaving it sparse: if the disk had no space for it,
                    # using the row would kill the process
                    os.pwrite(self._descriptor, bytes(missing), start + self._stride - missing)
                return mmap.mmap(self._descriptor, self._stride, offset=start)
        raise AssertionError("unreachable: the rows do not end")

    def rows(self) -> Iterator[bytes]:
        """Yield the content of every row, including the rows of processes that have ended."""
        for start in range(0, os.fstat(self._descriptor).st_size - self._stride + 1, self._stride):
            yield os.pread(self._descriptor, self._row_bytes, start)


def _adopt(row_bytes: int, descriptor: Any) -> SharedCounters:  # noqa: ANN401 multiprocessing's own type
    return SharedCounters(row_bytes, descriptor.detach())


ACCEPTED = "accepted"
OTHER = "other"
"""The operation name for a request that matches no operation."""

BUCKETS_S = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""The upper bounds, in seconds, of the buckets in the histogram of request durations.

The last bound is the time limit for a response from the store.
"""

OPERATION_NAMES = (*(operation.name for operation in OPERATIONS), OTHER)

UPLOADS, REPORTS, PROBLEMS, STORE_ERRORS = "uploads", "reports", "problems", "store_errors"

RELAYED, BATCHES, HELD, OLDEST_NS = "relayed", "batches", "held", "oldest_ns"
"""The counters that only relays have. The values of HELD and OLDEST_NS may decrease."""

ANSWERED, UNANSWERED = "answered", "unanswered"

UNAVAILABLE, REFUSED, ABANDONED = "unavailable", "refused", "abandoned"
"""Reasons why the uploads of a batch have no responses.

UNAVAILABLE: the collector gave no valid response. REFUSED: the collector refused the relay key.
ABANDONED: no device was still waiting for a response.
"""

LABELS: Mapping[str, tuple[str, ...]] = {
    UPLOADS: ("counted", REFUSED, "duplicate"),
    REPORTS: (ACCEPTED, *(refusal.value for refusal in Refusal)),
    PROBLEMS: tuple(problem.code for problem in Problem),
    STORE_ERRORS: ("",),
    RELAYED: (ANSWERED, UNANSWERED),
    BATCHES: (ANSWERED, UNAVAILABLE, REFUSED, ABANDONED),
    HELD: ("",),
    OLDEST_NS: ("",),
}
"""The labels of each counter."""

_COUNTERS = [(name, label) for name, labels in LABELS.items() for label in labels]
_CELL = {counter: cell for cell, counter in enumerate(_COUNTERS)}

_HISTOGRAM_CELLS = len(BUCKETS_S) + 2
"""The number of integers in a histogram.

These are a count for each bucket, the count of slower requests, and the sum of all durations (ns).
"""

_HISTOGRAM = {name: len(_COUNTERS) + place * _HISTOGRAM_CELLS for place, name in enumerate(OPERATION_NAMES)}

_PID = len(_COUNTERS) + len(OPERATION_NAMES) * _HISTOGRAM_CELLS
"""The index, in a row, of the process id of the worker that owns the row."""

CELLS = _PID + 1
_BYTES = 8 * CELLS

_BUCKETS_NS = tuple(round(bound * 1e9) for bound in BUCKETS_S)

_COUNTED, _REFUSED, _DUPLICATE = (_CELL[UPLOADS, label] for label in LABELS[UPLOADS])
_ACCEPTED = _CELL[REPORTS, ACCEPTED]


class WorkerCounters:
    """The counters of one process, for all its threads."""

    def __init__(self, shared_counters: SharedCounters | None = None) -> None:
        """Use a row that no living process owns. Without shared counters, use private memory."""
        self._lock = threading.Lock()
        self._cells = memoryview(_memory(shared_counters)).cast("q")
        self._cells[_PID] = os.getpid()

    def add(self, name: str, label: str = "", amount: int = 1) -> None:
        """Add ``amount`` to a counter."""
        with self._lock:
            self._cells[_CELL[name, label]] += amount

    def put(self, name: str, value: int) -> None:
        """Set a counter to ``value``, which may be lower than the previous value.

        Only a service with one worker may call this method, because `Totals` adds up all rows.
        """
        with self._lock:
            self._cells[_CELL[name, ""]] = value

    def add_counted(self, *uploads: CountedUpload) -> None:
        """Count uploads and their reports. For a duplicate, count the upload, but not its reports.

        An upload counts as refused if all of its reports are refused.
        """
        cells = self._cells
        with self._lock:
            for (reports, refused), is_duplicate in uploads:
                if is_duplicate:
                    cells[_DUPLICATE] += 1
                    continue
                cells[_COUNTED if len(refused) < reports else _REFUSED] += 1
                cells[_ACCEPTED] += reports - len(refused)
                for _, refusal in refused:
                    cells[_CELL[REPORTS, refusal]] += 1

    def observe(self, operation: str, elapsed_ns: int) -> None:
        """Count a request to an operation, and the request's duration."""
        first = _HISTOGRAM.get(operation, _HISTOGRAM[OTHER])
        with self._lock:
            self._cells[first + bisect_left(_BUCKETS_NS, elapsed_ns)] += 1
            self._cells[first + _HISTOGRAM_CELLS - 1] += elapsed_ns


class Totals:
    """The sum of each counter over all processes, including processes that have ended."""

    def __init__(self, shared_counters: SharedCounters) -> None:
        """Add up all rows."""
        self._cells = [0] * CELLS
        for counted in shared_counters.rows():
            for cell, amount in enumerate(memoryview(counted).cast("q")):
                self._cells[cell] += amount

    def total(self, name: str, label: str = "") -> int:
        """Return the sum of a counter."""
        return self._cells[_CELL[name, label]]

    def latency(self, operation: str) -> tuple[list[int], float]:
        """Return the histogram of the durations of an operation's requests.

        Returns:
            A list with the number of requests in each bucket and, as its last element, the number
            of slower requests; and the sum of all durations in seconds.
        """
        first = _HISTOGRAM[operation]
        *buckets, sum_ns = self._cells[first : first + _HISTOGRAM_CELLS]
        return buckets, sum_ns / 1e9


def worker_pids(shared_counters: SharedCounters) -> list[int]:
    """Return the process id of the current or last owner of each row."""
    return [memoryview(counted).cast("q")[_PID] for counted in shared_counters.rows()]


def new_shared_counters() -> SharedCounters:
    """Return new counters. All processes that receive the returned object share the counters."""
    return SharedCounters(_BYTES)


def _memory(shared_counters: SharedCounters | None) -> mmap.mmap | bytearray:
    """Return the memory in which a worker counts.

    If there is no space for a row, the worker runs anyway, but is missing from the metrics.
    """
    if shared_counters is not None:
        try:
            return shared_counters.row()
        except OSError as error:
            _log.warning("a worker is missing from the metrics: %s", error.strerror)
    return bytearray(_BYTES)
