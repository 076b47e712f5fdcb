"""Decides when uploads are sent, and how long senders wait.

A new report is sent at a random time within a minute after it was recorded. The time is chosen and
stored in the ledger when the report is recorded (`client_sdk.ledger.queue`). If the program ends
earlier, a later run sends the report after this time. An observer who knows when programs run
learns only the random time, not the time of recording.

Each upload has its own retry time, stored by `client_sdk.ledger.retry_times`. The response to one
upload affects neither the time nor the content of another upload.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from client_sdk.ledger.backoff import Uniform, next_delay_s
from client_sdk.ledger.queue import SPREAD_S

if TYPE_CHECKING:
    from client_sdk.ledger.retry_times import Retry

APART_S = 900.0
"""The maximum random delay, in seconds, between an upload and the retry of another upload. Because
of the delay, the retry could come from any device that sends within this quarter of an hour."""

LONGEST_REST_S = 3600.0
"""The longest pause, in seconds, between two readings of the clock. Timeouts do not advance while a
computer sleeps."""


LIFE_S = 120.0
"""How long, in seconds, a helper runs, not counting its last request. A report is due within a
minute after its recording. A request takes at most a minute. If the report becomes due during a
request, the report gets a new random time within another minute. Another helper sends later
reports."""

HEAD_START_S = 2.0
"""How long, in seconds, a program with a helper waits before it sends earlier programs' reports.
Most programs with a helper end earlier, and leave the sending to the helper."""

CONNECT_TIMEOUT_S = 10.0
READ_TIMEOUT_S = 30.0
"""How long, in seconds, to wait for the next bytes of a response. A collector responds only after
it has written the reports to disk."""

DEADLINE_S = 60.0
"""The time limit, in seconds, of a whole request with its response. Without this limit, each byte
of a response could take as long as the read timeout."""

RETRY_AFTER_CEILING_S = 3600.0
"""The maximum delay, in seconds, that a server can request. Without this limit, a mistaken header
could permanently stop devices from sending."""

LEDGER_DEADLINE_S = 5.0
"""How long, in seconds, the uploader's thread waits for a transaction of the ledger."""


class Wake(NamedTuple):
    """When to retry an upload, on the monotonic clock."""

    at_s: float
    retry: Retry | None


class Departure(NamedTuple):
    """When to send new reports, on two clocks.

    Attributes:
        at_s: seconds of the monotonic clock.
        leaves_s: the same time in Unix seconds, stored with each of the reports.
    """

    at_s: float
    leaves_s: float


NEVER = Departure(-math.inf, 0.0)


