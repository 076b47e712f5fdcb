"""What belongs to one process: threads and connections do not survive a fork."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from client_sdk import forks, ledger_file
from client_sdk.keeper import Keeper
from client_sdk.results import LedgerError
from client_sdk.transport import Transport
from client_sdk.uploader import Uploader

if TYPE_CHECKING:
    import sqlite3


@dataclass(frozen=True, slots=True)
class Process:
    """The keeper and the uploader of one process; their threads start with their first work."""

    keeper: Keeper
    uploader: Uploader


class Processes:
    """The present process's `Process`, made when it is first asked for."""

    def __init__(
        self,
        path: Path | None,
        app: str,
        transport: Transport,
        clock: Callable[[], float],
        consent: Callable[[], bool],
    ) -> None:
        """Remember what each process needs, and which one this is: a ledger in memory is this one's only."""
        self._path = path
        self._app = app
        self._transport = transport
        self._clock = clock
        self._consent = consent
        self._first_pid = os.getpid()
        self._by_pid: dict[int, Process] = {}

    @property
    def current(self) -> Process:
        """What this process has. Looked up without a lock: a fork could have left it locked for ever."""
        pid = os.getpid()
        return self._by_pid.get(pid) or self._by_pid.setdefault(pid, self._new())

    def _new(self) -> Process:
        keeper = Keeper(self._path, self._open)
        uploader = Uploader(keeper, self._transport, clock=self._clock, allowed=self._consent)
        return Process(keeper, uploader)

    def _open(self) -> sqlite3.Connection:
        """Open the ledger, in the keeper's thread."""
        if self._path is None:
            if os.getpid() != self._first_pid:
                raise LedgerError(
                    "a ledger in memory stays with its process; give data_dir to record in child processes"
                )
            return ledger_file.open_memory(self._app)
        if forks.inherited_open(self._path):
            raise LedgerError(f"{self._path} was open while this process was forked; make the Telemetry after the fork")
        return ledger_file.open_file(self._path, self._app, create=self._consent())
