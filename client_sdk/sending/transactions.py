"""What the uploader does within transactions of the ledger: look for uploads, carry out outcomes.

Each function is one transaction, in the ledger thread.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from client_sdk.answers.schedule import Schedule
from client_sdk.ledger import outbox, problems, queue, retry_times, stops
from client_sdk.ledger.retry_times import Retry, Uniform
from client_sdk.results import ClockError, warn
from client_sdk.sending.responses import Acknowledged, AttemptOutcome, Rejected, Transient

if TYPE_CHECKING:
    import sqlite3


class Look(NamedTuple):
    """The state of the ledger at an attempt.

    Attributes:
        parcel: the upload to send; None if there is none.
        pending: the uploads under way.
        keeps_news: whether new reports wait because another upload takes their turn.
        due_in_s: the seconds until something is due by the calendar; None if nothing will be,
            infinite if the clock cannot be believed.
        leaving: the next random instant at which a report leaves; None without one.

    """

    parcel: outbox.Parcel | None
    pending: list[Retry]
    keeps_news: bool = False
    due_in_s: float | None = None
    leaving: queue.Leaving | None = None


def look_for_news(
    connection: sqlite3.Connection,
    now_s: float,
    schedule: Schedule,
    allowed: Callable[[], bool],
    *,
    hurried: bool,
) -> Look:
    """Do what is due by the calendar; return what there is to send for the first time.

    Args:
        connection: within a write transaction.
        now_s: Unix seconds.
        schedule: does what is due.
        allowed: returns whether the user still agrees; otherwise nothing is due.
        hurried: whether reports leave before their random instant.

    """
    due_in_s = None
    schedule.withdraw(connection)
    if allowed():
        try:
            schedule.catch_up(connection, now_s)
            next_s = schedule.next_s(connection, now_s)
            due_in_s = None if next_s is None else next_s - now_s
            problems.note_problem(connection, problems.CLOCK, None)
        except ClockError as error:  # reports queued before are still sent
            due_in_s = math.inf
            problems.note_problem(connection, problems.CLOCK, str(error))
    parcel = outbox.new_parcel(connection, now_s, schedule.agreement.groups, hurried=hurried)
    keeps_news = parcel is None and bool(queue.due(connection, now_s, hurried=hurried))
    return Look(parcel, retry_times.pending(connection), keeps_news, due_in_s, queue.next_leaving(connection, now_s))


def look_for_retry(connection: sqlite3.Connection, now_s: float, schedule: Schedule, retry: Retry | None) -> Look:
    """Return the upload to send again if it still waits."""
    schedule.withdraw(connection)
    parcel = None if retry is None else outbox.parcel_to_resend(connection, retry, now_s)
    return Look(parcel, retry_times.pending(connection))


def carry_out(  # noqa: PLR0913 the parts of an attempt
    connection: sqlite3.Connection,
    now_s: float,
    outcome: AttemptOutcome,
    parcel: outbox.Parcel,
    uniform: Uniform,
    *,
    problem: str | None,
) -> list[Retry]:
    """Carry out the outcome of an upload; return the uploads that are then under way."""
    problems.note_problem(connection, problems.UPLOAD, problem)
    match outcome:
        case Transient(retry_after_s):
            retry_times.fail(connection, parcel.id, now_s, retry_after_s, uniform)
        case Rejected(status):
            warn("the collector rejected an upload of %d reports with status %d", parcel.reports, status)
            outbox.reject(connection, parcel.id)
        case Acknowledged(verdict, stopped):
            for code in {refusal for _, refusal in verdict.refused}:
                warn("the collector refused a report: %s", code.sentence)
            outbox.settle(connection, parcel.id, verdict, now_s, uniform)
            stops.learn(connection, stopped)
            outbox.drop_stopped(connection)
    return retry_times.pending(connection)
