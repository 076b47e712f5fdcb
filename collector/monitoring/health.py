"""Whether the service is alive and its store takes uploads."""

from __future__ import annotations

from typing import NamedTuple


class Health(NamedTuple):
    """What was last seen of the store.

    Attributes:
        is_up: whether it answered, and had lost nothing that was acknowledged.
        is_noted: whether a loss in the embedded store's file would be seen; of another store always.
        open_windows: how many windows with a tally take reports.
        closed_windows: how many are closed.
        memory_used: the used part of its memory, of the fullest server of several; 0 if nobody has looked.

    """

    is_up: bool
    is_noted: bool
    open_windows: int
    closed_windows: int
    memory_used: float = 0.0
