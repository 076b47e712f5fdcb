"""The host's clock, which may return anything, and its problems."""

from __future__ import annotations

from collections.abc import Callable

from client_sdk.protocol.errors import WindowError
from client_sdk.protocol.window import Window, WindowKind
from client_sdk.results import ClockError


class Clock:
    """Asks the host for the time, in Unix seconds.

    Attributes:
        problem: what is wrong with the clock and what to do about it; None if nothing is.

    """

    def __init__(self, now: Callable[[], float]) -> None:
        """Take the host's clock."""
        self.problem: str | None = None
        self._now = now

    def __call__(self) -> float:
        """Return the time according to the host.

        Raises:
            ClockError: if it is not a number.

        """
        try:
            return float(self._now())
        except Exception as error:  # noqa: BLE001 the clock is the host's, and may do anything
            name = type(error).__name__
            raise ClockError(f"the app's clock must return a number of Unix seconds, not {name}; correct it") from None

    def instant(self) -> float:
        """Return the present instant.

        Raises:
            ClockError: if there is none, or no collector takes it; ``problem`` says the same.

        """
        try:
            instant_s = self()
            check_sane(instant_s)
        except ClockError as error:
            self.problem = str(error)
            raise
        return instant_s

    def instant_or_zero(self) -> float:
        """Return the present instant; 0 if the clock is not believed, which recording reports."""
        try:
            return self.instant()
        except ClockError:
            return 0.0


def check_sane(clock_s: float) -> None:
    """Raise `ClockError` if no collector takes an instant."""
    try:
        for kind in WindowKind:
            Window.parse(Window.at(kind, clock_s).text)
    except (ValueError, OverflowError, OSError, WindowError):
        raise ClockError("the device's clock shows a time that no collector accepts; set it") from None
