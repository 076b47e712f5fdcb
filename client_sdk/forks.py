"""Forks and SQLite: no process may fork while it has a ledger's file open.

SQLite keeps a table of the files and locks of its process. A child inherits it and takes the parent's locks for its
own: even a connection that the child opens itself then holds no lock at all, and what it commits is lost when the
parent closes ("How to corrupt an SQLite database file", section 2.6). Therefore connections are closed before a fork
and opened again after it, and a child that inherited an open one (forked behind Python's back, or while a disk hung)
does not use that file.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Protocol

PAUSE_DEADLINE_S = 0.1
"""How long a fork waits for connections to close. Beyond it the child's ledger is unavailable."""


class Pause:
    """A request to close a connection, and to keep it closed until ``over`` is set."""

    def __init__(self) -> None:
        """Begin with neither set."""
        self.closed = threading.Event()
        self.over = threading.Event()


class Holder(Protocol):
    """Somebody who holds a ledger's file open from time to time."""

    path: Path | None
    pid: int
    is_open: bool

    def pause(self, pause: Pause) -> None:
        """Close the connection soon, say so, and open none until the pause is over."""


_holders: set[Holder] = set()
_forking = threading.local()


def register(holder: Holder) -> None:
    """Take part in pauses from now on."""
    _holders.add(holder)


def unregister(holder: Holder) -> None:
    """Take part in pauses no longer."""
    _holders.discard(holder)


def inherited_open(path: Path) -> bool:
    """Whether this process was forked while an ancestor had the file open."""
    pid = os.getpid()
    return any(holder.is_open and holder.path == path and holder.pid != pid for holder in tuple(_holders))


def _before_fork() -> None:
    pid = os.getpid()
    _forking.pauses = []
    for holder in tuple(_holders):
        if holder.pid == pid:
            pause = Pause()
            _forking.pauses.append(pause)
            holder.pause(pause)
    for pause in _forking.pauses:
        pause.closed.wait(PAUSE_DEADLINE_S)


def _after_fork_in_parent() -> None:
    for pause in getattr(_forking, "pauses", ()):  # none if this module was imported while the fork began
        pause.over.set()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent)
