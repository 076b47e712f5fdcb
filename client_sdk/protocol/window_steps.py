"""Finds the nth window after a window, and counts the windows from a window to a day."""

from __future__ import annotations

from datetime import date, timedelta

from client_sdk.protocol.errors import WindowError
from client_sdk.protocol.window import Window, WindowKind

MONTHS = 12


def later(window: Window, windows: int) -> Window:
    """Return the window that comes ``windows`` windows after ``window``.

    ``windows`` is at least 0.
    """
    try:
        if window.kind is WindowKind.MONTH:
            years, month = divmod(window.first_day.month - 1 + windows, MONTHS)
            first_day = date(window.first_day.year + years, month + 1, 1)
        else:
            first_day = window.first_day + windows * (window.last_day - window.first_day + timedelta(days=1))
        return Window.parse(Window.on(window.kind, first_day).text)
    except (ValueError, OverflowError, WindowError):
        raise WindowError(f"there is no window {windows} windows after {window}") from None


def windows_until(window: Window, last_day: date) -> int:
    """Return the number of windows from ``window`` through the one that contains ``last_day``."""
    if window.kind is WindowKind.MONTH:
        months = (last_day.year - window.first_day.year) * MONTHS + last_day.month - window.first_day.month
        return max(0, months + 1)
    days = 7 if window.kind is WindowKind.WEEK else 1
    return max(0, (last_day - window.first_day).days // days + 1)
