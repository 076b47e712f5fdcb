"""Periodic work: closes windows, and makes the store rewrite its append-only file.

Every collector does this work, even if several collectors share a store.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple, Protocol

from collector.errors import ConfigError, StoreUnavailableError
from collector.log import Event
from collector.store.store_protocol import TallyStore, close_due_windows, look_at_open_windows


class Health(NamedTuple):
    """The state of the store at the last check.

    Attributes:
        is_up: whether the store responded and had lost no acknowledged data.
        is_noted: whether a loss in the embedded store's file would be detected.
        open_windows: the number of windows that have a tally and accept reports.
        memory_used: the fraction of memory in use on the fullest server. 0 before the first check.
        open_reports: the number of reports in the last snapshot, keyed by metric and open window.
        clock_is_suspected: whether this host's clock may be wrong (see `own_clock`).
        store_restarts: how often the embedded store has ended unexpectedly.
    """

    is_up: bool
    is_noted: bool
    open_windows: int
    closed_windows: int
    memory_used: float = 0.0
    open_reports: Mapping[tuple[str, str], int] = MappingProxyType({})
    clock_is_suspected: bool = False
    store_restarts: int = 0


REWRITE_INTERVAL_S = 840.0
"""Seconds between two rewrites of the append-only file (14 minutes).

Until the file is rewritten, it shows the order in which recent uploads arrived. The documentation
promises a limit of 15 minutes, so a rewrite may be late by a minute.
"""

RETRY_INTERVAL_S = 30.0
"""Seconds after which a failed rewrite is tried again."""

TICK_S = 1.0

_log = logging.getLogger(__name__)


class Log(Protocol):
    """The store's append-only file."""

    def rewrite_log(self) -> bool:
        """Begin a rewrite, and return whether it has begun."""

    def log_rewrite_failed(self) -> bool:
        """Return whether the last rewrite failed."""


class ServerState(NamedTuple):
    """The state of the store's servers at one check. `Health` explains the fields."""

    is_noted: bool = True
    memory_used: float = 0.0
    open_reports: Mapping[tuple[str, str], int] = MappingProxyType({})
    clock_is_suspected: bool = False


class Maintenance:
    """A thread that does periodic work on the store until ``stop`` is called.

    Attributes:
        health: the store's state at the last check.
    """

    def __init__(
        self,
        store: TallyStore,
        log: Log,
        *,
        grace_s: int,
        every_tick: Callable[[], ServerState] = ServerState,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Prepare the periodic work. Nothing happens before ``start``.

        Args:
            store: the store whose windows are closed.
            log: the append-only file that is rewritten.
            grace_s: how long a window accepts reports after its end, in seconds.
            every_tick: does other work once a second, and returns the state of the servers.
            clock: returns Unix seconds.
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
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread, and wait until it has ended."""
        self._stopped.set()
        self._thread.join()

    def tick(self, monotonic_s: float) -> None:
        """Do the work that is due now.

        Besides the rewrites at fixed intervals, the append-only file is rewritten after a window
        was closed.
        """
        try:
            self.health = self.health._replace(**self._every_tick()._asdict())
            self._look_after_windows()
        finally:
            # while a node of the cluster is unavailable, no window can close, but the files of the
            # other nodes are still rewritten on time
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
            if self._rewritten_at > float("-inf"):  # every start begins with a rewrite, which is not worth a log line
                _log.info("the append-only file is being rewritten", extra=Event.FILE_REWRITTEN.extra)
            self._closed_before = closed
            self._rewritten_at = monotonic_s

    def _run(self) -> None:
        reasons: set[str] = set()
        while not self._stopped.wait(TICK_S):
            try:
                self.tick(time.monotonic())
            except Exception as error:  # noqa: BLE001 after any error, the next attempt may succeed
                # A ConfigError means that the embedded store has lost data, and may not even be
                # running.
                is_up = not isinstance(error, (StoreUnavailableError, ConfigError))
                if str(error) not in reasons:  # a worse problem may follow a lost connection
                    _log.warning("maintenance is suspended: %s", error, extra={} if is_up else Event.STORE_DOWN.extra)
                reasons.add(str(error))
                # a count from before the error could be mistaken for a current count
                self.health = self.health._replace(is_up=is_up, open_reports={})
            else:
                if reasons:
                    _log.info("maintenance has resumed: the store answers", extra=Event.STORE_UP.extra)
                reasons.clear()


LOOK_RETRY_S = 60.0
"""Seconds after which a failed snapshot is tried again."""


class OpenReports:
    """Counts the reports of open windows for Prometheus, from the snapshot that all readers share.

    If the counts changed with every scrape, the changes would reveal when each report arrived. The
    shared snapshot is renewed only once per interval.

    The first snapshot is taken ``interval_s`` seconds after this object was created. Until then, no
    counts are returned.
    """

    def __init__(
        self,
        store: TallyStore,
        *,
        grace_s: int,
        interval_s: int,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare to take the first snapshot in ``interval_s`` seconds."""
        self._store = store
        self._grace_s = grace_s
        self._interval_s = interval_s
        self._clock = clock
        self._monotonic = monotonic
        self._next_s = monotonic() + interval_s
        self._reports: Mapping[tuple[str, str], int] = {}

    def __call__(self) -> Mapping[tuple[str, str], int]:
        """Return the number of reports in the last snapshot, keyed by metric and window.

        After a failure, the result is empty. Earlier counts could be mistaken for current counts.
        """
        if self._monotonic() < self._next_s:
            return self._reports
        try:
            self._reports, lasts_s = self._look()
        except StoreUnavailableError as error:
            _log.warning("the reports of open windows are missing from the metrics: %s", error)
            self._reports, lasts_s = {}, LOOK_RETRY_S
        self._next_s = self._monotonic() + lasts_s
        return self._reports

    def _look(self) -> tuple[Mapping[tuple[str, str], int], float]:
        """Return the numbers of reports, and the seconds until the next snapshot is due."""
        now_s = self._clock()
        closed = self._store.closed_windows()
        look = look_at_open_windows(
            self._store, closed, now_s=now_s, interval_s=self._interval_s, grace_s=self._grace_s
        )
        reports: Counter[tuple[str, str]] = Counter()
        for tally in look:
            reports[tally.metric, tally.window] += sum(tally.counts)
        # if the last snapshot was taken while the clock was ahead, the clock's error must not delay
        # the next snapshot
        return reports, min(self._interval_s, max(1.0, look.taken_s + self._interval_s - now_s))
