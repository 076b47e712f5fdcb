"""What belongs to one process, because threads and connections do not survive a fork."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from client_sdk.answers.budget_alerts import BudgetWatch
from client_sdk.answers.schedule import Schedule
from client_sdk.host import forks
from client_sdk.ledger import file as ledger_file
from client_sdk.ledger.losses import Losses
from client_sdk.ledger.thread import READ, WRITE, LedgerThread
from client_sdk.results import LedgerError
from client_sdk.sending.helper import Helper, leaves_soon
from client_sdk.sending.transport import Transport
from client_sdk.sending.uploader import Uploader

if TYPE_CHECKING:
    import sqlite3


REQUEST_DEADLINE_S = 0.3
"""How long a program that ends waits for a request that is under way; it waits for no jitter. A
request that takes longer is sent again by the next program, with the same id."""

LEDGER_DEADLINE_S = 1.0
"""How long it waits, in addition, for the ledger to take the answers that still wait in memory, and
to close. Only a hanging disk takes so long."""


LOOK_DEADLINE_S = 0.1
"""How long it waits to learn whether a helper has anything to do; if in doubt, it has."""


@dataclass(slots=True)
class Process:
    """The ledger thread and the uploader of one process; they start with their first work."""

    ledger_thread: LedgerThread
    uploader: Uploader
    losses: Losses
    is_finished: bool = False


class Processes:
    """Makes the `Process` of the present process when it is first needed.

    Threads hold this object and not the `Telemetry`, which could otherwise never be dropped.

    Attributes:
        consent: whether the user agrees.

    """

    def __init__(  # noqa: PLR0913 what each process needs
        self,
        path: Path | None,
        app: str,
        transport: Transport,
        clock: Callable[[], float],
        schedule: Schedule,
        *,
        consent: bool,
        watch: BudgetWatch | None = None,
        helper: Helper | None = None,
    ) -> None:
        """Remember what each process needs, and this process: a ledger in memory is its own."""
        self._path = path
        self._app = app
        self._transport = transport
        self._clock = clock
        self._schedule = schedule
        self._watch = watch
        self._helper = helper
        self._leaves_soon = False
        self.consent = consent
        self._first = forks.this_process()
        self._by_process: dict[tuple[int, int], Process] = {}

    @property
    def current(self) -> Process:
        """What belongs to this process. It takes no lock, which a fork could leave locked."""
        this = forks.this_process()
        return self._by_process.get(this) or self._by_process.setdefault(this, self._new())

    def end(self) -> None:
        """Let this process's threads end, without waiting for them."""
        process = self._by_process.get(forks.this_process())
        if process is not None:
            process.uploader.stop()
            process.ledger_thread.stop()

    def finish(self) -> None:
        """End this process's threads; wait a moment for an answer or a request that is under way."""
        process = self._by_process.get(forks.this_process())
        if process is None or process.is_finished:
            return
        process.is_finished = True
        process.uploader.stop()
        process.uploader.join(REQUEST_DEADLINE_S)
        if process.losses:
            with contextlib.suppress(LedgerError):
                process.ledger_thread.prepare(process.losses.store, begin=WRITE)
        self._leaves_soon = self._helper is not None and self._looks(process)
        process.ledger_thread.close(LEDGER_DEADLINE_S)

    def exit(self) -> None:
        """Finish because the program exits, and leave what remains to a helper, if there is one."""
        self.finish()
        if self._helper is not None and self.consent and self._leaves_soon:
            self._helper.start()

    def _looks(self, process: Process) -> bool:
        """Whether anything leaves soon; true if the ledger does not say."""
        with contextlib.suppress(Exception):  # the clock is the host's, and may do anything
            work = partial(leaves_soon, now_s=self._clock())
            return process.ledger_thread.run(work, LOOK_DEADLINE_S, begin=READ)
        return True

    def _new(self) -> Process:
        ledger_thread = LedgerThread(self._path, self._open)
        uploader = Uploader(
            ledger_thread,
            self._transport,
            self._schedule,
            clock=self._clock,
            allowed=lambda: self.consent,
            watch=self._watch,
        )
        return Process(ledger_thread, uploader, Losses())

    def _open(self) -> sqlite3.Connection:
        """Open the ledger, in the ledger thread's thread."""
        if self._path is None:
            if forks.this_process() != self._first:
                raise LedgerError(
                    "a ledger in memory stays with its process; give data_dir to record in child processes"
                )
            return ledger_file.open_memory(self._app)
        if forks.inherited_open(self._path):
            raise LedgerError(
                f"{self._path} was open while this process was forked; start processes by spawn instead of fork"
            )
        return ledger_file.open_file(self._path, self._app, create=self.consent)
