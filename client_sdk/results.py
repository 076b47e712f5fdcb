"""The types that the SDK and the app exchange: decisions, results, errors and warnings."""

import contextlib
import logging
from collections.abc import Callable
from enum import Enum, StrEnum
from typing import ClassVar, Final, NamedTuple

from client_sdk.protocol.errors import HearsayError


class Recorded(StrEnum):
    """The outcome of a call that records an answer. The app may ignore the outcome.

    >>> Recorded.QUEUED == "queued"
    True
    """

    QUEUED = "queued"
    """A report was charged and queued."""

    COUNTED = "counted"
    """The number or day of use was counted. The total is reported when the window has ended."""

    ALREADY_RECORDED = "already_recorded"
    """The metric already has a report for this window. This answer was ignored."""

    OUT_OF_BUDGET = "out_of_budget"
    """A report would have exceeded a ceiling of the budget. Nothing was queued."""

    NOT_ASKED = "not_asked"
    """This device was not selected to answer this metric in this window. The selection is made when
    the window begins."""

    STOPPED = "stopped"
    """The collector has stopped this metric for all devices."""

    NO_CONSENT = "no_consent"
    """The user has not agreed, or has opted out. Nothing was recorded."""

    SUPPRESSED = "suppressed"
    """The environment or the machine suppresses telemetry. Nothing was recorded."""

    EXPIRED = "expired"
    """The metric has expired: the window begins after the metric's last day."""

    UNKNOWN = "unknown"
    """The registry defines no metric with this name, or the metric needs another method. Nothing
    was recorded. A ``strict`` `Telemetry` raises an error instead."""

    WAITING = "waiting"
    """The ledger did not respond in time. The perturbed answer waits in memory, and is recorded as
    soon as the ledger responds, unless the process ends first."""

    BUSY = "busy"
    """The ledger did not respond in time, and the answer could not wait in memory. Either too many
    jobs already wait, or the device's secret must be read first. A count may have been increased
    anyway. It is safe to record an answer again later in the window."""

    UNAVAILABLE = "unavailable"
    """The ledger cannot be used. ``Telemetry.problem`` contains the reason and advice."""

    CLOSED = "closed"
    """This ``Telemetry`` is closed."""


class ReportOutcome(StrEnum):
    """The outcome of a sent report. For a refused report, a `Refusal` is stored instead."""

    UNANSWERED = "unanswered"
    """The collector has not responded or could not be reached. The report is sent again."""

    ACCEPTED = "accepted"
    """The collector has counted the report."""

    REJECTED = "rejected"
    """The collector has rejected the report's whole upload."""


class FlushOutcome(StrEnum):
    """The outcome of a flush.

    >>> FlushOutcome.OFFLINE == "offline"
    True
    """

    SENT = "sent"
    """The collector has counted all reports that waited, except reports that wait for their window
    to end."""

    NOTHING_WAITING = "nothing_waiting"
    """No report waited, except reports that wait for their window to end."""

    NOT_DUE = "not_due"
    """The remaining reports are due later. Either the collector requested a delay, or two uploads
    must not be sent together, or a provided function may still return the answer."""

    OFFLINE = "offline"
    """The collector did not respond. The reports are sent again later. ``Telemetry.problem`` says
    why."""

    REFUSED = "refused"
    """A server responded, but did not accept everything. ``Telemetry.problem`` contains the reason,
    and ``Telemetry.dropped()`` counts the permanently refused reports."""

    TIMED_OUT = "timed_out"
    """The timeout was reached first. Sending continues in the background."""

    UNAVAILABLE = "unavailable"
    """The ledger cannot be used, or no thread can be started."""

    NO_CONSENT = "no_consent"
    """Reports wait, but the user has not agreed to send them."""

    SUPPRESSED = "suppressed"
    """The environment or the machine suppresses telemetry. Nothing was sent."""

    CLOSED = "closed"
    """This ``Telemetry`` is closed."""


class Flushed(NamedTuple):
    """The result of a flush, which is true if no report is left to send.

    >>> bool(Flushed(FlushOutcome.SENT))
    True

    Attributes:
        outcome: how the flush ended.
        due_s: the Unix time of the next attempt; None if no report waits for an attempt.
    """

    outcome: FlushOutcome
    due_s: float | None = None

    def __bool__(self) -> bool:
        """Whether no report is left to send, except reports that wait for their window to end."""
        return self.outcome in (FlushOutcome.SENT, FlushOutcome.NOTHING_WAITING)


class LedgerError(HearsayError):
    """The ledger cannot be used. The message contains the reason and advice, but no answer."""

    recorded: ClassVar[Recorded] = Recorded.UNAVAILABLE
    """The outcome of a recording call that fails with this error."""


class ClockError(LedgerError):
    """The device's clock is wrong."""


class LedgerBusyError(LedgerError):
    """Another process is using the ledger, or the ledger did not respond in time."""

    recorded: ClassVar[Recorded] = Recorded.BUSY


class HistoryEntry(NamedTuple):
    """A report that was sent from the device.

    >>> print(HistoryEntry("dark_mode", "9f0a6b21c3d4", "2026-07-01", 1, "accepted", "true"))
    2026-07-01 dark_mode: true (accepted)

    Attributes:
        metric: the metric's name.
        edition: 12 hex digits that identify the meaning of the report.
        window: the report's window.
        symbol: the index of the perturbed answer that was sent, counted from 0.
        outcome: a `ReportOutcome`, or the code of the report's latest
            `client_sdk.protocol.Refusal`.
        label: the perturbed answer, in words.

    """

    metric: str
    edition: str
    window: str
    symbol: int
    outcome: str
    label: str = ""

    def __str__(self) -> str:
        """Return a human-readable line, such as ``2026-07-01 dark_mode: true (accepted)``."""
        return f"{self.window} {self.metric}: {self.label} ({self.outcome})"