class Departures:
    """Plans when to look for new reports, and when to retry an upload.

    All times are seconds of a monotonic clock, unless stated otherwise. ``now_s`` is the current
    time. Threads that share the object must lock it. A *look* is an attempt that reads the ledger
    for new reports and for due work.

    Attributes:
        uniform: ``uniform(a, b)`` returns a random delay of a to b seconds.
        news_s: when to look for new reports; None if no look is planned.
        rests: whether the look at ``news_s`` is planned only for due work.
        wake: when to send an upload again; None if no upload waits.
    """

    def __init__(self, uniform: Uniform) -> None:
        """Start without a planned attempt."""
        self.uniform = uniform
        self.news_s: float | None = None
        self.rests = False
        self.wake: Wake | None = None
        self._departure = NEVER
        self._apart_s = 0.0
        self._latest: str | None = None
        self._failures = 0

    @property
    def next_s(self) -> float:
        """The time of the next attempt to send anything; infinite if none is planned."""
        news_s = math.inf if self.news_s is None or self.rests else self.news_s
        return news_s if self.wake is None else min(news_s, self.wake.at_s)

    @property
    def next_look_s(self) -> float:
        """The time of the next attempt, including an attempt that only does due work."""
        return min(self.next_s, math.inf if self.news_s is None else self.news_s)

    def next_departure(self, now_s: float, clock_s: float) -> Departure:
        """Return when to send a report recorded now: at a planned departure or a random time."""
        if self._departure.at_s <= now_s:
            in_s = self.uniform(0.0, SPREAD_S)
            self._departure = Departure(now_s + in_s, clock_s + in_s)
        return self._departure

    def notify(self, departure: Departure) -> None:
        """Plan to look for new reports at a departure, unless an earlier look is planned."""
        self._departure = max(self._departure, departure)
        if self.news_s is None or self.rests:
            self.look(departure.at_s if self.news_s is None else min(departure.at_s, self.news_s))

    def look(self, at_s: float) -> None:
        """Plan a look at the given time."""
        self.news_s, self.rests = at_s, False

    def expect(self, now_s: float) -> None:
        """Plan a look at a random time within the next `SPREAD_S` seconds."""
        self.look_later(now_s + self.uniform(0.0, SPREAD_S))

    def look_later(self, at_s: float) -> None:
        """Plan a look at the given time. A new report may still make the look earlier."""
        self.news_s, self.rests = at_s, True

    def take(self, now_s: float) -> tuple[bool, Retry | None]:
        """Begin an attempt; return whether it is a look, and the upload to retry, if any."""
        news, wake = self.news_s is not None and self.news_s <= now_s, self.wake
        if news:
            self.news_s, self.rests, self._departure = None, False, NEVER
        self.wake = None
        return news, None if wake is None else wake.retry

    def part(self, upload: str, now_s: float) -> None:
        """Delay the next retry of every upload except ``upload``, which was just sent."""
        self._latest = upload
        self._apart_s = now_s + self.uniform(0.0, APART_S)

    def plan(self, pending: list[Retry], clock_s: float, now_s: float, *, hurried: bool = False) -> None:
        """Plan the next retry.

        If several uploads are due, choose the upload whose last attempt is longest ago.
        """
        wakes = []
        for retry in pending:
            wait_s = retry.wait_s(clock_s, hurried=hurried)
            at_s = now_s + min(wait_s, LONGEST_REST_S)
            if retry.upload != self._latest:
                at_s = max(at_s, self._apart_s)
            wakes.append(Wake(at_s, retry if wait_s <= LONGEST_REST_S else None))
        self.wake = min(wakes, key=lambda wake: wake.at_s, default=None)

    def rest(self, now_s: float, due_in_s: float | None, *, keeps_news: bool) -> None:
        """Plan the next look, after a look that found nothing to send.

        ``due_in_s`` is the time until the next due work, in seconds; None if no work will be due.
        ``keeps_news`` says whether new reports wait because an old upload must be sent first.
        """
        if self.news_s is not None:  # a report was queued during the look
            return
        self.rests = not keeps_news
        if keeps_news:
            self.news_s = now_s + self.uniform(0.0, APART_S)
        elif due_in_s is not None:
            self.news_s = now_s + min(due_in_s + self.uniform(0.0, SPREAD_S), LONGEST_REST_S)

    def go_on(self, now_s: float, *, news: bool, hurried: bool, flushing: bool) -> None:
        """After sending new reports, plan a look for more reports; after a retry, keep the plan.

        New reports that became due during the upload get a new random time. Otherwise, two uploads
        would follow each other directly, and the collector would know that both uploads come from
        one device. If a flush began in the meantime, the new reports are sent now, even if the
        flush no longer waits.
        """
        is_due = self.news_s is not None and self.news_s <= now_s
        if (news or is_due) and not (hurried and is_due):
            self.look(now_s + (0.0 if flushing else self.uniform(0.0, SPREAD_S)))

    def succeed(self) -> None:
        """End the back-off, because the ledger can be used again."""
        self._failures = 0

    def back_off(self, now_s: float) -> None:
        """Plan a later look at the ledger, because the ledger could not be used."""
        self.look(now_s + next_delay_s(self._failures, 0.0, self.uniform))
        self._failures += 1
