"""What belongs to one process: threads and connections do not survive a fork."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from client_sdk.answers.budget_alerts import BudgetWatch
from client_sdk.answers.schedule import Agenda
from client_sdk.host import forks
from client_sdk.ledger import file as ledger_file
from client_sdk.ledger.thread import Keeper
from client_sdk.results import LedgerError
from client_sdk.sending.transport import Transport
from client_sdk.sending.uploader import Uploader

if TYPE_CHECKING:
    import sqlite3


@dataclass(frozen=True, slots=True)
class Process:
    """The keeper and the uploader of one process; their threads start with their first work."""

    keeper: Keeper
    uploader: Uploader


class Processes:
    """The present process's `Process`, made when it is first asked for.

    Threads hold this and not the `Telemetry`, whose end they would otherwise never see.

    Attributes:
        consent: whether the user agrees.

    """

    def __init__(  # noqa: PLR0913 what each process needs
        self,
        path: Path | None,
        app: str,
        transport: Transport,
        clock: Callable[[], float],
        agenda: Agenda,
        *,
        consent: bool,
        watch: BudgetWatch | None = None,
    ) -> None:
        """Remember what each process needs, and which one this is: a ledger in memory is this one's only."""
        self._path = path
        self._app = app
        self._transport = transport
        self._clock = clock
        self._agenda = agenda
        self._watch = watch
        self.consent = consent
        self._first = forks.this_process()
        self._made: dict[tuple[int, int], Process] = {}

    @property
    def current(self) -> Process:
        """What this process has. Looked up without a lock: a fork could have left it locked for ever."""
        this = forks.this_process()
        return self._made.get(this) or self._made.setdefault(this, self._new())

    def end(self) -> None:
        """Let this process's threads end, without waiting for them."""
        process = self._made.get(forks.this_process())
        if process is not None:
            process.uploader.stop()
            process.keeper.stop()

    def _new(self) -> Process:
        keeper = Keeper(self._path, self._open)
        uploader = Uploader(
            keeper, self._transport, self._agenda, clock=self._clock, allowed=lambda: self.consent, watch=self._watch
        )
        return Process(keeper, uploader)

    def _open(self) -> sqlite3.Connection:
        """Open the ledger, in the keeper's thread."""
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
