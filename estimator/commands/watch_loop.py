"""A report that is drawn again and again while a collection runs.

A collector that is down is waited for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from estimator.errors import CollectorDownError

USUAL_S: Final = 60
"""Seconds between two drawings, by default."""

LEAST_S: Final = 10
"""Collectors renew their snapshots hourly, or as configured. More drawings show nothing new, and
each costs a sum.
"""

GREATEST_S: Final = 86_400
"""A day. Anyone who looks less often wants a job, not a screen."""

CLEARED: Final = "\x1b[H\x1b[2J"
"""Moves the cursor home and clears the screen."""


@dataclass(frozen=True, slots=True)
class Watch:
    """Draws one report again and again.

    Attributes:
        look: reads the tallies and returns the report as text.
        show: draws a whole picture.
        wait: waits for a number of seconds.
        now: returns the present time in Unix seconds.
        every_s: seconds between two drawings.

    """

    look: Callable[[], str]
    show: Callable[[str], None]
    wait: Callable[[float], None]
    now: Callable[[], float]
    every_s: float

    def run(self) -> None:
        """Draw until an exception ends it.

        Raises:
            TalliesError: if the collector answers, but not with tallies. Waiting would not help.

        """
        picture, read_at = "", ""
        next_look = f"again in {self.every_s:g} s; Ctrl-C ends"
        while True:
            try:
                picture, read_at = self.look(), self._time()
            except CollectorDownError as error:
                shown = f"above is what was there at {read_at}; " if read_at else ""
                self.show(f"{picture}\n{self._time()}: {error}\n{shown}{next_look}\n")
            else:
                self.show(f"{picture}\nread at {read_at}; {next_look}\n")
            self.wait(self.every_s)

    def _time(self) -> str:
        return f"{datetime.fromtimestamp(self.now(), UTC):%Y-%m-%d %H:%M:%S} UTC"
