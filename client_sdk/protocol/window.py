"""The UTC day, ISO week or month to which a report belongs."""

from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from functools import lru_cache

from client_sdk.protocol.errors import WindowError

DAY_S = 86_400

GRACE_S = 3 * DAY_S
"""The default time, in seconds, for which a collector accepts reports after their window's end.

Three days suffice for a device that was off over a weekend. After this time, clients no longer send
the window's reports either.
"""

LATEST_YEAR = 9998
"""The last year in which a window may begin. The window may end in the next year, and `datetime`
supports no year after 9999."""


class WindowKind(StrEnum):
    """The length of a window."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"


@dataclass(frozen=True, slots=True)
class Window:
    """A day, an ISO week or a month in UTC.

    Attributes:
        kind: day, week (ISO 8601, from Monday) or month, in UTC.
        text: the window's name on the wire, such as ``2026-11-20``, ``2026-W47`` or ``2026-11``.
        starts_at: the window's first instant, in Unix seconds.
        ends_at: the first instant after the window, in Unix seconds.
    """

    kind: WindowKind
    first_day: date
    text: str = field(init=False, compare=False)
    starts_at: int = field(init=False, compare=False)
    ends_at: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", _text(self.kind, self.first_day))
        object.__setattr__(self, "starts_at", _midnight(self.first_day))
        object.__setattr__(self, "ends_at", _midnight(_next_first_day(self.kind, self.first_day)))

    def __str__(self) -> str:
        """Return the window's name on the wire."""
        return self.text

    @classmethod
    def at(cls, kind: WindowKind, instant_s: float) -> "Window":
        """Return the day, week or month that contains an instant, given in Unix seconds."""
        # without // 1, fromtimestamp would round the last half microsecond of a day up
        return cls.on(kind, datetime.fromtimestamp(instant_s // 1, UTC).date())

    @classmethod
    def on(cls, kind: WindowKind, day: date) -> "Window":
        """Return the window that contains a UTC day: the day itself, its week or its month."""
        if kind is WindowKind.WEEK:
            day -= timedelta(days=day.weekday())
        elif kind is WindowKind.MONTH:
            day = day.replace(day=1)
        return _window(kind, day)

    @property
    def last_day(self) -> date:
        """The window's last UTC day."""
        return _next_first_day(self.kind, self.first_day) - timedelta(days=1)

    @staticmethod
    @lru_cache(maxsize=4096)
    def parse(text: str) -> "Window":
        """Return the window that is named ``text``. Windows that ended before 1970 are refused.

        Raises:
            WindowError: if the text is not the canonical name of a supported window.
        """
        try:
            window = Window(*_kind_and_first_day(text))
        except (ValueError, OverflowError):
            window = None
        if window is None or window.text != text or not (window.ends_at > 0 and window.first_day.year <= LATEST_YEAR):
            raise WindowError(
                "a window is a UTC day such as 2026-11-20, an ISO week such as 2026-W47 or a month such as 2026-11"
            )
        return window


def _kind_and_first_day(text: str) -> tuple[WindowKind, date]:
    if text[5:6] == "W":
        return WindowKind.WEEK, date.fromisocalendar(int(text[:4]), int(text[6:]), 1)
    if text.count("-") == 1:
        return WindowKind.MONTH, date.fromisoformat(f"{text}-01")
    return WindowKind.DAY, date.fromisoformat(text)


_window = lru_cache(maxsize=512)(Window)
"""Returns the window that has a given kind and begins on a given day. Results are cached, because a
device uses few different windows."""


def _text(kind: WindowKind, first_day: date) -> str:
    if kind is WindowKind.WEEK:
        year, week, _ = first_day.isocalendar()
        return f"{year:04}-W{week:02}"
    return first_day.isoformat() if kind is WindowKind.DAY else first_day.isoformat()[:7]


def _next_first_day(kind: WindowKind, first_day: date) -> date:
    if kind is WindowKind.MONTH:
        return (first_day + timedelta(days=31)).replace(day=1)
    return first_day + timedelta(days=7 if kind is WindowKind.WEEK else 1)


def _midnight(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp())
