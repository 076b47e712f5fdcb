"""The stopped metrics that a relay announces to devices, and how the relay learns of them.

A *stop* is the announcement that a metric is stopped. A device that has received a stop sends no
more reports of the metric. If only one device received a stop, the missing reports would reveal
that device to the collector. Therefore:

* The list of stops does not depend on any upload, or on the response to an upload. The relay reads
  the collector's registry at random times, and every device gets the same list.
* A stop is announced only after the registry has listed the stop in every reading for a whole day.
  Until then, the operator can withdraw the stop.
* A stop that was announced is announced forever, so that every device learns of it. The collector
  cannot withdraw the stop. The metric's ``expires``, which the collector controls, does not end the
  stop.
* A stop of an edition that the registry does not define is ignored. The list is never longer than
  devices accept.

The file of stops contains names of metrics and nothing about devices. Several relays on one machine
may share the file.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

from client_sdk.protocol.wire import strict_json
from client_sdk.protocol.wire.strict_json import MalformedError
from client_sdk.protocol.wire.verdict import (
    MAX_STOPPED,
    MAX_STOPPED_CHARS,
    MetricEdition,
    encode_stopped,
    stopped_entry,
    stopped_metric,
)
from collector.errors import ConfigError
from collector.files import whole_file
from collector.relay.forward import CollectorUnavailableError

LISTED_FOR_S: Final = 86_400
"""How long, in seconds, the collector must list a stopped metric before the relay announces it."""

MAX_FILE_BYTES: Final = 65_536
"""The maximum number of bytes in the file that lists the stopped metrics."""

LONGEST_WAIT_S: Final = 7200.0
"""The maximum time between two readings of the registry, in seconds. The average is an hour."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Stops:
    """The stopped metrics that a relay knows.

    Attributes:
        handed_out: the stopped metrics that every device receives, the earliest first.
        listed_since: for each stopped metric that is not announced yet, the time (Unix seconds)
            since which every reading of the registry has listed the metric.
    """

    handed_out: tuple[MetricEdition, ...] = ()
    listed_since: Mapping[MetricEdition, int] = field(default_factory=dict)

    def after(self, listed: Iterable[MetricEdition], now_s: int) -> Stops:
        """Return the updated object after reading a registry that lists ``listed`` as stopped.

        ``now_s`` is the time of the reading, in Unix seconds. If the clock was set back, the
        waiting time of `LISTED_FOR_S` begins again.
        """
        since = {stop: min(self.listed_since.get(stop, now_s), now_s) for stop in listed if stop not in self.handed_out}
        confirmed = [stop for stop, since_s in since.items() if now_s - since_s >= LISTED_FOR_S]
        return replace(self, listed_since=since).handing_out(confirmed)

    def handing_out(self, more: Iterable[MetricEdition]) -> Stops:
        """Return the updated object after adding ``more`` to the announced metrics.

        Metrics beyond the maximum length of the list are not announced.
        """
        handed_out = self.handed_out
        for stop in more:
            longer = (*handed_out, stop)
            if stop not in handed_out and _is_read_by_devices(longer):
                handed_out = longer
        waiting = {stop: since_s for stop, since_s in self.listed_since.items() if stop not in handed_out}
        return Stops(handed_out, waiting)

    def without_room(self, now_s: int) -> list[MetricEdition]:
        """Return the metrics that are due to be announced, but for which the list has no space."""
        return [stop for stop, since_s in self.listed_since.items() if now_s - since_s >= LISTED_FOR_S]

    def encode(self) -> bytes:
        """Return the content of the file that stores the stopped metrics."""
        document = {
            "handed_out": [stopped_entry(stop) for stop in self.handed_out],
            "listed_since": {stopped_entry(stop): since_s for stop, since_s in self.listed_since.items()},
        }
        return json.dumps(document, indent=1).encode() + b"\n"

    @classmethod
    def decode(cls, content: bytes) -> Stops:
        """Parse the content of the file that stores the stopped metrics.

        Raises:
            ValueError: if `encode` could not have returned this content.
        """
        if len(content) > MAX_FILE_BYTES:
            raise ValueError
        document = _object(content)
        since = document.get("listed_since")
        if document.keys() != {"handed_out", "listed_since"} or not isinstance(since, dict):
            raise ValueError
        if not all(type(since_s) is int for since_s in since.values()):
            raise ValueError
        handed_out = _metrics(_items(document, "handed_out"))
        if cls().handing_out(handed_out).handed_out != handed_out:
            raise ValueError
        return cls(handed_out, dict(zip(_metrics(since), since.values(), strict=True)))


def listed_in(document: bytes) -> list[MetricEdition]:
    """Return the stopped metrics that a collector's registry lists.

    Invalid entries, entries with editions that the registry does not define, and entries beyond
    MAX_STOPPED are left out.

    Raises:
        ValueError: if the document is not a registry.
    """
    registry = _object(document)
    defined = {
        (metric["metric"], edition)
        for metric in _items(registry, "metrics")
        if isinstance(metric, dict) and isinstance(metric.get("metric"), str)
        for edition in _items(metric, "editions")
        if isinstance(edition, str)
    }
    named = filter(None, map(stopped_metric, _items(registry, "stopped")))
    return list(islice((stop for stop in dict.fromkeys(named) if stop in defined), MAX_STOPPED))


