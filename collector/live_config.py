"""The collector's metric definitions and access keys, which may change while the collector runs.

The main process reloads the access file when the file changes, and all files on a signal. The
workers read the result from a shared file.
"""

from __future__ import annotations

import json
import logging
import mmap
import os
import pickle
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from hashlib import sha256
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import Any

from client_sdk.protocol.epsilon import as_float, float_ceiling
from client_sdk.protocol.errors import HearsayError, RegistryError
from client_sdk.protocol.metric import definition
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.wire.verdict import stopped_entry
from collector.access import Access, load_access
from collector.errors import ConfigError, plural
from collector.files import unlinked_file
from collector.log import Event
from collector.systemd import READY, notify, reloading

LOOK_S = 1.0
"""Seconds between two checks of the access file. A removed key stops working within this time."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Served:
    """The metric definitions and the access keys that are in use at one time.

    Attributes:
        registry: the definitions of the metrics, including former definitions.
        once: all editions that collectors on this store have ever accepted, as METRIC:EDITION.
    """

    registry: Registry
    access: Access
    once: frozenset[str] = frozenset()

    @cached_property
    def document(self) -> bytes:
        """The registry as a public JSON document."""
        return registry_document(self.registry)


DIGEST_BYTES = 32


class SharedState:
    """The latest `Served` object, which the main process shares with the workers.

    The object is in a file without a name, so nobody can remove or replace the file. The file
    begins with a digest of the rest. If the digest does not match the rest, the main process is
    still writing.
    """

    def __init__(self, descriptor: int) -> None:
        """Store the descriptor of the shared file."""
        self._descriptor = descriptor
        self._digest: mmap.mmap | None = None
        self._latest: tuple[bytes, Served] | None = None

    @classmethod
    def with_state(cls, served: Served) -> SharedState:
        """Return a new shared state that contains ``served``.

        Raises:
            ConfigError: if no temporary file can be created or filled.
        """
        shared_state = cls(unlinked_file())
        try:
            shared_state.post(served)
        except OSError as error:
            raise ConfigError(
                f"a temporary file cannot be written: {error.strerror}; set TMPDIR to another folder"
            ) from error
        return shared_state

    def __reduce__(self) -> tuple[Callable[[Any], SharedState], tuple[Any]]:
        return _adopt, (DupFd(self._descriptor),)

    def post(self, served: Served) -> None:
        """Replace the shared object.

        Raises:
            OSError: if the disk has no space for the new object. The previous object remains.
        """
        state = pickle.dumps(served)
        entry = sha256(state).digest() + state
        size = os.fstat(self._descriptor).st_size
        try:
            self._write(entry[size:], size)  # first, because the disk may lack space for this part
        except OSError:
            os.ftruncate(self._descriptor, size)
            raise
        self._write(entry[:size], 0)
        os.ftruncate(self._descriptor, len(entry))

    def _write(self, part: bytes, start: int) -> None:
        written = 0
        while written < len(part):
            written += os.pwrite(self._descriptor, part[written:], start + written)

    def latest(self) -> Served:
        """Return the latest complete object. This method is thread-safe.

        Until the main process shares a new object, all calls return the same object.
        """
        while True:
            latest = self._latest  # read it once, because other threads may replace it
            if latest is not None and self._present_digest() == latest[0]:
                return latest[1]
            entry = os.pread(self._descriptor, os.fstat(self._descriptor).st_size, 0)
            digest, state = entry[:DIGEST_BYTES], entry[DIGEST_BYTES:]
            if sha256(state).digest() == digest:
                self._latest = digest, pickle.loads(state)  # noqa: S301 only the main process writes to this file
            elif latest is not None:
                return latest[1]

    def _present_digest(self) -> bytes:
        """Return the digest at the beginning of the file, through shared memory.

        Every response needs the digest. If a system call read the digest, another thread could take
        over the interpreter during the call, and a busy worker would lose a tenth of its time.
        """
        if self._digest is None:
            self._digest = mmap.mmap(self._descriptor, DIGEST_BYTES, prot=mmap.PROT_READ)
        return self._digest[:]


def _adopt(descriptor: Any) -> SharedState:  # noqa: ANN401 multiprocessing's own wrapper for a descriptor
    return SharedState(descriptor.detach())


UNCOUNTED = (
    "is being served, and its reports would no longer be counted: restore it, or add the registry that was "
    "released with it to the history (hearsay-client release), then reload again"
)


def require_additive(served: Registry, new: Registry) -> None:
    """Refuse a new registry if reports from devices would no longer be counted.

    The new registry, with its history, must belong to the same app and define all editions in use.

    Raises:
        RegistryError: if the new registry is refused. The message lists every affected metric.
    """
    mistakes = []
    if new.app != served.app:
        mistakes.append(
            ("app.name", "is being served and cannot change; to serve another name, restart with --rename-app")
        )
    mistakes += [
        (f"metric.{metric.name}", UNCOUNTED)
        for metric in served.metrics.values()
        if any(new.asked_as(metric.name, edition) is None for edition in metric.editions)
    ]
    if mistakes:
        raise RegistryError.from_mistakes(mistakes)


def require_as_closed(served: Access, new: Access) -> None:
    """Refuse an access file that would open uploads to everybody while the collector runs.

    Opening uploads requires a restart, so that an operator does not open them by mistake.
    """
    if new.uploads_are_open and not served.uploads_are_open:
        raise ConfigError(
            "uploads need a key, and the new file would open uploads to anyone. Only a restart can do so: "
            'restart the collector to open uploads, or write uploads = "keys"'
        )


class Reloader:
    """A thread that reloads the access file when it changes, and reloads all files on request.

    If a file cannot be used, the collector continues with the previous definitions and keys.

    Attributes:
        served: the definitions and keys in use.
    """

    def __init__(
        self,
        served: Served,
        read_registry: Callable[[], Registry],
        access: Path | None,
        publish: Callable[[Served], None],
        admit: Callable[[Registry], frozenset[str]],
    ) -> None:
        """Store the arguments. Nothing happens before ``start``.

        Args:
            served: the definitions and keys in use, as read from the files.
            read_registry: reads the definitions, or raises a HearsayError if they cannot be used.
            access: the access file. None if there is no access file.
            publish: called with the new definitions and keys after each change.
            admit: prepares the store for a new registry, or raises a HearsayError. Returns all
                editions that collectors on this store have ever accepted.
        """
        self.served = served
        self._read_definitions = read_registry
        self._access = access
        self._publish = publish
        self._admit = admit
        self._stamp = _stamp(access)
        self._requests = 0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="reloader", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread, and wait until it has ended."""
        self._stopped.set()
        self._thread.join()

    def request(self) -> None:
        """Request that all files be read again soon.

        A signal handler calls this method, and may interrupt an earlier call. Therefore the method
        takes no lock. A request during a reload is counted, and therefore not lost.
        """
        self._requests += 1

    def look(self, *, requested: bool) -> None:
        """Read all files if requested; otherwise, read the access file if it has changed."""
        # look at the file's time and size before reading it: if the file changes while it is being
        # read, the next check notices the change
        stamp = _stamp(self._access)
        new = self.served
        if requested:
            new = _attempt("registry", self._read_registry, new)
        if self._access is not None and (requested or stamp != self._stamp):
            new = _attempt("access file", partial(_read_access, self._access), new)
        if new is not self.served:
            self._publish(new)
            self.served = new
        self._stamp = stamp

    def _read_registry(self, served: Served) -> Served:
        new = self._read_definitions()
        require_additive(served.registry, new)
        once = self._admit(new)
        known = f"the registry, with {plural(len(new.former), 'former question')},"
        _log_reload(known, "metric", len(new.metrics), len(served.registry.metrics))
        return replace(served, registry=new, once=once)

    def _run(self) -> None:
        answered, failing = 0, False
        while not self._stopped.wait(LOOK_S):
            requests = self._requests
            is_requested = requests != answered
            if is_requested:
                notify(*reloading())
            try:
                self.look(requested=is_requested)
            except Exception:  # noqa: BLE001 after any error, the next check may succeed
                if not failing:
                    _log.exception(
                        "the reload failed, and the collector continues with its present files",
                        extra=Event.RELOAD_REFUSED.extra,
                    )
                failing = True
            else:
                answered, failing = requests, False
            if is_requested:
                notify(READY)


