"""Decides when uploads are sent, and how long senders wait.

A new report is sent at a random instant within a minute after it was recorded. The instant is
chosen when the report is recorded, and is stored in the ledger (`client_sdk.ledger.queue`). If the
program ends before this instant, the next program sends the report as soon as it starts. Even to an
observer who knows when programs run, the arrival of a report never reveals more than its random
instant.

Each upload that is sent again has its own time, stored by `client_sdk.ledger.retry_times`. These
times are independent: the response to one upload affects neither the time nor the content of
another upload.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from client_sdk.ledger.backoff import Uniform, next_delay_s
from client_sdk.ledger.queue import SPREAD_S

if TYPE_CHECKING:
    from client_sdk.ledger.retry_times import Retry

APART_S = 900.0
"""The retry of an upload follows another upload after a random time of up to a quarter of an hour,
or takes place at its own planned time if that is later. A device that retries then looks like any
other device that sends within this quarter of an hour."""

LONGEST_REST_S = 3600.0
"""The maximum time between checks of the calendar: timeouts stop while a computer sleeps."""


LIFE_S = 120.0
"""How long a helper waits until reports are due. Every report is due within a minute; reports that
become due during a request are due again within a minute after the request. A request ends within a
minute, at its own deadline. If new reports still wait after that, another helper continues."""

HEAD_START_S = 2.0
"""How long a program with a helper waits before it sends. Most such programs end earlier."""

CONNECT_TIMEOUT_S = 10.0
READ_TIMEOUT_S = 30.0
"""How long to wait for the next bytes of a response. Collectors write to disk before responding."""

DEADLINE_S = 60.0
"""The time limit of a whole exchange. Without this limit, each byte of a response could take as
long as the read timeout."""

RETRY_AFTER_CEILING_S = 3600.0
"""The maximum delay that a server can request. Without this limit, a mistaken header could
permanently stop devices from sending."""

LEDGER_DEADLINE_S = 5.0
"""How long the uploader waits for the ledger. The app does not wait for the uploader."""


class Wake(NamedTuple):
    """The monotonic instant to send an upload again or, without an upload, to read the ledger."""

    at_s: float
    retry: Retry | None


class Departure(NamedTuple):
    """The instant at which new reports are sent, on two clocks.

    Attributes:
        at_s: seconds of the monotonic clock.
        leaves_s: Unix seconds; equal for all reports that are sent together.

    """

    at_s: float
    leaves_s: float


NEVER = Departure(-math.inf, 0.0)


class Departures:
    """Plans when to look for new reports, and when to retry an upload.

    Instants are seconds of a monotonic clock. Methods get the current instant as ``now_s``. Threads
    that share the object must lock it.

    Attributes:
        uniform: the source of jitter.
        news_s: when to look for new reports; None if no look is planned.
        rests: whether the look at ``news_s`` is only for work that is due by the calendar.
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
        """The instant of the next attempt to send anything; infinite if none is planned."""
        news_s = math.inf if self.news_s is None or self.rests else self.news_s
        return news_s if self.wake is None else min(news_s, self.wake.at_s)

    @property
    def next_look_s(self) -> float:
        """The instant of the next attempt, including an attempt that only does due work."""
        return min(self.next_s, math.inf if self.news_s is None else self.news_s)

    def next_departure(self, now_s: float, clock_s: float) -> Departure:
        """Return when a report recorded now is sent: with waiting reports, or at a random time."""
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
        """Plan to look for new reports at an instant."""
        self.news_s, self.rests = at_s, False

    def expect(self, now_s: float) -> None:
        """Plan to check for new reports and due work, at a random time within `SPREAD_S`."""
        self.look_later(now_s + self.uniform(0.0, SPREAD_S))

    def look_later(self, at_s: float) -> None:
        """Plan to look for new reports at an instant, or earlier if a new report is due earlier."""
        self.news_s, self.rests = at_s, True

    def take(self, now_s: float) -> tuple[bool, Retry | None]:
        """Begin an attempt; return whether it looks for new reports, and the planned retry."""
        news, wake = self.news_s is not None and self.news_s <= now_s, self.wake
        if news:
            self.news_s, self.rests, self._departure = None, False, NEVER
        self.wake = None
        return news, None if wake is None else wake.retry

    def part(self, upload: str, now_s: float) -> None:
        """Delay the next retry of another upload, to separate it from the one just sent."""
        self._latest = upload
        self._apart_s = now_s + self.uniform(0.0, APART_S)

    def plan(self, pending: list[Retry], clock_s: float, now_s: float, *, hurried: bool = False) -> None:
        """Plan the next retry; if several uploads are due, choose the least recently tried one."""
        wakes = []
        for retry in pending:
            wait_s = retry.wait_s(clock_s, hurried=hurried)
            at_s = now_s + min(wait_s, LONGEST_REST_S)
            if retry.upload != self._latest:
                at_s = max(at_s, self._apart_s)
            wakes.append(Wake(at_s, retry if wait_s <= LONGEST_REST_S else None))
        self.wake = min(wakes, key=lambda wake: wake.at_s, default=None)

    def rest(self, now_s: float, due_in_s: float | None, *, keeps_news: bool) -> None:
        """After a look that found nothing to send, wait until work is due by the calendar.

        Args:
            now_s: the current instant.
            due_in_s: seconds until work is due by the calendar; None if no work will be due.
            keeps_news: whether new reports wait because an old upload is sent first.

        """
        if self.news_s is not None:  # a report was queued during the look
            return
        self.rests = not keeps_news
        if keeps_news:
            self.news_s = now_s + self.uniform(0.0, APART_S)
        elif due_in_s is not None:
            self.news_s = now_s + min(due_in_s + self.uniform(0.0, SPREAD_S), LONGEST_REST_S)

    def go_on(self, now_s: float, *, news: bool, hurried: bool, flushing: bool) -> None:
        """Plan to look for more after new reports were sent; after a retry, keep the plan.

        New reports that became due during the exchange get a new instant, because otherwise they
        would be sent directly after the exchange. But if a flush began during the exchange, they
        are sent now, even if the flush no longer waits.
        """
        is_due = self.news_s is not None and self.news_s <= now_s
        if (news or is_due) and not (hurried and is_due):
            self.look(now_s + (0.0 if flushing else self.uniform(0.0, SPREAD_S)))

    def succeed(self) -> None:
        """End the back-off, because the ledger can be used again."""
        self._failures = 0

    def back_off(self, now_s: float) -> None:
        """Plan to look at the ledger later, because it could not be used."""
        self.look(now_s + next_delay_s(self._failures, 0.0, self.uniform))
        self._failures += 1
