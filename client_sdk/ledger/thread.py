"""The ledger thread, which owns a process's connection to the ledger and does one job at a time.

A *job* is a function that uses the connection. A caller chooses how long to wait for its job. If
the caller gives up before the thread begins to commit, nothing is changed. If the commit itself
hangs, the caller does not learn the outcome, but the job is done either completely or not at all.

A caller may also stop waiting but leave its job to the thread. Up to `MAX_LEFT` of these jobs stay
in memory, and are tried again while another process blocks the ledger.

Only the thread's own stack frames refer to the connection. After a fork, the child does not have
the thread. Therefore the child cannot use, close or finalize the connection. Any of these actions
would harm the parent's connection.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, wait
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, cast

from client_sdk.host import files, forks
from client_sdk.ledger import explanations
from client_sdk.ledger import file as ledger_file
from client_sdk.results import LedgerBusyError, LedgerError, warn

if TYPE_CHECKING:
    import sqlite3

    Work = Callable[[sqlite3.Connection], Any]

WRITE, READ, BARE = "BEGIN IMMEDIATE", "BEGIN", ""
"""The SQL statement that begins a job; ``BARE`` is for work that cannot run in a transaction."""

T = TypeVar("T")

MAX_LEFT = 64
"""The maximum number of jobs that wait in memory while their callers continue. No app makes more
calls during the few seconds for which a disk may hang."""

AGAIN_S = 0.1
"""The pause, in seconds, before blocked jobs are tried again. A job is blocked if another process
uses the ledger."""

LAST_TRY = 0.8
"""The fraction of `close`'s waiting time in which blocked jobs are tried again."""


class _AbandonedError(Exception):
    """The caller gave up before the commit."""


class _End(NamedTuple):
    """A request to the thread: retry blocked jobs until ``until_s``, do ``last``, then end."""

    until_s: float
    last: _Job[Any] | None


class _Job(Generic[T]):
    """A job and its result. The caller can cancel the job until its commit begins."""

    def __init__(self, work: Callable[[sqlite3.Connection], T], begin: str, *, is_patient: bool = False) -> None:
        self.work, self.begin, self.is_patient = work, begin, is_patient
        self.result: Future[T] = Future()

    def decide(self) -> bool:
        """Begin to commit; return False if the caller has already cancelled the job."""
        return self.result.running() or (not self.result.cancelled() and self.result.set_running_or_notify_cancel())

    def is_done(self, timeout_s: float) -> bool:
        """Wait up to ``timeout_s`` seconds; return whether there is a result or an error."""
        return bool(wait((self.result,), timeout_s).done)

    def value(self) -> T:
        if (error := self.result.exception()) is not None:
            raise error
        return self.result.result()

    def tell(self, late: Callable[[T | LedgerError], None]) -> None:
        """Call ``late`` with the result or the error as soon as possible."""
        self.result.add_done_callback(
            lambda result: late(cast("LedgerError | None", result.exception()) or result.result())
        )


