"""What happens by the clock: windows close, and the append-only file is rewritten. Run once a deployment, or more."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import NamedTuple, Protocol

from collector.errors import ConfigError, StoreUnavailableError
from collector.log import Event
from collector.monitoring.health import Health
from collector.store.port import TallyStore
from collector.store.windows import close_due_windows

REWRITE_INTERVAL_S = 840.0
"""14 minutes: with a tick of delay, uploads stay in order on disk for less than a quarter of an hour."""

RETRY_INTERVAL_S = 30.0
"""Seconds until a rewrite that failed is asked for again: a full disk is not helped by trying every second."""

TICK_S = 1.0

_log = logging.getLogger(__name__)


class Log(Protocol):
    """The store's append-only file, which holds uploads in order until it is rewritten."""

    def rewrite_log(self) -> bool:
        """Begin a rewrite; return false if it could not begin now."""

    def log_rewrite_failed(self) -> bool:
        """Whether the last rewrite that began came to nothing."""


class Seen(NamedTuple):
    """What a look at the servers showed, as Health has it by these names."""

    is_noted: bool = True
    memory_used: float = 0.0


class Maintenance:
    """Does the store's chores in a thread, until stopped.

    Attributes:
        health: what was last seen of the store.

    """

    def __init__(
        self,
        store: TallyStore,
        log: Log,
        *,
        grace_s: int,
        every_tick: Callable[[], Seen] = Seen,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Take what to look after; nothing happens before ``start``.

        Args:
            store: whose windows to close.
            log: what to rewrite.
            grace_s: seconds after its end during which a window still takes reports.
            every_tick: what else to look after, once a second; returns what it saw of the servers.
            clock: Unix seconds.

        """
        self._store = store
        self._log = log
        self._grace_s = grace_s
        self._every_tick = every_tick
        self._clock = clock
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="maintenance", daemon=True)
        self._closed: frozenset[str] | None = None
        self._closed_before: frozenset[str] = frozenset()
        self._rewritten_at = float("-inf")
        self.health = Health(is_up=True, is_noted=True, open_windows=0, closed_windows=0)

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
        try:
            self.health = self.health._replace(**self._every_tick()._asdict())
            self._look_after_windows()
        finally:  # while a node of a cluster is away no window can close, but the files of the others must not wait
            self._rewrite_when_due(monotonic_s)

    def _look_after_windows(self) -> None:
        before = self._store.closed_windows() if self._closed is None else self._closed
        close_due_windows(self._store, now_s=self._clock(), grace_s=self._grace_s)
        closed = self._closed = self._store.closed_windows()
        for window in sorted(closed - before):
            _log.info("window %s is closed", window, extra=Event.WINDOW_CLOSED.extra)
        opened = self._store.tallied_windows() - closed
        self.health = self.health._replace(is_up=True, open_windows=len(opened), closed_windows=len(closed))

    def _rewrite_when_due(self, monotonic_s: float) -> None:
        closed = self._closed or frozenset()
        since_rewrite_s = monotonic_s - self._rewritten_at
        is_due = since_rewrite_s >= REWRITE_INTERVAL_S or closed != self._closed_before
        is_due = is_due or (since_rewrite_s >= RETRY_INTERVAL_S and self._log.log_rewrite_failed())
        if is_due and self._log.rewrite_log():
            self._closed_before = closed
            self._rewritten_at = monotonic_s
            _log.info("the append-only file is being rewritten", extra=Event.FILE_REWRITTEN.extra)

    def _run(self) -> None:
        failing = False
        while not self._stopped.wait(TICK_S):
            try:
                self.tick(time.monotonic())
            except Exception as error:  # noqa: BLE001 whatever it is, the next second may be better
                # The embedded store is refused where it has lost something: it may not even run then.
                is_up = not isinstance(error, (StoreUnavailableError, ConfigError))
                if not failing:
                    _log.warning("maintenance waits: %s", error, extra={} if is_up else Event.STORE_DOWN.extra)
                failing = True
                self.health = self.health._replace(is_up=is_up)
            else:
                if failing:
                    _log.info("maintenance goes on: the store answers", extra=Event.STORE_UP.extra)
                failing = False
