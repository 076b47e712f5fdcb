"""Creates the objects that a child process does not inherit from its parent.

These objects are threads and connections.

When the interpreter exits, this module shuts down these objects while daemon threads still run.
"""

from __future__ import annotations

import atexit
import contextlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from weakref import WeakSet

from client_sdk.answers.mistakes import Mistakes
from client_sdk.answers.schedule import Schedule
from client_sdk.host import forks
from client_sdk.ledger import file as ledger_file
from client_sdk.ledger.losses import Losses
from client_sdk.ledger.thread import LedgerThread
from client_sdk.results import SUPPRESSED
from client_sdk.sending.transport import Transport
from client_sdk.sending.uploader import Uploader

if TYPE_CHECKING:
    import sqlite3

    from client_sdk.answers.budget_alerts import BudgetWatch
    from client_sdk.answers.provider import Provider
    from client_sdk.protocol.registry.registry import Registry
    from client_sdk.results import OnBudget
    from client_sdk.sending.helper import Helper

REQUEST_DEADLINE_S = 0.3
"""How long, in seconds, an exiting program waits for a request in progress. If the request takes
longer, the next run sends the same upload again, with the same id."""

LEDGER_DEADLINE_S = 1.0
"""How long, in seconds, an exiting program waits for the ledger to store answers and to close,
after it has waited for a request. Only a hanging disk takes this long."""


class Process:
    """The ledger thread and the uploader of one process, each started by its first job."""

    def __init__(self, ledger_thread: LedgerThread, uploader: Uploader) -> None:
        """Start without losses, mistakes or a provider."""
        self.ledger_thread = ledger_thread
        self.uploader = uploader
        self.losses = Losses()
        self.mistakes = Mistakes()
        self.provider: Provider | None = None
        self.is_finished = False


class Processes:
    """Creates the `Process` of the current process on first use.

    Threads refer to this object and not to the `Telemetry`, so that an unused `Telemetry` can be
    garbage-collected.
    """

    def __init__(  # noqa: PLR0913 what each process needs
        self,
        path: Path | None,
        app: str,
        transport: Transport,
        clock: Callable[[], float],
        schedule: Schedule,
        *,
        watch: BudgetWatch | None = None,
        helper: Helper | None = None,
    ) -> None:
        """Store the arguments.

        If ``path`` is None, the ledger is in memory, and only the current process can use the
        ledger.
        """
        self._path = path
        self._app = app
        self._transport = transport
        self._clock = clock
        self._schedule = schedule
        self._watch = watch
        self._helper = helper
        self._leaves_soon = False
        self._first = forks.this_process()
        self._by_process: dict[tuple[int, int], Process] = {}

    @property
    def current(self) -> Process:
        """The objects of this process.

        No lock is used, because a child process could inherit a locked lock.
        """
        this = forks.this_process()
        return self._by_process.get(this) or self._by_process.setdefault(this, self._new())

    @property
    def is_finished(self) -> bool:
        """Whether this process's threads have ended, or will end without accepting more work."""
        process = self._by_process.get(forks.this_process())
        return process is not None and process.is_finished

    def end(self) -> None:
        """End this process's threads after their current work, without waiting for them."""
        process = self._by_process.get(forks.this_process())
        if process is not None and not process.is_finished:
            # Assume that a helper is needed until the thread's final job has read the ledger.
            # Assume it only with consent to everything, because a helper sends all reports that it
            # finds.
            self._expect_to_leave(self._helper is not None and self._schedule.agreement.consent is True)
            process.is_finished = True
            if process.provider is not None:
                process.provider.end()
            process.uploader.stop(lambda: process.ledger_thread.stop(LEDGER_DEADLINE_S, self._last(process)))

    def finish(self) -> None:
        """End this process's threads.

        Wait briefly for the end of a request in progress, and for the end of work on the ledger.
        """
        self.end()
        process = self._by_process.get(forks.this_process())
        if process is not None:
            process.uploader.join(REQUEST_DEADLINE_S)
            process.ledger_thread.close(LEDGER_DEADLINE_S, self._last(process))

    def exit(self) -> None:
        """End this process's threads at the program's exit.

        If there is a helper, leave the waiting reports to it.
        """
        self.finish()
        if self._helper is not None and self._schedule.agreement.consent and self._leaves_soon:
            self._helper.start()

    def _last(self, process: Process) -> Callable[[sqlite3.Connection], None] | None:
        """Return the ledger thread's final job before the exit; None if there is none."""
        has_work = process.losses or process.ledger_thread.has_left or self._helper is not None
        return partial(self._do_last, process) if has_work else None

    def _do_last(self, process: Process, connection: sqlite3.Connection) -> None:
        """Store data that is only in memory, and check whether a helper would have work to do."""
        process.losses.store(connection)
        self._schedule.withdraw(connection)
        if self._helper is not None:
            with contextlib.suppress(Exception):  # instants in the far future may raise any error
                self._expect_to_leave(self._helper.leaves_soon(connection, self._clock()))

    def _expect_to_leave(self, leaves_soon: bool) -> None:  # noqa: FBT001 the method's name says what True means
        """Remember whether a helper is needed at exit.

        If a helper is needed, this object stays alive even if the app drops its `Telemetry`.
        """
        self._leaves_soon = leaves_soon
        (keep if leaves_soon else let_go)(self)

    def _new(self) -> Process:
        agreement = self._schedule.agreement
        open_ledger = partial(ledger_file.open_own, self._path, self._app, self._first, lambda: bool(agreement.consent))
        ledger_thread = LedgerThread(self._path, open_ledger)
        uploader = Uploader(
            ledger_thread,
            self._transport,
            self._schedule,
            clock=self._clock,
            watch=self._watch,
        )
        return Process(ledger_thread, uploader)


