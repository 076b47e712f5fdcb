"""Closes the windows whose grace period is over."""

from __future__ import annotations

from client_sdk.protocol.window import Window
from collector.judge import is_due_to_close
from collector.store.port import TallyStore


def close_due_windows(store: TallyStore, *, now_s: float, grace_s: int) -> None:
    """Close every window whose grace period is over."""
    for window in due_windows(store, now_s=now_s, grace_s=grace_s):
        store.close(window)


def due_windows(store: TallyStore, *, now_s: float, grace_s: int) -> list[Window]:
    """Return the windows that have a tally, are not closed, and whose grace period is over.

    Args:
        store: the store of the windows.
        now_s: Unix seconds.
        grace_s: seconds after its end during which a window still takes reports.

    """
    not_closed = map(Window.parse, sorted(store.tallied_windows() - store.closed_windows()))
    return [window for window in not_closed if is_due_to_close(window, now_s=now_s, grace_s=grace_s)]
