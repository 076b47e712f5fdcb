"""The types that the SDK and its host exchange: decisions, results, errors and warnings."""

import contextlib
import logging
from collections.abc import Callable
from enum import Enum, StrEnum
from typing import ClassVar, Final, NamedTuple

from client_sdk.protocol.errors import HearsayError
from client_sdk.protocol.wire.verdict import Refusal


class Recorded(StrEnum):
    """The outcome of an answer. The host application may ignore it.

    >>> Recorded.QUEUED == "queued"
    True
    """

    QUEUED = "queued"
    """A report was charged and queued."""

    COUNTED = "counted"
    """The count was added; it is reported when the window has ended."""

    ALREADY_RECORDED = "already_recorded"
    """This window already has its report, and nothing changed."""

    OUT_OF_BUDGET = "out_of_budget"
    """The report would have exceeded a ceiling, and was not queued."""

    NOT_ASKED = "not_asked"
    """This device does not answer this question in this window, as drawn when the window began."""

    STOPPED = "stopped"
    """The collector has stopped this question for all devices. It is no longer asked."""

    NO_CONSENT = "no_consent"
    """The user has not agreed, or has opted out. Nothing was recorded."""

    SUPPRESSED = "suppressed"
    """The environment or the machine suppresses telemetry. Nothing was recorded."""

    EXPIRED = "expired"
    """The window begins after the metric's last day, and the question is no longer asked."""

    UNKNOWN = "unknown"
    """The registry does not define a question with this name that takes such a call. Nothing was
    recorded. A ``strict`` `Telemetry` raises instead."""

    WAITING = "waiting"
    """The ledger did not answer in time, and the perturbed answer waits in memory for it. Nothing
    needs to be done: it is recorded as soon as the ledger answers, unless the process ends before.
    """

    BUSY = "busy"
    """The ledger did not answer in time, and too many jobs already wait for it, or the answer needs
    the device's secret first. A count may have been added anyway. Recording an answer again later
    in the window does no harm."""

    UNAVAILABLE = "unavailable"
    """The ledger cannot be used; ``Telemetry.problem`` says why, and what to do."""

    CLOSED = "closed"
    """This ``Telemetry`` is closed."""


class ReportOutcome(StrEnum):
    """The outcome of a report that was sent at least once, unless the collector refused it."""

    UNANSWERED = "unanswered"
    """The collector has not answered, or was not reached; the report is sent again."""

    ACCEPTED = "accepted"
    """The collector has counted it."""

    REJECTED = "rejected"
    """The collector has rejected the report's whole upload."""


_OUTCOMES: dict[str, ReportOutcome | Refusal] = {outcome.value: outcome for outcome in (*ReportOutcome, *Refusal)}


def outcome_named(text: str) -> str:
    """Return the outcome in a ledger; a word of a later version is returned unchanged."""
    return _OUTCOMES.get(text, text)


class FlushOutcome(StrEnum):
    """The end of a flush.

    >>> FlushOutcome.OFFLINE == "offline"
    True
    """

    SENT = "sent"
    """The collector has counted everything that waited."""

    NOTHING_WAITING = "nothing_waiting"
    """Nothing waited, except for its window to end."""

    NOT_DUE = "not_due"
    """The remaining reports are due later: the collector asked for a pause, or an upload must be
    kept apart from another, or the app may still provide the answer."""

    OFFLINE = "offline"
    """The collector did not answer; the rest is sent again later. ``problem`` says more."""

    REFUSED = "refused"
    """The collector's address answered, but did not accept everything. ``problem`` says more;
    ``dropped()`` counts permanently refused reports."""

    TIMED_OUT = "timed_out"
    """The timeout was reached first; sending continues in the background."""

    UNAVAILABLE = "unavailable"
    """The ledger cannot be used, or no thread can be started."""

    NO_CONSENT = "no_consent"
    """Something waits, but the user does not agree to send it."""

    SUPPRESSED = "suppressed"
    """The environment or the machine suppresses telemetry. Nothing was sent."""

    CLOSED = "closed"
    """This ``Telemetry`` is closed."""


class Flushed(NamedTuple):
    """The result of a flush: true if nothing is left to deliver, except after its window ends.

    >>> bool(Flushed(FlushOutcome.SENT))
    True

    Attributes:
        outcome: the end of the flush.
        due_s: the Unix seconds of the next attempt, if something waits for its time; otherwise
            None.

    """

    outcome: FlushOutcome
    due_s: float | None = None

    def __bool__(self) -> bool:
        """Whether nothing is left to deliver."""
        return self.outcome in (FlushOutcome.SENT, FlushOutcome.NOTHING_WAITING)


class LedgerError(HearsayError):
    """The ledger cannot be used. The message says why and what to do, and contains no answer."""

    recorded: ClassVar[Recorded] = Recorded.UNAVAILABLE
    """The outcome of an answer that is recorded when this happens."""


class ClockError(LedgerError):
    """The device's clock is wrong."""


class LedgerBusyError(LedgerError):
    """The ledger is in use by another process, or did not answer in time."""

    recorded: ClassVar[Recorded] = Recorded.BUSY


