"""Closes the windows whose grace period is over."""

from __future__ import annotations

from client_sdk.protocol import Window
from collector.judge import is_due_to_close
from collector.store.port import TallyStore


def close_due_windows(store: TallyStore, *, now_s: float, grace_s: int) -> None:
    """Close every window whose grace is over."""
    for window in due_windows(store, now_s=now_s, grace_s=grace_s):
        store.close(window)


def due_windows(store: TallyStore, *, now_s: float, grace_s: int) -> list[Window]:
    """Return the windows that are not closed and have a tally, and whose grace is over at an instant (Unix seconds)."""
    not_closed = map(Window.parse, sorted(store.tallied_windows() - store.closed_windows()))
    return [window for window in not_closed if is_due_to_close(window, now_s=now_s, grace_s=grace_s)]
