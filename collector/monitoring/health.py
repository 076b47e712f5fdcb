"""Whether the store is alive and healthy."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class Health(NamedTuple):
    """The store's health when it was last looked at.

    Attributes:
        is_up: whether it answered and had lost nothing that was acknowledged.
        is_noted: whether a loss in the embedded store's file would be noticed; always true for
            other stores.
        open_windows: how many windows with a tally take reports.
        closed_windows: how many windows are closed.
        memory_used: the fraction of its memory in use, on the fullest server; 0 if nobody has
            looked yet.
        open_reports: the reports by metric and open window, as the last look at open windows shows
            them.
        store_restarts: how often the embedded store has ended by itself and was started again;
            always 0 for other stores.

    """

    is_up: bool
    is_noted: bool
    open_windows: int
    closed_windows: int
    memory_used: float = 0.0
    open_reports: Mapping[tuple[str, str], int] = MappingProxyType({})
    store_restarts: int = 0
