"""The app's clock, and checks of the times that it returns, because an app may return anything."""

from __future__ import annotations

from collections.abc import Callable

from client_sdk.protocol.errors import WindowError
from client_sdk.protocol.window import Window, WindowKind
from client_sdk.results import ClockError


class Clock:
    """Asks the app for the time, in Unix seconds.

    Attributes:
        problem: the clock's problem, and advice; None if there is no problem.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        """Store the app's function that returns the time."""
        self.problem: str | None = None
        self._now = now

    def __call__(self) -> float:
        """Return the time that the app's clock shows."""
        try:
            return float(self._now())
        except Exception as error:  # noqa: BLE001 the clock belongs to the app, and may raise anything
            name = type(error).__name__
            raise ClockError(
                f"the app's clock must return a number of Unix seconds, but reading it raised {name}; correct it"
            ) from None

    def instant(self) -> float:
        """Return the current instant.

        Raises:
            ClockError: if the app does not return a number, or returns a time that no collector
                accepts. ``problem`` is set to the error's message.
        """
        try:
            instant_s = self()
            check_sane(instant_s)
        except ClockError as error:
            self.problem = str(error)
            raise
        return instant_s

    def instant_or_zero(self) -> float:
        """Return the current instant; 0 if the clock is wrong (see ``problem``)."""
        try:
            return self.instant()
        except ClockError:
            return 0.0


def check_sane(clock_s: float) -> None:
    """Raise `ClockError` if no collector accepts reports for windows that contain ``clock_s``."""
    try:
        for kind in WindowKind:
            Window.parse(Window.at(kind, clock_s).text)
    except (ValueError, OverflowError, OSError, WindowError):
        raise ClockError("the device's clock shows a time that no collector accepts; set the clock") from None