class Waits(StrEnum):
    """The reason why a report waits."""

    FOR_ITS_WINDOW = "leaves when its window has ended"
    FOR_ITS_TURN = "not sent yet"
    FOR_AN_ANSWER = "the collector has not answered"
    AFTER_REFUSAL = "refused for now; will be sent again separately"


class PendingReport(NamedTuple):
    """A report that waits in the ledger.

    Attributes:
        metric: the metric's name.
        edition: 12 hex digits that identify the meaning of the report.
        window: the report's window.
        symbol: the index of the perturbed answer, counted from 0.
        why: why the report waits.
        next_s: the Unix time of the next attempt; None if the next run of the app sends the report.
        until_s: the Unix time after which no collector accepts the report.
        label: the perturbed answer, in words.
    """

    metric: str
    edition: str
    window: str
    symbol: int
    why: Waits
    next_s: float | None
    until_s: float
    label: str = ""


class LatestProblem(NamedTuple):
    """The latest problem with an upload or the clock, in any of the app's processes.

    Attributes:
        sentence: the problem and its solution.
        at_s: the Unix time of the problem, or up to an hour earlier, because the ledger stores its
            time only once an hour.
    """

    sentence: str
    at_s: int


class BudgetStatus(NamedTuple):
    """The spent and remaining privacy loss (epsilon).

    Spent amounts are rounded up; remaining amounts and ceilings are rounded down.

    >>> telemetry.budget().windows_left is None
    False

    Attributes:
        window: the current budget window.
        window_spent: the cost of all reports made within this window.
        window_left: the amount that may still be spent within this window.
        window_ceiling: the maximum cost per window.
        lifetime_spent: the cost of all reports ever made on this device.
        lifetime_left: the amount that this device may still spend.
        lifetime_ceiling: the maximum cost over the device's lifetime.
        month: the current calendar month (UTC).
        month_spent: the cost of all reports made within this month.
        month_ceiling: the maximum cost per month; None if there is no maximum.
        windows_left: how many more windows the lifetime ceiling can pay for if the device answers
            every metric; None if no metric costs anything.
        ends: the first window in which the lifetime ceiling does not pay for every metric; None if
            no metric costs anything, or if this window lies after the last valid date.
    """

    window: str
    window_spent: float
    window_left: float
    window_ceiling: float
    lifetime_spent: float
    lifetime_left: float
    lifetime_ceiling: float
    month: str
    month_spent: float
    month_ceiling: float | None
    windows_left: int | None
    ends: str | None


WARN_AT = (0.8, 0.95)
"""The default fractions of the lifetime ceiling at which the app's callback is called. At 0.8,
there is time left for a release with fewer metrics. At 0.95, the device will soon stop
reporting."""

OnBudget = Callable[[float, BudgetStatus], object]
"""A callback that gets the reached fraction of the lifetime budget, and the budget's status."""


def warn(message: str, *arguments: object) -> None:
    """Log a warning if a handler is configured. Suppress all errors of the app's logging.

    Without a handler, Python would print the warning on standard error, where users would see it.
    """
    with contextlib.suppress(Exception):
        if (logger := logging.getLogger("client_sdk")).hasHandlers():
            logger.warning(message, *arguments)


class Suppression(Enum):
    """The value of the user's consent while telemetry is suppressed.

    While telemetry is suppressed, for example by an environment variable, nothing is recorded,
    stored, sent or deleted.
    """

    SUPPRESSED = "suppressed"

    def __bool__(self) -> bool:
        return False


SUPPRESSED: Final = Suppression.SUPPRESSED

Consent = bool | frozenset[str] | Suppression
"""The user's consent: True covers every metric, False covers none. A set of purposes is never
empty."""


class Rule(StrEnum):
    """The rules of `client_sdk.consent.decide`, in order.

    The first rule that applies determines the decision.
    """

    DO_NOT_TRACK = "do_not_track"
    """``DO_NOT_TRACK`` is set. Telemetry is suppressed."""

    CI = "ci"
    """A variable of a continuous integration service is set. Telemetry is suppressed."""

    MACHINE = "machine"
    """A file on this machine suppresses telemetry for the whole machine."""

    VARIABLE = "variable"
    """The app's own variable is set. The value 1 means consent to all metrics; any other value
    suppresses telemetry."""

    CHANGED = "changed"
    """Telemetry is suppressed: a ceiling or the collector's host changed after the user agreed."""

    CHOICE = "choice"
    """The user's stored choice applies."""

    UNDECIDED = "undecided"
    """The user has not decided yet. Nothing is reported."""


class Decision(NamedTuple):
    """A decision about whether an app may report.

    `client_sdk.Telemetry` takes a decision as ``consent``.

    Attributes:
        consent: what the user has agreed to, or `SUPPRESSED`.
        rule: the rule that led to the decision.
        by: the variable or file that the rule found, or the day of the user's choice; empty if
            undecided.
        withheld: the names of the metrics that the user has not agreed to. Nothing is recorded for
            these metrics. Waiting reports are dropped, unless the metric is ``undecided``.
        undecided: the names of the metrics that `client_sdk.consent.ask` would ask about.
    """

    consent: Consent
    rule: Rule
    by: str = ""
    withheld: frozenset[str] = frozenset()
    undecided: tuple[str, ...] = ()

    @property
    def declined(self) -> frozenset[str]:
        """The metrics that the user has refused while agreeing to other metrics."""
        return self.withheld.difference(self.undecided)
