"""What the SDK tells its host application: results, errors and warnings."""

from __future__ import annotations

import contextlib
import logging
from dataclasses import dataclass
from enum import StrEnum

from client_sdk.protocol.errors import HearsayError
from client_sdk.protocol.wire.refusal import Refusal


class Recorded(StrEnum):
    """What became of an answer. The host application may ignore it."""

    QUEUED = "queued"
    """A report was charged and queued."""

    COUNTED = "counted"
    """The count was added; it is reported when the window has ended."""

    ALREADY_RECORDED = "already_recorded"
    """This window has its report already, and nothing changed."""

    OUT_OF_BUDGET = "out_of_budget"
    """The report would have exceeded a ceiling, and was not queued."""

    NOT_ASKED = "not_asked"
    """This device does not answer this question in this window, as was drawn when the window
    began."""

    NO_CONSENT = "no_consent"
    """The user has not agreed, or has opted out. Nothing was recorded."""

    EXPIRED = "expired"
    """The metric's last day has passed, and the question is no longer asked."""

    BUSY = "busy"
    """The ledger did not answer in time. The report may have been queued anyway, because a
    commit that was under way ends by itself. Recording again later in the window does no harm."""

    UNAVAILABLE = "unavailable"
    """The ledger cannot be used; ``Telemetry.problem`` says why, and what to do."""

    CLOSED = "closed"
    """This ``Telemetry`` is closed."""


class ReportOutcome(StrEnum):
    """What became of a report that has left the device, unless the collector refused it."""

    SENT = "sent"
    """The collector has not answered yet."""

    ACCEPTED = "accepted"
    """The collector has counted it."""

    REJECTED = "rejected"
    """The collector has rejected the report's whole upload."""


_OUTCOMES: dict[str, ReportOutcome | Refusal] = {
    **{outcome.value: outcome for outcome in (*ReportOutcome, *Refusal)},
    "no answer yet": ReportOutcome.SENT,  # the word in ledgers of earlier versions
}


def outcome_named(text: str) -> str:
    """Return the outcome that a ledger names; a word of a later version is returned unchanged."""
    return _OUTCOMES.get(text, text)


class LedgerError(HearsayError):
    """The ledger cannot be used. The message says why and what to do, and holds no answer."""


class ClockError(LedgerError):
    """The device's clock is wrong."""


class LedgerBusyError(LedgerError):
    """The ledger is in use by somebody else, or did not answer in time."""


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One report that has left the device.

    Attributes:
        metric: the metric's name.
        edition: 12 hex digits that say what the report means.
        window: the window to which it belongs.
        symbol: the perturbed answer that was sent, from 0.
        outcome: a `ReportOutcome`, or the code of the report's latest
            `client_sdk.protocol.Refusal`.
        label: what was sent, in words: drawn at random around the user's answer.

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
    FOR_AN_ANSWER = "sent, but the collector has not answered"
    AFTER_REFUSAL = "refused for now; is sent again alone"


@dataclass(frozen=True, slots=True)
class PendingReport:
    """One report that waits in the ledger.

    Attributes:
        metric: the metric's name.
        edition: 12 hex digits that say what the report means.
        window: the window to which it belongs.
        symbol: the perturbed answer, from 0.
        why: why it waits.
        next_s: the Unix seconds of its next attempt; None if it leaves as soon as the app sends.
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


@dataclass(frozen=True, slots=True)
class LatestProblem:
    """What went wrong at the latest upload or with the clock, whichever process met it.

    Attributes:
        sentence: what was wrong and what to do.
        at_s: when it was met, in Unix seconds.

    """

    sentence: str
    at_s: int


@dataclass(frozen=True, slots=True)
class BudgetStatus:
    """Privacy loss (epsilon) spent and left.

    What is spent is rounded up; what is left and the ceilings are rounded down.


    Attributes:
        window: the present period of the budget.
        window_spent: what all reports made within that period cost.
        window_left: what may still be spent within it.
        window_ceiling: the most that may be spent within it.
        lifetime_spent: what all reports ever made on this device cost.
        lifetime_left: what this device may still spend.
        lifetime_ceiling: the most that this device may ever spend.
        month: the present calendar month (UTC).
        month_spent: what all reports made within that month cost.
        month_ceiling: the most that may be spent within it; None if there is no such ceiling.
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


def warn(message: str, *arguments: object) -> None:
    """Log a warning, even if a filter or handler of the host raises."""
    with contextlib.suppress(Exception):
        logging.getLogger("client_sdk").warning(message, *arguments)
