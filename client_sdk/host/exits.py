"""What is done when the interpreter exits, while its daemon threads still run."""

from __future__ import annotations

import atexit
import contextlib
from typing import Protocol
from weakref import WeakSet


class Exiting(Protocol):
    """An object that has something to do before the interpreter exits."""

    def exit(self) -> None:
        """Do it, within a moment."""


_exiting: WeakSet[Exiting] = WeakSet()
_kept = set[Exiting]()


def register(thing: Exiting) -> None:
    """Let a thing know when the interpreter exits, unless it was dropped before."""
    _exiting.add(thing)


def keep(thing: Exiting) -> None:
    """Keep a thing until the interpreter exits, although nobody else may."""
    _kept.add(thing)


def let_go(thing: Exiting) -> None:
    """Keep a thing no longer."""
    _kept.discard(thing)


@atexit.register
def _exit_all() -> None:
    for thing in tuple(_exiting):
        with contextlib.suppress(Exception):  # the host's exit must not fail, nor the other things
            thing.exit()