def _read_access(file: Path, served: Served) -> Served:
    access = load_access(file)
    require_as_closed(served.access, access)
    _log_reload("the access file", "key", len(access.keys), len(served.access.keys))
    return replace(served, access=access)


def _log_reload(file: str, entry: str, now: int, before: int) -> None:
    _log.info("%s was reloaded: %s, %d before", file, plural(now, entry), before, extra=Event.RELOADED.extra)


def _attempt(file: str, read: Callable[[Served], Served], served: Served) -> Served:
    """Return the definitions and keys after reading a file.

    If the file cannot be used, log the reason, and return ``served`` unchanged.
    """
    try:
        return read(served)
    except HearsayError as error:
        mistakes = "; ".join(str(error).splitlines())  # one line for each event
        _log.warning(
            "the %s was not reloaded, and the previous one stays in force: %s",
            file,
            mistakes,
            extra=Event.RELOAD_REFUSED.extra,
        )
        return served


def _stamp(path: Path | None) -> tuple[int, int, int] | None:
    """Return values that change whenever a file changes, or None if there is no such file."""
    try:
        status = path.stat() if path is not None else None
    except OSError:
        return None
    return None if status is None else (status.st_mtime_ns, status.st_ino, status.st_size)


def registry_document(registry: Registry) -> bytes:
    """Return the public JSON document of a registry.

    The document lists all metrics, former definitions first, and the stopped metrics. From a
    metric's entry, a reader can compute the metric's edition. All integers are exact.
    """
    metrics = [
        {
            "metric": metric.name,
            "edition": metric.edition,
            "is_former": registry.metrics.get(metric.name) is not metric,
            "editions": metric.editions,
            "symbols": metric.channel.symbols,
            "kind": metric.kind.name,
            "domain": definition(metric),
            "window": metric.window.value,
            "mechanism": metric.channel.name,
            "integers": {name: _texts(integer) for name, integer in metric.channel.integers.items()},
            "epsilon": as_float(metric.epsilon_nanos),
            "delta": float_ceiling(metric.delta),
            "purpose": metric.purpose,
            "expires": metric.expires.isoformat() if metric.expires else None,
            "retention": metric.retention_days,
        }
        for metric in registry.counted
    ]
    document = {"metrics": metrics, "stopped": [stopped_entry(stop) for stop in registry.stopped]}
    return json.dumps(document, separators=(",", ":")).encode()


def _texts(integers: int | tuple[int, ...]) -> str | list[str]:
    """Return integers as strings, because many JSON parsers do not read large integers exactly."""
    return [str(integer) for integer in integers] if isinstance(integers, tuple) else str(integers)
