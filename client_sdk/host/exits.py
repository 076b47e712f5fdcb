"""What is done when the interpreter exits, while its daemon threads still run."""

from __future__ import annotations

import atexit
from typing import Protocol
from weakref import WeakSet


class Exiting(Protocol):
    """An object that has something to do before the interpreter exits."""

    def exit(self) -> None:
        """Do it, within a moment."""


_exiting: WeakSet[Exiting] = WeakSet()


def register(thing: Exiting) -> None:
    """Let a thing know when the interpreter exits, unless it was dropped before."""
    _exiting.add(thing)


@atexit.register
def _exit_all() -> None:
    for thing in tuple(_exiting):
        thing.exit()
