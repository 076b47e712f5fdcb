"""What the SDK says to its host application: results, errors and warnings."""

from __future__ import annotations

import contextlib
import logging
from dataclasses import dataclass
from enum import StrEnum

from client_sdk.protocol.errors import HearsayError
from client_sdk.protocol.wire.refusal import Refusal


class Recorded(StrEnum):
    """What became of an answer; the host application need not care."""

    QUEUED = "queued"
    """A report was made, charged and queued."""

    COUNTED = "counted"
    """It was added up; the report is made when the window has ended."""

    ALREADY_RECORDED = "already_recorded"
    """This window has its report already; nothing changed."""

    OUT_OF_BUDGET = "out_of_budget"
    """The report would have exceeded a ceiling, and was not made."""

    NOT_ASKED = "not_asked"
    """This device does not answer this question in this window; that was drawn when the window began."""

    NO_CONSENT = "no_consent"
    """The user has not agreed, or has opted out; nothing was made."""

    EXPIRED = "expired"
    """The metric's last day has passed; the question is no longer asked."""

    BUSY = "busy"
    """The ledger did not answer in time. The report may have been made all the same: a commit that was under way ends
    by itself. Recording again later in the window does no harm."""

    UNAVAILABLE = "unavailable"
    """The ledger cannot be used; ``Telemetry.problem`` says why and what to do."""

    CLOSED = "closed"
    """This ``Telemetry`` is closed."""


class ReportOutcome(StrEnum):
    """What became of a report that has left the device, beside the codes of refusals (`client_sdk.protocol.Refusal`)."""

    SENT = "sent"
    """There is no answer yet."""

    ACCEPTED = "accepted"
    """The collector has counted it."""

    REJECTED = "rejected"
    """The collector has rejected the whole upload that it was in."""


_OUTCOMES: dict[str, ReportOutcome | Refusal] = {
    **{outcome.value: outcome for outcome in (*ReportOutcome, *Refusal)},
    "no answer yet": ReportOutcome.SENT,  # so ledgers of earlier versions say
}


def outcome_named(text: str) -> str:
    """Return the outcome that a ledger holds; a later version's word as it is."""
    return _OUTCOMES.get(text, text)


class LedgerError(HearsayError):
    """The ledger cannot be read or written. The message says why and what to do; it never holds an answer."""


class ClockError(LedgerError):
    """The device's clock cannot be believed."""


class LedgerBusyError(LedgerError):
    """Somebody else holds the ledger at the moment."""


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One report that has left the device.

    Attributes:
        metric: the metric's name.
        edition: 12 hex digits: what the report means.
        window: the window that it speaks of.
        symbol: the perturbed answer that was sent, from 0.
        outcome: a `ReportOutcome`, or the latest `client_sdk.protocol.Refusal` of the report; each is its code as a text.

    """

    metric: str
    edition: str
    window: str
    symbol: int
    outcome: str


@dataclass(frozen=True, slots=True)
class BudgetStatus:
    """Privacy loss (epsilon) spent and left; what is spent is rounded up, what is left and the ceilings down.

    Attributes:
        window: the period that the first three speak of.
        window_spent: what all reports made within it cost together.
        window_left: what it still allows.
        window_ceiling: what it allows at most.
        lifetime_spent: what all reports ever made on this device cost together.
        lifetime_left: what this device may still spend.
        lifetime_ceiling: what it may ever spend.
        month: the calendar month (UTC).
        month_spent: what all reports made within it cost together.
        month_ceiling: what it allows at most, or none.
        windows_left: for how many more windows the lifetime ceiling lasts if every question is answered in each; none
            if no question costs anything.
        ends: the first window, at the earliest, in which the lifetime ceiling no longer allows every question; none
            if no question costs anything, or no calendar goes so far.

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
    """Log a warning, and outlive a filter or handler of the host that raises."""
    with contextlib.suppress(Exception):
        logging.getLogger("client_sdk").warning(message, *arguments)
