"""Reads the files again while the collector runs: the keys when their file changes, all of them on a signal."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from client_sdk.protocol import HearsayError, Registry, RegistryError
from collector.access import Access
from collector.errors import ConfigError
from collector.live.state import Served
from collector.log import Event

LOOK_S = 1.0
"""Seconds between two looks at the file of keys: a key that was taken out of it opens nothing soon after."""

_log = logging.getLogger(__name__)


def require_additive(served: Registry, new: Registry) -> None:
    """Refuse a registry that would no longer count what devices report now.

    Raises:
        RegistryError: naming every metric that is missing or has another edition.

    """
    mistakes = []
    if new.app != served.app:
        mistakes.append(("app.name", "is served and may not change; restart with --rename-app to serve another name"))
    for name, metric in served.metrics.items():
        if name not in new.metrics:
            mistakes.append((f"metric.{name}", "is served and may not disappear; put it back, or let it expire"))
        elif new.metrics[name].edition != metric.edition:
            mistakes.append((f"metric.{name}", "is served and must keep its meaning; give the new question a new name"))
    if mistakes:
        raise RegistryError.of(mistakes)


def require_as_closed(served: Access, new: Access) -> None:
    """Refuse keys that would open uploads to all: who means that can restart, and a slip is seen before it counts.

    Raises:
        ConfigError: saying how to open them on purpose.

    """
    if new.uploads_are_open and not served.uploads_are_open:
        raise ConfigError(
            "uploads need a key, and the file now opens them to all, which happens at a start only: restart the "
            'collector to open them, or write uploads = "keys"'
        )


class Reloader:
    """Keeps what is served up to date, in a thread, until stopped. What cannot be used changes nothing.

    Attributes:
        served: the present state.

    """

    def __init__(self, served: Served, registry: Path, access: Path | None, tell: Callable[[Served], None]) -> None:
        """Take what is served now; nothing happens before ``start``.

        Args:
            served: the present state, as read from the files.
            registry: the file of definitions.
            access: the file of keys, if there is one.
            tell: called with each new state.

        """
        self.served = served
        self._registry = registry
        self._access = access
        self._tell = tell
        self._stamp = _stamp(access)
        self._asked = 0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="reloader", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End, and wait for the end."""
        self._stopped.set()
        self._thread.join()

    def ask(self) -> None:
        """Have all files read again at the next look.

        For a signal's handler, which may interrupt itself: it takes no lock, and counts so that no call is lost.
        """
        self._asked += 1

    def look(self, *, asked: bool) -> None:
        """Read what is due: all files if asked, else the file of keys if it has changed."""
        stamp = _stamp(self._access)  # before it is read: what changes meanwhile is seen the next time
        new = self.served
        if asked:
            new = _attempt("registry", self._read_registry, new)
        if self._access is not None and (asked or stamp != self._stamp):
            new = _attempt("file of keys", partial(_read_access, self._access), new)
        if new is not self.served:
            self._tell(new)
            self.served = new
        self._stamp = stamp

    def _read_registry(self, served: Served) -> Served:
        new = Registry.load(self._registry)
        require_additive(served.registry, new)
        _say_reloaded("the registry", "metrics", len(new.metrics), len(served.registry.metrics))
        return replace(served, registry=new)

    def _run(self) -> None:
        answered, failing = 0, False
        while not self._stopped.wait(LOOK_S):
            asked = self._asked
            try:
                self.look(asked=asked != answered)
            except Exception:  # noqa: BLE001 whatever it is, the next look may fare better
                if not failing:
                    _log.exception("what is served stays as it is", extra=Event.RELOAD_REFUSED.extra)
                failing = True
            else:
                answered, failing = asked, False


def _read_access(file: Path, served: Served) -> Served:
    access = Access.load(file)
    require_as_closed(served.access, access)
    _say_reloaded("the file of keys", "keys", len(access.keys), len(served.access.keys))
    return replace(served, access=access)


def _say_reloaded(what: str, of: str, now: int, before: int) -> None:
    _log.info("%s has been read again: %d %s, %d before", what, now, of, before, extra=Event.RELOADED.extra)


def _attempt(what: str, read: Callable[[Served], Served], served: Served) -> Served:
    """Return what is served after reading; what cannot be read is said once, and changes nothing."""
    try:
        return read(served)
    except HearsayError as error:
        _log.warning("the %s that is served stays as it is: %s", what, error, extra=Event.RELOAD_REFUSED.extra)
        return served


def _stamp(path: Path | None) -> tuple[int, int, int] | None:
    """Return what changes with a file; none where there is no such file."""
    try:
        status = path.stat() if path is not None else None
    except OSError:
        return None
    return None if status is None else (status.st_mtime_ns, status.st_ino, status.st_size)
