"""How far long work has got, on stderr: a line that renews itself on a terminal, else a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

PATIENCE_S = 1.0
"""Seconds in which nobody asks yet; what is done by then says nothing."""

LINES_APART_S = 10.0
"""Seconds between two lines where stderr is kept, as cron and journals do."""

RENEWED_APART_S = 0.1
"""Seconds between two looks of a line that renews itself: as fast as one can read."""


class Progress:
    """Counts steps, and says from time to time how many of all are done.

    Args:
        label: what is being done.
        steps: how many there are.
        sink: where to say it.
        clock: seconds, from any instant.

    """

    def __init__(self, label: str, steps: int, sink: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin now."""
        self._label = label
        self._steps = steps
        self._sink = sink
        self._clock = clock
        self._done = 0
        self._renews = sink.isatty()
        self._next_s = clock() + (PATIENCE_S if self._renews else LINES_APART_S)
        self._shows = False

    def advance(self, steps: int = 1) -> None:
        """Count steps that are done."""
        self._done += steps
        now_s = self._clock()
        if now_s < self._next_s:
            return
        self._next_s = now_s + (RENEWED_APART_S if self._renews else LINES_APART_S)
        begin, end = ("\r", "\x1b[K") if self._renews else ("", "\n")
        self._shows = self._renews
        self._sink.write(f"{begin}{self._label}: {self._done:,} of {self._steps:,}{end}")
        self._sink.flush()

    def finish(self) -> None:
        """Take away the line that renews itself: what comes next stands in its place."""
        if self._shows:
            self._sink.write("\r\x1b[K")
            self._sink.flush()


@contextmanager
def progress(label: str, steps: int) -> Iterator[Callable[[int], None]]:
    """Say on stderr how far work has got; call what this yields with the steps done."""
    shown = Progress(label, steps, sys.stderr)
    try:
        yield shown.advance
    finally:
        shown.finish()
