"""Tells on standard error how far long work has come: on a terminal in one line, elsewhere in a line at times."""

from __future__ import annotations

import sys
import time
from typing import TextIO

TERMINAL_INTERVAL_S = 0.2
LINE_INTERVAL_S = 10.0
"""A log that is read later needs few lines."""


class Progress:
    """Counts things that are done."""

    def __init__(self, what: str, total: int | None = None, stream: TextIO | None = None) -> None:
        """Begin to count.

        Args:
            what: a word or two for what is counted.
            total: how many there will be, if that is known.
            stream: where to tell it; standard error by default.

        """
        self._what = what
        self._total = "" if total is None else f" of {total:,}"
        self._stream = stream or sys.stderr
        self._is_terminal = self._stream.isatty()
        self._interval_s = TERMINAL_INTERVAL_S if self._is_terminal else LINE_INTERVAL_S
        self._next_s = time.monotonic() + self._interval_s
        self._has_told = False
        self.done = 0

    def add(self, more: int) -> None:
        """Count more, and tell it if the last time is long enough ago."""
        self.done += more
        now_s = time.monotonic()
        if now_s >= self._next_s:
            self._next_s = now_s + self._interval_s
            self._tell()

    def end(self) -> None:
        """Leave a terminal's line."""
        if self._has_told and self._is_terminal:
            self._tell()
            self._stream.write("\n")

    def _tell(self) -> None:
        self._has_told = True
        start, end = ("\r", "") if self._is_terminal else ("", "\n")
        self._stream.write(f"{start}{self.done:,}{self._total} {self._what}{end}")
        self._stream.flush()
