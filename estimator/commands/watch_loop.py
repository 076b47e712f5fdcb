"""A report that is drawn anew while a collection runs; a collector that is down meanwhile is waited for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from estimator.errors import CollectorDownError

USUAL_S: Final = 60
"""Seconds between two looks."""

LEAST_S: Final = 10
"""Collectors renew their snapshots hourly, or as they are told; more looks show nothing new, and each costs a sum."""

GREATEST_S: Final = 86_400
"""A day: who looks less often wants a job and not a screen."""

CLEARED: Final = "\x1b[H\x1b[2J"
"""The cursor at home, the screen empty."""


@dataclass(frozen=True, slots=True)
class Watch:
    """Draws one report again and again.

    Attributes:
        look: reads the tallies and returns the report as text.
        show: takes a whole picture.
        wait: waits for so many seconds.
        now: Unix seconds.
        every_s: seconds between two looks.

    """

    look: Callable[[], str]
    show: Callable[[str], None]
    wait: Callable[[float], None]
    now: Callable[[], float]
    every_s: float

    def run(self) -> None:
        """Draw until something ends it.

        Raises:
            TalliesError: if the collector answers, but with no tallies: waiting would not help.

        """
        picture, looked = "", ""
        while True:
            again = f"again in {self.every_s:g} s; Ctrl-C ends"
            try:
                picture, looked = self.look(), self._time()
            except CollectorDownError as error:
                shown = f"above is what was there at {looked}; " if looked else ""
                self.show(f"{picture}\n{self._time()}: {error}\n{shown}{again}\n")
            else:
                self.show(f"{picture}\nread at {looked}; {again}\n")
            self.wait(self.every_s)

    def _time(self) -> str:
        return f"{datetime.fromtimestamp(self.now(), UTC):%Y-%m-%d %H:%M:%S} UTC"
