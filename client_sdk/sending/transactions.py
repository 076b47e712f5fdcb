"""Finds an upload, sends it once, and applies the outcome to the ledger.

The uploader's thread and the helper process use these functions. Each function that gets a
connection runs within its own transaction.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from client_sdk.ledger import device, outbox, queue, registries, retry_times
from client_sdk.ledger.backoff import Uniform
from client_sdk.ledger.retry_times import Retry
from client_sdk.protocol.wire.failure import Failure
from client_sdk.results import ClockError, warn
from client_sdk.sending.responses import Acknowledged, AttemptOutcome, Rejected, Reply, Transient, explain, judge
from client_sdk.sending.transport import Transport

if TYPE_CHECKING:
    import sqlite3

    from client_sdk.answers.schedule import Schedule  # a helper has no schedule


class Departed(Enum):
    """Whether an attempt has sent an upload, and if not, why."""

    NOTHING = "there was nothing to send"
    WITHHELD = "the user no longer agrees; the next attempt drops the upload"
    UPLOAD = "an upload was sent, whether or not the collector answered"


class Look(NamedTuple):
    """The result of an attempt: what was sent, and what waits in the ledger."""

    pending: list[Retry]
    keeps_news: bool = False  # new reports wait, because an old upload is sent first
    due_in_s: float | None = None  # seconds until the calendar makes work due; infinite if the clock is wrong
    leaving: queue.Leaving | None = None
    sent: Departed = Departed.NOTHING
    has_dropped: bool = False  # the collector has refused a report permanently


Found = tuple[outbox.Parcel | None, Look]
"""The upload to send (None if there is nothing to send), and the state of the ledger."""


def look_for_news(
    connection: sqlite3.Connection,
    now_s: float,
    schedule: Schedule,
    *,
    hurried: bool,
) -> Found:
    """Do the due work, and return a new upload of waiting reports, if any may be sent now."""
    due_in_s = None
    schedule.withdraw(connection)
    if schedule.agreement.consent:
        try:
            schedule.catch_up(connection, now_s)
            next_s = schedule.next_s(connection, now_s)
            due_in_s = None if next_s is None else next_s - now_s
            device.note_problem(connection, device.CLOCK, None)
        except ClockError as error:  # reports that were queued earlier are still sent
            due_in_s = math.inf
            device.note_problem(connection, device.CLOCK, str(error))
    parcel = outbox.new_parcel(connection, now_s, schedule.agreement.groups, hurried=hurried)
    keeps_news = parcel is None and bool(queue.due(connection, now_s, hurried=hurried))
    pending, leaving = retry_times.pending(connection), queue.next_leaving(connection, now_s)
    return parcel, Look(pending, keeps_news, due_in_s, leaving)


def look_for_retry(connection: sqlite3.Connection, now_s: float, schedule: Schedule, retry: Retry | None) -> Found:
    """Return the upload to send again.

    Returns no upload if another process has already settled or sent it.
    """
    schedule.withdraw(connection)
    parcel = None if retry is None else outbox.parcel_to_resend(connection, retry, now_s)
    return parcel, Look(retry_times.pending(connection))


def attempt(  # noqa: PLR0913 everything that an attempt uses
    run: Callable[[Callable[[sqlite3.Connection], Any]], Any],
    look: Callable[[sqlite3.Connection], Found],
    transport: Transport,
    clock: Callable[[], float],
    uniform: Uniform,
    *,
    covers: Callable[[str], bool] = lambda _: True,
    before: Callable[[], object] = lambda: None,
    note: Callable[[str, Reply | Failure | None, AttemptOutcome, str | None], object] = lambda *_: None,
) -> Look:
    """Find an upload, send it once if the user still agrees, and apply the outcome to the ledger.

    ``run`` runs a function in a transaction, and ``look`` finds the upload. ``before`` is called
    after ``look``, and before the request. ``note`` is called before the outcome is applied. The
    arguments of ``note`` are the upload's id, the response, the outcome, and a sentence for
    developers about the problem. The sentence is None if there was no problem.
    """
    parcel, found = run(look)
    before()
    if parcel is None:
        return found  # type: ignore[no-any-return] # unchanged from the transaction
    if not all(covers(report.metric) for report in parcel.reports):
        return Look(found.pending, sent=Departed.WITHHELD)
    reply = _post(transport, parcel.body)
    outcome = judge(reply, len(parcel.reports), clock())
    problem = explain(reply, outcome)
    note(parcel.id, reply, outcome, problem)
    settle = partial(carry_out, now_s=clock(), outcome=outcome, parcel=parcel, uniform=uniform, problem=problem)
    pending, has_dropped = run(settle)
    return Look(pending, sent=Departed.UPLOAD, has_dropped=has_dropped)


def _post(transport: Transport, body: bytes) -> Reply | Failure | None:
    try:
        return transport.post(body)
    except Exception as error:  # noqa: BLE001 an error of the app's transport must not end the thread
        warn("the transport failed: %s", type(error).__name__)
        return None


def carry_out(  # noqa: PLR0913 everything that an attempt uses
    connection: sqlite3.Connection,
    now_s: float,
    outcome: AttemptOutcome,
    parcel: outbox.Parcel,
    uniform: Uniform,
    *,
    problem: str | None,
) -> tuple[list[Retry], bool]:
    """Apply the outcome of an attempt to the ledger.

    Returns the unsettled uploads, and whether any report was dropped.
    """
    device.note_problem(connection, device.UPLOAD, problem)
    has_dropped = isinstance(outcome, Rejected)
    match outcome:
        case Transient(retry_after_s):
            retry_times.fail(connection, parcel.id, now_s, retry_after_s, uniform)
        case Rejected(status):
            warn("the collector rejected an upload of %d reports with status %d", len(parcel.reports), status)
            outbox.reject(connection, parcel.id)
        case Acknowledged(verdict, stopped):
            for code in {refusal for _, refusal in verdict.refused}:
                warn("the collector refused a report: %s", code.sentence)
            has_dropped = outbox.settle(connection, parcel.id, verdict, now_s, uniform)
            registries.learn_stops(connection, stopped)
            outbox.drop_stopped(connection)
    return retry_times.pending(connection), has_dropped
