"""What happens by the clock: windows close, and the append-only file is rewritten. Run once a deployment, or more."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from client_sdk.spec import HearsayError, Window
from collector.judge import is_due_to_close
from collector.store import TallyStore

REWRITE_INTERVAL_S = 840.0
"""14 minutes: with a tick of delay, uploads stay in order on disk for less than a quarter of an hour."""

TICK_S = 1.0

_log = logging.getLogger(__name__)


def close_due_windows(store: TallyStore, *, now_s: float, grace_s: int) -> bool:
    """Close every window whose grace is over; return whether there was any."""
    due = [
        window
        for window in map(Window.parse, sorted(store.tallied_windows() - store.closed_windows()))
        if is_due_to_close(window, now_s=now_s, grace_s=grace_s)
    ]
    for window in due:
        store.close(window)
    return bool(due)


class Maintenance:
    """Does the store's chores in a thread, until stopped.

    Attributes:
        store: whose windows to close.
        rewrite_log: asks for a rewrite of the append-only file; says whether it has begun.
        grace_s: seconds after its end during which a window still takes reports.
        every_tick: what else to look after, once a second.

    """

    def __init__(
        self,
        store: TallyStore,
        rewrite_log: Callable[[], bool],
        *,
        grace_s: int,
        every_tick: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Take what to look after; nothing happens before ``start``."""
        self._store = store
        self._rewrite_log = rewrite_log
        self._grace_s = grace_s
        self._every_tick = every_tick
        self._clock = clock
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="maintenance", daemon=True)
        self._closed_before: frozenset[str] = frozenset()
        self._rewritten_at = float("-inf")

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End, and wait for the end."""
        self._stopped.set()
        self._thread.join()

    def tick(self, monotonic_s: float) -> None:
        """Do what is due now.

        A window that was closed by anybody (the clock, the command line, another collector) is a reason to rewrite.
        """
        self._every_tick()
        close_due_windows(self._store, now_s=self._clock(), grace_s=self._grace_s)
        closed = self._store.closed_windows()
        if closed == self._closed_before and monotonic_s - self._rewritten_at < REWRITE_INTERVAL_S:
            return
        if self._rewrite_log():
            self._closed_before = closed
            self._rewritten_at = monotonic_s

    def _run(self) -> None:
        failing = False
        while not self._stopped.wait(TICK_S):
            try:
                self.tick(time.monotonic())
            except HearsayError as error:
                if not failing:
                    _log.warning("maintenance waits for the store: %s", error)
                failing = True
            else:
                failing = False