class HistoryEntry(NamedTuple):
    """One report that has left the device.

    >>> print(HistoryEntry("dark_mode", "9f0a6b21c3d4", "2026-07-01", 1, "accepted", "true"))
    2026-07-01 dark_mode: true (accepted)

    Attributes:
        metric: the metric's name.
        edition: 12 hex digits that identify the meaning of the report.
        window: the window to which it belongs.
        symbol: the perturbed answer that was sent, from 0.
        outcome: a `ReportOutcome`, or the code of the report's latest
            `client_sdk.protocol.Refusal`.
        label: the sent value, in words: drawn at random around the user's answer.

    """

    metric: str
    edition: str
    window: str
    symbol: int
    outcome: str
    label: str = ""

    def __str__(self) -> str:
        """Return a line for people, such as ``2026-07-01 dark_mode: true (accepted)``."""
        return f"{self.window} {self.metric}: {self.label} ({self.outcome})"


class Waits(StrEnum):
    """Why a report waits."""

    FOR_ITS_WINDOW = "leaves when its window has ended"
    FOR_ITS_TURN = "not sent yet"
    FOR_AN_ANSWER = "the collector has not answered"
    AFTER_REFUSAL = "refused for now; will be sent again separately"


class PendingReport(NamedTuple):
    """One report that waits in the ledger.

    Attributes:
        metric: the metric's name.
        edition: 12 hex digits that identify the meaning of the report.
        window: the window to which it belongs.
        symbol: the perturbed answer, from 0.
        why: why it waits.
        next_s: the Unix seconds of its next attempt; None if it leaves as soon as the app runs.
        until_s: the Unix seconds after which no collector takes it.
        label: the perturbed answer in words: drawn at random around the user's answer.

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
    """The problem of the latest upload or of the clock, whichever process met it.

    Attributes:
        sentence: the problem and its solution.
        at_s: the time that the ledger had noted, at most an hour before, in Unix seconds.

    """

    sentence: str
    at_s: int


class BudgetStatus(NamedTuple):
    """Privacy loss (epsilon) spent and left.

    Spent amounts are rounded up; remaining amounts and ceilings are rounded down.

    >>> telemetry.budget().windows_left is None
    False

    Attributes:
        window: the present period of the budget.
        window_spent: the cost of all reports made within that period.
        window_left: the amount that may still be spent within it.
        window_ceiling: the maximum that may be spent within it.
        lifetime_spent: the cost of all reports ever made on this device.
        lifetime_left: the amount that this device may still spend.
        lifetime_ceiling: the maximum that this device may ever spend.
        month: the present calendar month (UTC).
        month_spent: the cost of all reports made within that month.
        month_ceiling: the maximum that may be spent within it; None if there is no such ceiling.
        windows_left: for how many more windows the lifetime ceiling lasts if every question is
            answered in each; None if no question costs anything.
        ends: the earliest window in which the lifetime ceiling no longer allows every question;
            None if no question costs anything, or that window is beyond the last date.

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
"""Fractions of the lifetime ceiling: in time for a release that asks less, and just before the
device falls silent."""

OnBudget = Callable[[float, BudgetStatus], object]
"""Takes the reached fraction of the lifetime budget, and the spent and remaining amounts."""


def warn(message: str, *arguments: object) -> None:
    """Log a warning, even if a filter or handler of the host raises; without a handler it is lost.

    Without this, Python would write it to standard error, which the users of a command read.
    """
    with contextlib.suppress(Exception):
        if (logger := logging.getLogger("client_sdk")).hasHandlers():
            logger.warning(message, *arguments)


class Suppression(Enum):
    """Neither yes nor no: while it lasts, nothing is recorded, stored, sent or deleted."""

    SUPPRESSED = "suppressed"

    def __bool__(self) -> bool:
        return False


SUPPRESSED: Final = Suppression.SUPPRESSED

Consent = bool | frozenset[str] | Suppression
"""True for everything, False for nothing; a set of purposes is never empty."""


class Rule(StrEnum):
    """The rule that decides: the first one that applies, as in `client_sdk.consent.decide`."""

    DO_NOT_TRACK = "do_not_track"
    """``DO_NOT_TRACK`` is set: suppressed."""

    CI = "ci"
    """A variable of a continuous integration service is set: suppressed."""

    MACHINE = "machine"
    """A file of the system turns telemetry off for the whole machine: suppressed."""

    VARIABLE = "variable"
    """The app's own variable: 1 agrees to everything, anything else suppresses."""

    CHANGED = "changed"
    """The user agreed, and a ceiling or the collector's host has changed since: suppressed."""

    CHOICE = "choice"
    """The user's stored choice."""

    UNDECIDED = "undecided"
    """There is no decision: off."""


class Decision(NamedTuple):
    """Whether an app may report, and why. Give it to a `client_sdk.Telemetry` as ``consent``.

    Attributes:
        consent: what the user has agreed to, or `SUPPRESSED`.
        rule: the rule that decided.
        by: the variable or file that decided; for a choice, its day; empty if nothing did.
        withheld: the questions, by name, that the user has not agreed to. Nothing is recorded for
            them; waiting reports of those that are not ``undecided`` are dropped.
        undecided: the questions, by name, that `client_sdk.consent.ask` would ask about.

    """

    consent: Consent
    rule: Rule
    by: str = ""
    withheld: frozenset[str] = frozenset()
    undecided: tuple[str, ...] = ()

    @property
    def declined(self) -> frozenset[str]:
        """The questions that the user has refused while agreeing to others."""
        return self.withheld.difference(self.undecided)