class LedgerThread:
    """Does jobs on one ledger, in one process. Without a path, the ledger is in memory."""

    def __init__(self, path: Path | None, open_ledger: Callable[[], sqlite3.Connection]) -> None:
        """Store the settings. The first job starts the thread, which then calls ``open_ledger``."""
        self.path = path
        self.process = forks.this_process()
        self.is_open = False
        self.problem: str | None = None
        self._failed_begin = BARE
        self._open_ledger = open_ledger
        self._jobs: SimpleQueue[_Job[Any] | forks.Pause | _End] = SimpleQueue()
        self._starting = threading.RLock()
        self._thread: threading.Thread | None = None
        self._file: tuple[int, int] | None = None
        self._left: set[Future[Any]] = set()
        self._again: deque[_Job[Any]] = deque()
        self._again_at_s = 0.0
        self._first: deque[Work] = deque()
        self._is_stopped = False
        self._ends = False
        self._warned: set[str] = set()

    def run(self, work: Callable[[sqlite3.Connection], T], timeout_s: float, *, begin: str = WRITE) -> T:
        """Do work in a transaction of its own; return the result of the work.

        Raises:
            LedgerBusyError: if the work was not done in time, or another process uses the ledger.
                After this error, the work is never done, unless its commit was in progress.
            LedgerError: if the ledger cannot be used; ``problem`` contains the same message.
        """
        job = self._put(_Job(work, begin))
        if job.is_done(timeout_s):
            return job.value()
        job.result.cancel()
        raise LedgerBusyError("the ledger did not answer in time; try again")

    def run_or_leave(
        self, work: Callable[[sqlite3.Connection], T], timeout_s: float, late: Callable[[T | LedgerError], None]
    ) -> T | None:
        """Do work and return the result. After a timeout, return None; ``late`` gets the result.

        ``late`` gets the result or an error, and is usually called in the ledger thread. If the
        process is killed before the job is done, ``late`` is never called. A `LedgerBusyError` is
        raised if too many jobs wait.
        """
        job = self._put(_Job(work, WRITE, is_patient=True))
        if job.is_done(timeout_s):
            return job.value()
        if len(self._left) >= MAX_LEFT and job.result.cancel():  # otherwise the job's commit is in progress
            raise LedgerBusyError("too many answers are waiting for the ledger; try again")
        self._left.add(job.result)
        job.result.add_done_callback(self._left.discard)  # so that ``late`` sees that the job no longer waits
        job.tell(late)
        return None

    @property
    def has_left(self) -> bool:
        """Whether jobs wait in memory while their callers continue."""
        return bool(self._left)

    def prepare(
        self,
        work: Callable[[sqlite3.Connection], T | None] = lambda _: None,
        late: Callable[[T | LedgerError | None], None] = lambda _: None,
        *,
        begin: str = READ,
    ) -> None:
        """Queue a job and return at once; the job opens the ledger. ``late`` gets the result."""
        job = _Job(work, begin)
        job.tell(late)
        self._put(job)

    def do_first(self, work: Work) -> None:
        """Do work in a write transaction of its own, just before the next job that writes.

        If the work fails, that job fails, too, and the work is tried again before the following
        job.
        """
        self._first.append(work)

    def pause(self, pause: forks.Pause) -> None:
        """Close the connection after the jobs queued so far, until the pause is over."""
        self._jobs.put(pause)

    def reopen(self, timeout_s: float = 0.0) -> None:
        """Close the connection after the jobs queued so far. The next job reopens the ledger."""
        if self._thread is not None and not self._is_stopped:
            pause = forks.Pause()
            pause.over.set()
            self.pause(pause)
            pause.closed.wait(timeout_s)

    def stop(self, patience_s: float, last: Work | None = None) -> None:
        """Finish the jobs queued so far, close the connection, and end the thread.

        Blocked jobs are tried again for ``patience_s`` seconds. If the thread has ever started, it
        does ``last`` in a write transaction after all other jobs.
        """
        job = None if last is None else _Job(last, WRITE, is_patient=True)
        with self._starting:
            if self._thread is not None and not self._is_stopped:
                self._jobs.put(_End(time.monotonic() + patience_s, job))
            self._is_stopped = True

    def close(self, timeout_s: float, last: Work | None = None) -> None:
        """Stop, and wait up to ``timeout_s`` seconds for the thread to end."""
        self.stop(timeout_s * LAST_TRY, last)
        if self._thread is not None:
            self._thread.join(timeout_s)

    def _put(self, job: _Job[T]) -> _Job[T]:
        with self._starting:
            if self._is_stopped:
                raise LedgerError("this Telemetry is closed; create a new one")
            if self._thread is None:
                thread = threading.Thread(target=self._serve, name="hearsay-ledger", daemon=True)
                try:
                    thread.start()
                except RuntimeError:
                    self.problem = "cannot start a thread, so nothing can be recorded; free some memory"
                    raise LedgerError(self.problem) from None
                self._thread = thread
            self._jobs.put(job)
        return job

    def _serve(self) -> None:
        connection: sqlite3.Connection | None = None
        if self.path is not None:
            forks.register(self)
        while not isinstance(job := self._next(), _End):
            if isinstance(job, forks.Pause):
                with contextlib.suppress(Exception):  # if it fails, is_open stays true, and no child uses the ledger
                    self._close(connection)
                connection = None
                job.closed.set()
                job.over.wait()
            elif not job.result.cancelled():
                connection = self._do(job, connection)
        connection = self._do_again(job.until_s, connection)
        if job.last is not None:
            connection = self._do_again(job.until_s, self._do(job.last, connection))
        with contextlib.suppress(Exception):
            self._close(connection)
        forks.unregister(self)

    def _do_again(self, until_s: float, connection: sqlite3.Connection | None) -> sqlite3.Connection | None:
        """Do the jobs that wait in memory; retry blocked jobs until ``until_s``."""
        while self._again:
            time.sleep(max(0.0, min(self._again_at_s, until_s) - time.monotonic()))
            self._ends = time.monotonic() >= until_s
            connection = self._do(self._again.popleft(), connection)
        return connection

    def _next(self) -> _Job[Any] | forks.Pause | _End:
        """Return the next new job or, if none arrives in time, the first blocked job."""
        if not self._again:
            return self._jobs.get()
        try:
            return self._jobs.get(timeout=max(0.0, self._again_at_s - time.monotonic()))
        except Empty:
            return self._again.popleft()

    def _do(self, job: _Job[Any], connection: sqlite3.Connection | None) -> sqlite3.Connection | None:
        try:
            connection = self._ready(connection)
            while job.begin == WRITE and self._first:
                _transact(connection, _Job(self._first[0], WRITE))
                self._first.popleft()
            value = _transact(connection, job)
            if job.begin == WRITE or self._failed_begin != WRITE:  # on a full disk, only reading succeeds
                self.problem = None
            job.result.set_result(value)
        except _AbandonedError:
            pass
        except BaseException as error:  # noqa: BLE001 the thread must outlive any failure of a job
            explained = self._explain(error, job.begin)
            if isinstance(explained, LedgerBusyError) and explained is not error and self._can_try_again(job):
                return connection if self.is_open else None
            if job.decide():
                job.result.set_exception(explained)
        return connection if self.is_open else None

    def _can_try_again(self, job: _Job[Any]) -> bool:
        """Keep a blocked job for another attempt if the job may wait; return False if not."""
        if self._ends or not job.is_patient or job.result.running() or job.result.cancelled():
            return False
        self._again.append(job)
        self._again_at_s = time.monotonic() + AGAIN_S
        return True

    def _ready(self, connection: sqlite3.Connection | None) -> sqlite3.Connection:
        """Open the ledger if necessary; raise an error if its file was deleted or replaced."""
        if self.path is not None and self._file not in (None, files.identify(self.path)):
            self._close(connection)
            raise LedgerError(
                f"{self.path} was deleted or replaced while in use, and nothing is recorded: put it back, "
                "or restart this program"
            )
        if connection is not None:
            return connection
        ledger_file.load()
        self.is_open = True
        try:
            connection = self._open_ledger()
        except BaseException:
            self.is_open = False
            raise
        if self.path is not None:
            self._file = files.identify(self.path)
        return connection

    def _close(self, connection: sqlite3.Connection | None) -> None:
        if connection is not None:
            connection.close()
        self.is_open = False

    def _explain(self, error: BaseException, begin: str) -> LedgerError:
        # drop the traceback, whose frames refer to the connection
        explained = explanations.explain(error, self.path).with_traceback(None)
        if not isinstance(explained, LedgerBusyError):
            self.problem, self._failed_begin = str(explained), begin
            if self.problem not in self._warned:
                self._warned.add(self.problem)
                warn("%s", self.problem)
        return explained


def _transact(connection: sqlite3.Connection, job: _Job[T]) -> T:
    if job.begin:
        connection.execute(job.begin)
    try:
        result = job.work(connection)
        if not job.decide():
            raise _AbandonedError  # noqa: TRY301 this way, all failures are handled in one place
        if job.begin:
            connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return result
