"""One attempt to send: look for an upload, exchange it for a reply, carry out the outcome.

The uploader and the helper share the steps. Each function that takes a connection is one
transaction of the ledger.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from client_sdk.answers.schedule import Schedule
from client_sdk.ledger import outbox, problems, queue, retry_times, stops
from client_sdk.ledger.retry_times import Retry, Uniform
from client_sdk.protocol.wire.failure import Failure
from client_sdk.results import ClockError, warn
from client_sdk.sending.responses import Acknowledged, AttemptOutcome, Rejected, Reply, Transient, explain, judge
from client_sdk.sending.transport import Transport

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


def exchange(  # noqa: PLR0913 the parts of an attempt
    run: Callable[[Callable[[sqlite3.Connection], list[Retry]]], list[Retry]],
    transport: Transport,
    parcel: outbox.Parcel,
    clock: Callable[[], float],
    uniform: Uniform,
    *,
    note: Callable[[Reply | Failure | None, AttemptOutcome, str | None], object] = lambda *_: None,
) -> list[Retry]:
    """Send an upload once and carry out the outcome; return the uploads that are then under way.

    Args:
        run: does work within a transaction of its own.
        transport: the way to the collector.
        parcel: the upload.
        clock: returns Unix seconds.
        uniform: the source of jitter.
        note: told the reply, the outcome, and what a developer should know, before it is carried
            out.

    """
    reply = _post(transport, parcel.body)
    outcome = judge(reply, parcel.reports, clock())
    problem = explain(reply, outcome)
    note(reply, outcome, problem)
    return run(partial(carry_out, now_s=clock(), outcome=outcome, parcel=parcel, uniform=uniform, problem=problem))


def _post(transport: Transport, body: bytes) -> Reply | Failure | None:
    try:
        return transport.post(body)
    except Exception as error:  # noqa: BLE001 whoever sends must outlive any failure of a transport
        warn("the transport failed: %s", type(error).__name__)
        return None


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