def watch_of(registry: Registry, on_budget: OnBudget | None, warn_at: Sequence[float]) -> BudgetWatch | None:
    """Return the object that calls ``on_budget``; None if there is no such function."""
    if on_budget is None:
        return None
    from client_sdk.answers.budget_alerts import BudgetWatch  # noqa: PLC0415 takes 1 ms

    return BudgetWatch(registry, on_budget, warn_at)


def helper_of(  # noqa: PLR0913, PLR0917 what a helper must know
    sender: str,
    path: Path | None,
    app: str,
    schedule: Schedule,
    collector: str,
    upload_key: str | None,
    *,
    allow_plain_http: bool,
) -> Helper | None:
    """Return the helper that sends reports after the program's exit; None if no helper is used."""
    if sender == "thread":
        return None
    if sender != "process" or path is None:
        raise ValueError('sender must be "thread", or "process" with a data_dir and without a transport')
    if schedule.agreement.consent is SUPPRESSED:
        return None
    from client_sdk.sending.helper import Helper  # noqa: PLC0415 takes 3 ms

    return Helper(path, app, collector, upload_key, allow_plain_http, schedule.agreement.groups)


class Exiting(Protocol):
    """An object with work to do before the interpreter exits."""

    def exit(self) -> None:
        """Do the work before the exit, and return quickly."""


_exiting: WeakSet[Exiting] = WeakSet()
_kept = set[Exiting]()


def register_exit(thing: Exiting) -> None:
    """Call an object's `exit` when the interpreter exits, unless the object was freed earlier."""
    _exiting.add(thing)


def keep(thing: Exiting) -> None:
    """Keep an object alive until the interpreter exits."""
    _kept.add(thing)


def let_go(thing: Exiting) -> None:
    """Undo `keep`."""
    _kept.discard(thing)


@atexit.register
def _exit_all() -> None:
    for thing in tuple(_exiting):
        with contextlib.suppress(Exception):  # a failure must not affect the app's exit or the other objects
            thing.exit()
