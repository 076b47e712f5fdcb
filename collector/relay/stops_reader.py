"""Reads stopped questions from the collector's registry, at random times that no upload decides."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final

from client_sdk.protocol.wire.stopped import Question
from collector.errors import ConfigError
from collector.relay.forward import CollectorUnavailableError
from collector.relay.stops import Stops, StopsFile, listed_in

LONGEST_WAIT_S: Final = 7200.0
"""The longest time between two readings; each is a random part of it, so an hour on average."""

_log = logging.getLogger(__name__)


class StopsReader:
    """Keeps the list of stops up to date, in a thread.

    Attributes:
        handed_out: the stops that every device is told.

    """

    def __init__(
        self,
        file: StopsFile,
        get_registry: Callable[[], bytes],
        *,
        clock: Callable[[], float],
        uniform: Callable[[float, float], float],
    ) -> None:
        """Read the file; the collector is not asked yet.

        Args:
            file: where the stops are kept.
            get_registry: returns the collector's registry, or raises CollectorUnavailableError.
            clock: Unix seconds.
            uniform: the source of random times: returns a float between two others.

        Raises:
            ConfigError: if the file cannot be used.

        """
        self._file = file
        self._get_registry = get_registry
        self._clock = clock
        self._uniform = uniform
        self._is_failing = self._is_full = False
        self.handed_out: tuple[Question, ...] = file.read().handed_out

    def start(self, wait: Callable[[float], object]) -> None:
        """Read the registry from now on.

        Args:
            wait: waits for a number of seconds.

        """
        threading.Thread(target=self._run, args=(wait,), name="stops", daemon=True).start()

    def _run(self, wait: Callable[[float], object]) -> None:
        while True:
            wait(self._uniform(0.0, LONGEST_WAIT_S))
            self.read()

    def read(self) -> None:
        """Read the registry once. What cannot be read or written changes nothing, and is logged."""
        try:
            listed = listed_in(self._get_registry())
            self._take(listed)
        except (CollectorUnavailableError, ConfigError) as error:
            self._note_failure(str(error))
        except ValueError:
            self._note_failure("it is no registry of this version")
        else:
            self._is_failing = False

    def _take(self, listed: list[Question]) -> None:
        now_s = int(self._clock())
        with self._file.locked():
            kept = self._file.read()
            # what was handed out stays so, whatever has become of the file
            stops = Stops(listed_since=kept.listed_since).handing_out((*self.handed_out, *kept.handed_out))
            stops = stops.after(listed, now_s)
            if stops != kept:
                self._file.write(stops)  # on disk before the first device hears of it
        self.handed_out = stops.handed_out
        if stops.without_room(now_s) and not self._is_full:
            _log.warning("the list of stops is full, and no more are handed out: apps need a new registry")
            self._is_full = True

    def _note_failure(self, problem: str) -> None:
        """Log the first of consecutive failures."""
        if not self._is_failing:
            _log.warning("the registry's stops are not read: %s; the relay hands out those that it has", problem)
        self._is_failing = True
