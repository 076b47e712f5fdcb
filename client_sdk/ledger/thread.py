"""The ledger thread: it owns its process's connection to the ledger and does one job at a time.

A caller chooses how long to wait for its job. Whoever comes first, the caller who gives up or the
thread about to commit, decides whether the job counts. If a commit itself hangs, the caller does
not know its outcome, but the job is done either completely or not at all.

A caller may also leave its job behind instead of giving up. Such a job stays in memory, where a
bounded number of them wait, and is tried again while another process holds the ledger.

The connection lives in the thread's own frame. After a fork the child has neither the thread nor a
way to reach, close or finalize the connection, any of which would harm the parent's.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from client_sdk.host import forks
from client_sdk.ledger import explanations
from client_sdk.ledger import file as ledger_file
from client_sdk.results import LedgerBusyError, LedgerError, warn

if TYPE_CHECKING:
    import sqlite3

    Work = Callable[[sqlite3.Connection], Any]

WRITE, READ, BARE = "BEGIN IMMEDIATE", "BEGIN", ""
"""How a job begins. ``BARE`` is for statements that cannot be part of a transaction."""

T = TypeVar("T")

MAX_LEFT = 64
"""The most jobs that wait in memory although their callers have gone on: more than any app asks in
the seconds for which a disk hangs."""

AGAIN_S = 0.1
"""The pause before jobs that wait in memory are tried again. Each try waits for the other process,
too."""

LAST_TRY = 0.8
"""After this part of the time that a caller waits for the thread to end, nothing is tried again."""


class _AbandonedError(Exception):
    """The caller gave up before the commit."""


class _End(NamedTuple):
    """The end of the thread: until when jobs are tried again, and a job to do after all others."""

    until_s: float
    last: _Job[Any] | None


class _Job(Generic[T]):
    """A piece of work and its result."""

    def __init__(self, work: Callable[[sqlite3.Connection], T], begin: str, *, is_patient: bool = False) -> None:
        self.work = work
        self.begin = begin
        self.is_patient = is_patient
        self.finished = threading.Event()
        self.result: T
        self.error: LedgerError | None = None
        self._late: Callable[[T | LedgerError], None] | None = None
        self._decision = threading.Lock()
        self._ending = threading.Lock()

    @property
    def is_decided(self) -> bool:
        return self._decision.locked()

    def decide(self) -> bool:
        """Return whether the caller is the first to decide: to commit the job, or to abandon it."""
        return self._decision.acquire(blocking=False)

    def leave(self, late: Callable[[T | LedgerError], None]) -> bool:
        """Go on without the result, which ``late`` is told; return False if it is there already."""
        with self._ending:
            if not self.finished.is_set():
                self._late = late
            return self._late is not None

    def end(self) -> None:
        """Tell the caller that the result is there, or tell what the caller has left behind."""
        with self._ending:
            self.finished.set()
        if self._late is not None:
            self._late(self.result if self.error is None else self.error)


class LedgerThread:
    """Does jobs on one ledger, in one process.

    Attributes:
        path: the ledger's file; None if it is kept in memory.
        process: the process that this thread works in.
        is_open: whether it holds the file open at the moment.
        problem: what was wrong with the ledger at the latest job and what to do; None if nothing
            was.

    """

    def __init__(self, path: Path | None, open_ledger: Callable[[], sqlite3.Connection]) -> None:
        """Prepare; the thread starts with the first job. ``open_ledger`` is called in it."""
        self.path = path
        self.process = forks.this_process()
        self.is_open = False
        self.problem: str | None = None
        self._open_ledger = open_ledger
        self._jobs: SimpleQueue[_Job[Any] | forks.Pause | _End] = SimpleQueue()
        self._starting = threading.RLock()
        self._thread: threading.Thread | None = None
        self._file: tuple[int, int] | None = None
        self._left: set[_Job[Any]] = set()
        self._again: deque[_Job[Any]] = deque()
        self._again_at_s = 0.0
        self._first: deque[Work] = deque()
        self._is_stopped = False
        self._ends = False
        self._warned: set[str] = set()

    def run(self, work: Callable[[sqlite3.Connection], T], timeout_s: float, *, begin: str = WRITE) -> T:
        """Return what the work returns, done within a transaction of its own.

        Raises:
            LedgerBusyError: if it was not done in time, or another process holds the ledger. A job
                that was not done in time is not done at all, unless its commit was under way.
            LedgerError: if the ledger cannot be used; ``problem`` says the same.

        """
        job = _Job(work, begin)
        self._put(job)
        if not job.finished.wait(timeout_s):
            job.decide()
            raise LedgerBusyError("the ledger did not answer in time; try again")
        if job.error is not None:
            raise job.error
        return job.result

    def run_or_leave(
        self, work: Callable[[sqlite3.Connection], T], timeout_s: float, late: Callable[[T | LedgerError], None]
    ) -> T | None:
        """Return what the work returns; None if it takes longer, and ``late`` gets its result.

        ``late`` is called in this thread, with the result or an error. It is not called if the
        process is killed before. A `LedgerBusyError` says that too many jobs wait in memory.
        """
        job = _Job(work, WRITE, is_patient=True)
        self._put(job)
        if not job.finished.wait(timeout_s):
            if len(self._left) >= MAX_LEFT and job.decide():  # otherwise its commit is under way
                raise LedgerBusyError("too many answers wait for the ledger; try again")
            self._left.add(job)
            if job.leave(late):
                return None
        self._left.discard(job)
        if job.error is not None:
            raise job.error
        return job.result

    @property
    def has_left(self) -> bool:
        """Whether jobs wait in memory although their callers have gone on."""
        return bool(self._left)

    def prepare(
        self,
        work: Callable[[sqlite3.Connection], T | None] = lambda _: None,
        late: Callable[[T | LedgerError | None], None] = lambda _: None,
        *,
        begin: str = READ,
    ) -> None:
        """Open the ledger soon and do a job without waiting for it; ``late`` is told its result."""
        job = _Job(work, begin)
        job.leave(late)
        self._put(job)

    def do_first(self, work: Work) -> None:
        """Do work in a write transaction of its own before any other, once the next one is due.

        While it cannot be done, no job writes anything.
        """
        self._first.append(work)

    def pause(self, pause: forks.Pause) -> None:
        """Close the connection soon and open none until the pause is over."""
        self._jobs.put(pause)

    def reopen(self, timeout_s: float = 0.0) -> None:
        """Close the connection after the jobs queued so far; the next job opens the ledger anew.

        Wait up to ``timeout_s`` seconds for that.
        """
        if self._thread is not None and not self._is_stopped:
            pause = forks.Pause()
            pause.over.set()
            self.pause(pause)
            pause.closed.wait(timeout_s)

    def stop(self, patience_s: float, last: Work | None = None) -> None:
        """Finish the jobs queued so far, close the connection and end.

        Jobs that wait in memory are tried again for ``patience_s``. What comes last is done in a
        write transaction after all jobs, if the thread has started.
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

    def _put(self, job: _Job[Any]) -> None:
        with self._starting:
            if self._is_stopped:
                raise LedgerError("this Telemetry is closed; make a new one")
            self._start()
            self._jobs.put(job)

    def _start(self) -> None:
        if self._thread is not None:
            return
        thread = threading.Thread(target=self._serve, name="hearsay-ledger", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            self.problem = "no thread can be started, so that nothing can be recorded; free some memory"
            raise LedgerError(self.problem) from None
        self._thread = thread

    def _serve(self) -> None:
        connection: sqlite3.Connection | None = None
        if self.path is not None:
            forks.register(self)
        while not isinstance(job := self._next(), _End):
            if isinstance(job, forks.Pause):
                self._rest(job, connection)
                connection = None
            elif not job.is_decided:
                connection = self._do(job, connection)
        connection = self._do_again(job.until_s, connection)
        if job.last is not None:
            connection = self._do_again(job.until_s, self._do(job.last, connection))
        with contextlib.suppress(Exception):
            self._close(connection)
        forks.unregister(self)

    def _do_again(self, until_s: float, connection: sqlite3.Connection | None) -> sqlite3.Connection | None:
        """Do what waits in memory; try again, until an instant, what another process prevents."""
        while self._again:
            time.sleep(max(0.0, min(self._again_at_s, until_s) - time.monotonic()))
            self._ends = time.monotonic() >= until_s
            connection = self._do(self._again.popleft(), connection)
        return connection

    def _next(self) -> _Job[Any] | forks.Pause | _End:
        """Return the next job; when it is time, the first of those to be tried again."""
        if not self._again:
            return self._jobs.get()
        try:
            return self._jobs.get(timeout=max(0.0, self._again_at_s - time.monotonic()))
        except Empty:
            return self._again.popleft()

    def _rest(self, pause: forks.Pause, connection: sqlite3.Connection | None) -> None:
        with contextlib.suppress(Exception):
            # what does not close stays marked as open, and no child uses it
            self._close(connection)
        pause.closed.set()
        pause.over.wait()

    def _do(self, job: _Job[Any], connection: sqlite3.Connection | None) -> sqlite3.Connection | None:
        try:
            connection = self._ready(connection)
            while job.begin == WRITE and self._first:
                _transact(connection, _Job(self._first[0], WRITE))
                self._first.popleft()
            job.result = _transact(connection, job)
            self.problem = None
        except _AbandonedError:
            pass
        except BaseException as error:  # noqa: BLE001 the thread must outlive any failure of a job
            explained = self._explain(error)
            if isinstance(explained, LedgerBusyError) and explained is not error and self._can_try_again(job):
                return connection if self.is_open else None
            job.error = explained
        self._left.discard(job)  # so that whoever is told sees that it waits no longer
        job.end()
        self._left.discard(job)  # its caller may have gone on just before the end
        return connection if self.is_open else None

    def _can_try_again(self, job: _Job[Any]) -> bool:
        """Keep a job that another process has prevented, if anybody still waits for it."""
        if self._ends or not job.is_patient or job.is_decided:
            return False
        self._again.append(job)
        self._again_at_s = time.monotonic() + AGAIN_S
        return True

    def _ready(self, connection: sqlite3.Connection | None) -> sqlite3.Connection:
        """Open the ledger if necessary; refuse a file that has replaced the first one opened."""
        if self.path is not None and self._file not in (None, ledger_file.identify(self.path)):
            self._close(connection)
            raise LedgerError(
                f"{self.path} was deleted or replaced while it was in use, so that nothing is recorded: put it back, "
                "or start this program again"
            )
        return connection or self._open()

    def _open(self) -> sqlite3.Connection:
        ledger_file.load()
        self.is_open = True
        try:
            connection = self._open_ledger()
        except BaseException:
            self.is_open = False
            raise
        if self.path is not None:
            self._file = ledger_file.identify(self.path)
        return connection

    def _close(self, connection: sqlite3.Connection | None) -> None:
        if connection is not None:
            connection.close()
        self.is_open = False

    def _explain(self, error: BaseException) -> LedgerError:
        # its frames hold the connection
        explained = explanations.explain(error, self.path).with_traceback(None)
        if not isinstance(explained, LedgerBusyError):
            self.problem = str(explained)
            self._warn_once(self.problem)
        return explained

    def _warn_once(self, problem: str) -> None:
        if problem not in self._warned:
            self._warned.add(problem)
            warn("%s", problem)


def _transact(connection: sqlite3.Connection, job: _Job[T]) -> T:
    if not job.begin:
        return job.work(connection)
    connection.execute(job.begin)
    try:
        result = job.work(connection)
        if not job.decide():
            raise _AbandonedError  # noqa: TRY301 joins the other ways to fail
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return result
