"""Closes the windows whose grace period is over, and looks at those that are open."""

from __future__ import annotations

from client_sdk.protocol.window import Window
from collector.judge import is_due_to_close
from collector.store.store_protocol import Snapshot, TallyStore


def close_due_windows(store: TallyStore, *, now_s: float, grace_s: int) -> None:
    """Close every window whose grace period is over, or whose closing broke off."""
    due = {window.text for window in due_windows(store, now_s=now_s, grace_s=grace_s)}
    for name in sorted(due | store.half_closed_windows()):
        store.close(Window.parse(name))


def due_windows(store: TallyStore, *, now_s: float, grace_s: int) -> list[Window]:
    """Return the windows that have a tally, are not closed, and whose grace period is over.

    Args:
        store: the store of the windows.
        now_s: Unix seconds.
        grace_s: seconds after its end during which a window still takes reports.

    """
    not_closed = map(Window.parse, sorted(store.tallied_windows() - store.closed_windows()))
    return [window for window in not_closed if is_due_to_close(window, now_s=now_s, grace_s=grace_s)]


def look_at_open_windows(
    store: TallyStore, closed: frozenset[str], *, now_s: float, interval_s: int, grace_s: int
) -> Snapshot:
    """Return the last look at open windows, which is taken now if the one before is old enough.

    Windows that close before the next look is allowed are left out. A closed tally is a look as
    well. If it came too soon after a look at the same window, the difference of the two would show
    what arrived in between.

    Args:
        store: the store of the windows.
        closed: the names of the closed windows.
        now_s: Unix seconds.
        interval_s: minimum number of seconds between two looks.
        grace_s: seconds after its end during which a window still takes reports.

    """
    closing = due_windows(store, now_s=now_s + interval_s, grace_s=grace_s)
    return store.open_snapshot(interval_s, closed.union(window.text for window in closing), now_s)