def _object(content: bytes) -> dict[str, Any]:
    try:
        document = strict_json.load(content)
    except MalformedError:
        raise ValueError from None
    if not isinstance(document, dict):
        raise ValueError  # noqa: TRY004 the document is damaged; no argument has a wrong type
    return document


def _items(document: Mapping[str, Any], name: str) -> list[Any]:
    items = document.get(name)
    if not isinstance(items, list):
        raise ValueError  # noqa: TRY004 as above
    return items


def _metrics(entries: Iterable[object]) -> tuple[MetricEdition, ...]:
    named = tuple(map(stopped_metric, entries))
    if not all(named):
        raise ValueError
    return tuple(filter(None, named))


def _is_read_by_devices(stops: tuple[MetricEdition, ...]) -> bool:
    return len(stops) <= MAX_STOPPED and len(encode_stopped(stops)) <= MAX_STOPPED_CHARS


class StopsFile:
    """The file that stores the stopped metrics, and an empty lock file next to it."""

    def __init__(self, path: Path) -> None:
        """Store the path. Nothing is read yet."""
        self.path = path

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Prevent other relays from using the file during a ``with`` block.

        Without this lock, a relay could overwrite another relay's latest change.

        Raises:
            ConfigError: if the lock cannot be created.
        """
        try:
            lock = os.open(f"{self.path.resolve()}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise ConfigError(
                f"{self.path}.lock cannot be created: {error.strerror}; with --state, name a file in a folder "
                "that this user can write to"
            ) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def read(self) -> Stops:
        """Return the content of the file.

        If there is no file, return an empty `Stops` object.

        Raises:
            ConfigError: if the file is damaged or cannot be read.
        """
        try:
            with self.path.open("rb") as file:
                return Stops.decode(file.read(MAX_FILE_BYTES + 1))
        except FileNotFoundError:
            return Stops()
        except OSError as error:
            raise ConfigError(
                f"{self.path} cannot be read: {error.strerror}; with --state, name the relay's own file"
            ) from error
        except ValueError:
            raise ConfigError(
                f"{self.path} is damaged: restore a copy of the file. If you have no copy, delete the file, and keep "
                "the same stopped questions in the collector's registry, so that the remaining devices learn of "
                "them a day later"
            ) from None

    def write(self, stops: Stops) -> None:
        """Replace the file. The new content is on disk when this method returns."""
        with whole_file(self.path) as file:
            file.write(stops.encode())


class StopsReader:
    """A thread that updates the list of stopped metrics.

    Attributes:
        handed_out: the stopped metrics that every device receives.
    """

    def __init__(
        self,
        file: StopsFile,
        get_registry: Callable[[], bytes],
        *,
        clock: Callable[[], float],
        uniform: Callable[[float, float], float],
    ) -> None:
        """Read the file. The registry is not requested yet.

        Args:
            file: the file that stores the stopped metrics.
            get_registry: returns the collector's registry, or raises CollectorUnavailableError.
            clock: returns Unix seconds.
            uniform: the source of random times, a function that returns a random float between its
                two arguments.
        """
        self._file = file
        self._get_registry = get_registry
        self._clock = clock
        self._uniform = uniform
        self._is_failing = self._is_full = False
        self.handed_out: tuple[MetricEdition, ...] = file.read().handed_out

    def start(self, wait: Callable[[float], object]) -> None:
        """Start the thread that reads the registry.

        Before each reading, the thread calls ``wait`` with a number of seconds.
        """
        threading.Thread(target=self._run, args=(wait,), name="stops", daemon=True).start()

    def _run(self, wait: Callable[[float], object]) -> None:
        while True:
            wait(self._uniform(0.0, LONGEST_WAIT_S))
            self.read()

    def read(self) -> None:
        """Read the registry once. If reading or writing fails, only log the failure."""
        try:
            listed = listed_in(self._get_registry())
            self._take(listed)
        except (CollectorUnavailableError, ConfigError) as error:
            self._note_failure(str(error))
        except ValueError:
            self._note_failure("the collector's answer is not a registry that this version can read")
        else:
            self._is_failing = False

    def _take(self, listed: list[MetricEdition]) -> None:
        now_s = int(self._clock())
        with self._file.locked():
            kept = self._file.read()
            # stops that this relay has announced stay in the list, even if the file has lost them
            stops = Stops(listed_since=kept.listed_since).handing_out((*self.handed_out, *kept.handed_out))
            stops = stops.after(listed, now_s)
            if stops != kept:
                self._file.write(stops)  # on disk before the first device receives it
        self.handed_out = stops.handed_out
        if stops.without_room(now_s) and not self._is_full:
            _log.warning(
                "the list of stopped questions is full, and the relay adds no more: release the apps "
                "with a new registry"
            )
            self._is_full = True

    def _note_failure(self, problem: str) -> None:
        """Log a failure, unless the previous attempt also failed."""
        if not self._is_failing:
            _log.warning(
                "the list of stopped questions cannot be updated: %s; the relay continues with the list that it has",
                problem,
            )
        self._is_failing = True
