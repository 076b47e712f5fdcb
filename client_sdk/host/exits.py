"""What is done when the interpreter exits, while its daemon threads still run."""

from __future__ import annotations

import atexit
from typing import Protocol
from weakref import WeakSet


class Finishing(Protocol):
    """An object that has something to finish before the interpreter exits."""

    def finish(self) -> None:
        """Finish, within a moment."""


_finishing: WeakSet[Finishing] = WeakSet()


def finish_at_exit(thing: Finishing) -> None:
    """Let a thing finish when the interpreter exits, unless it was dropped before."""
    _finishing.add(thing)


@atexit.register
def _finish_all() -> None:
    for thing in tuple(_finishing):
        thing.finish()
