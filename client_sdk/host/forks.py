"""Closes ledgers and waits for imports before this process forks.

SQLite keeps a table of the files and locks of its process. A forked child process inherits this
table, and mistakes the parent's locks for the child's locks. Therefore the child does not lock the
file, even if the child opens a new connection. The child's commits are lost when the parent closes
the file ("How to corrupt an SQLite database file", section 2.6). For this reason, connections are
closed before a fork and opened again after the fork. A child may still inherit an open connection
if native code forked or a disk hung. A child with an inherited connection does not use the file.

If a process forks during an import, the child inherits the lock of the imported module, but not the
thread that holds the lock. The child would then wait forever when it imports the module. Therefore
the SDK's threads import under a common lock, and a fork waits for this lock.
"""

from __future__ import annotations

import logging  # noqa: F401 its fork hook must be registered first, to run after the hook below: imports log
import os
import threading
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

PAUSE_DEADLINE_S = 1.0
"""How long, in seconds, a fork waits for connections to close. Creating a ledger on a busy disk may
take this long. After this time, the fork proceeds, and the child cannot use the ledger."""

IMPORT_DEADLINE_S = 10.0
"""How long, in seconds, a fork waits for an import. An import from a cold disk takes seconds, but
an import that hangs must not block the fork."""


class Pause:
    """A request to close a connection and keep it closed until ``over`` is set."""

    def __init__(self) -> None:
        """Create the events ``closed`` and ``over``, which are not set."""
        self.closed = threading.Event()
        self.over = threading.Event()


class Holder(Protocol):
    """An object that opens and closes a ledger's file from time to time."""

    path: Path | None
    process: tuple[int, int]
    is_open: bool

    def pause(self, pause: Pause) -> None:
        """Close the connection soon and set ``closed``.

        Open no new connection until ``over`` is set.
        """


_holders: set[Holder] = set()
_forking = threading.local()
_importing = threading.RLock()
_generation = 0


def register(holder: Holder) -> None:
    """Pause this holder before each fork from now on."""
    _holders.add(holder)


def unregister(holder: Holder) -> None:
    """Stop pausing this holder before forks."""
    _holders.discard(holder)


def inherited_open(path: Path) -> bool:
    """Whether this process was forked while an ancestor had the file open."""
    return any(
        holder.is_open and holder.path == path and holder.process != this_process() for holder in tuple(_holders)
    )


def this_process() -> tuple[int, int]:
    """Return an id of this process that no ancestor has had, even if process ids are reused."""
    return os.getpid(), _generation


def importing() -> AbstractContextManager[bool]:
    """Return the lock that a thread of the SDK must hold while it imports a module."""
    return _importing


def _before_fork() -> None:
    _forking.pauses = []
    for holder in tuple(_holders):
        if holder.process == this_process():
            pause = Pause()
            _forking.pauses.append(pause)
            holder.pause(pause)
    for pause in _forking.pauses:
        pause.closed.wait(PAUSE_DEADLINE_S)
    # only now, because a holder may have to import before it can close
    _forking.importing = _importing if _importing.acquire(timeout=IMPORT_DEADLINE_S) else None


def _after_fork_in_parent() -> None:
    for pause in getattr(_forking, "pauses", ()):
        # there are no pauses if this module was imported during the fork
        pause.over.set()
    if getattr(_forking, "importing", None):
        _forking.importing.release()


def _after_fork_in_child() -> None:
    global _generation, _importing  # noqa: PLW0603 both belong to this process
    _generation += 1
    _importing = threading.RLock()  # the old lock may belong to a thread that this process lacks


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
