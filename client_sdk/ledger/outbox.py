"""Creates, resends, settles and drops the uploads in the ledger's file.

A report first waits in the `queue`, and is then put into an upload. The upload's body is stored
before the first attempt. Every attempt sends the same bytes with the same id. The collector's
verdict *settles* the upload, which is then deleted. A second verdict has no effect.

The collector's response to an upload affects only this upload and its reports. A temporarily
refused report is sent again in an upload of its own. If the report shared a new upload with other
reports, the collector could learn that the earlier and the new upload are from the same device.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from os import urandom
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from client_sdk.host import forks
from client_sdk.ledger import queue, registries, retry_times
from client_sdk.ledger.backoff import Uniform
from client_sdk.ledger.queue import deadline
from client_sdk.ledger.retry_times import EXCHANGE_S, Retry
from client_sdk.protocol.wire.report import MAX_REPORTS, Report, Upload
from client_sdk.results import ReportOutcome

if TYPE_CHECKING:
    import sqlite3

    from client_sdk.protocol.wire.verdict import Verdict

MAX_UNDER_WAY = 512
"""The maximum number of unsettled uploads. This many uploads take about 100,000 bytes, and suffice
to resend each report of two full uploads separately. Every upload is settled or dropped eventually,
so only a bug can exceed the limit. At the limit, an upload is dropped. Delaying new uploads instead
would let the responses to other uploads affect the time at which an upload is sent."""

MAX_SENT_ALONE = 4
"""The maximum number of times that a temporarily refused report is sent again. The reports of a
daily window are accepted on four days, and are sent again about once on each of these days. A
collector that gets its new registry a day or two late still receives most reports."""

STARVED_S = 86_400
"""An upload that has been due for this time, in seconds, is sent before new uploads. Otherwise, a
program that runs for a second at a time and always has new reports would never resend the upload.
"""

MAX_LATE_ATTEMPTS = 40
"""The maximum number of attempts to deliver an upload after its windows have closed. With the
back-off, these attempts take most of a day. If the device's clock is wrong, it may be corrected
within this day."""

ALL_TOGETHER: Final[Mapping[str, str]] = MappingProxyType({})
"""The value of ``groups`` if no metric has purposes: any reports may share an upload."""

_NEXT_TURN = "(SELECT COALESCE(MAX(turn), 0) + 1 FROM uploads)"


class Parcel(NamedTuple):
    """An upload that is due: its random id, the bytes that every attempt sends, and its reports."""

    id: str
    body: bytes
    reports: tuple[Report, ...]


def new_parcel(
    connection: sqlite3.Connection, now_s: float, groups: Mapping[str, str] = ALL_TOGETHER, *, hurried: bool = True
) -> Parcel | None:
    """Make an upload of unsent reports; if ``hurried``, ignore their random sending times.

    The reports are chosen and ordered at random, so that their order reveals nothing. ``groups``
    maps metrics to their purposes. Only reports with equal purposes share an upload, so that
    withdrawing consent to one purpose does not delete reports of other purposes. Return None if no
    report is due, or if an earlier upload has been due for a day and must be sent instead.
    """
    _give_up(connection, now_s)
    waiting = queue.due(connection, now_s, hurried=hurried)
    if not waiting or any(retry.due_s <= now_s - STARVED_S for retry in retry_times.pending(connection)):
        return None
    return _pack(connection, waiting, groups, now_s)


def parcel_to_resend(connection: sqlite3.Connection, retry: Retry, now_s: float) -> Parcel | None:
    """Return an upload to send again; None if another process has just settled or sent it."""
    _give_up(connection, now_s)
    if not retry_times.claim(connection, retry, now_s):
        return None
    (body,) = connection.execute(
        f"UPDATE uploads SET turn = {_NEXT_TURN},"  # noqa: S608 a constant
        " late_attempts = CASE WHEN deadline <= :now THEN late_attempts + 1 ELSE 0 END"
        " WHERE id = :upload RETURNING body",
        {"upload": retry.upload, "now": now_s},
    ).fetchone()
    return Parcel(retry.upload, body, reports_in(body))


def settle(connection: sqlite3.Connection, upload_id: str, verdict: Verdict, now_s: float, uniform: Uniform) -> bool:
    """Apply a verdict: resend or drop each refused report; return whether a report was dropped.

    The collector decides whether a window is closed, because this device's clock may be wrong. The
    device's clock has one use: a temporarily refused report is dropped after the report's deadline.
    Otherwise, the report might be refused and sent again forever.
    """
    refused = dict(verdict.refused)
    before, has_dropped = retry_times.refusals(connection, upload_id), False
    for index, report in enumerate(_take(connection, upload_id)):
        refusal = refused.get(index)
        queue.note_outcome(connection, report, refusal or ReportOutcome.ACCEPTED)
        if refusal is None:
            continue
        is_late = refusal.retryable and deadline(report) <= now_s
        if refusal.retryable and not is_late and before < MAX_SENT_ALONE:
            _send_alone(connection, report, before, now_s, uniform)
        else:
            queue.count_dropped(connection, queue.TOO_LATE if is_late else refusal.value, 1)
            has_dropped = True
    return has_dropped


def reject(connection: sqlite3.Connection, upload_id: str) -> None:
    """Drop an upload that the collector will never accept."""
    for report in _take(connection, upload_id):
        queue.note_outcome(connection, report, ReportOutcome.REJECTED)
        queue.count_dropped(connection, queue.REJECTED, 1)


def withdraw(connection: sqlite3.Connection, is_covered: Callable[[str], bool]) -> None:
    """Delete each unsettled upload that contains a report not covered by the user's consent."""
    for upload_id, body in connection.execute("SELECT id, body FROM uploads").fetchall():
        if not all(is_covered(report.metric) for report in reports_in(body)):
            _take(connection, upload_id)


def drop_stopped(connection: sqlite3.Connection) -> None:
    """Drop and count the waiting reports of stopped metrics.

    An upload that also contains reports of other metrics is not changed, because the upload may
    have arrived, and every attempt must send the same bytes.
    """
    metrics = set(registries.stopped(connection))
    if not metrics:
        return
    dropped = connection.execute(
        "DELETE FROM queue WHERE (metric, edition) IN (SELECT metric, edition FROM editions WHERE stopped = 1)"
    ).rowcount
    for upload_id, body in connection.execute("SELECT id, body FROM uploads").fetchall():
        if metrics.issuperset((report.metric, report.edition) for report in reports_in(body)):
            dropped += len(_take(connection, upload_id))
    queue.count_dropped(connection, queue.STOPPED, dropped)


def reports_in(body: bytes) -> tuple[Report, ...]:
    """Return the reports of an upload that this device stored."""
    return tuple(Report(**report) for report in json.loads(body)["reports"])


def _pack(
    connection: sqlite3.Connection, waiting: list[tuple[int, Report]], groups: Mapping[str, str], now_s: float
) -> Parcel:
    with forks.importing():
        import secrets  # noqa: PLC0415 a program that only records need not wait for it

    secrets.SystemRandom().shuffle(waiting)
    group = min(groups.get(report.metric, "") for _, report in waiting)
    chosen = [(row, report) for row, report in waiting if groups.get(report.metric, "") == group][:MAX_REPORTS]
    parcel = _put_under_way(connection, tuple(report for _, report in chosen))
    retry_times.begin(connection, Retry(parcel.id, now_s + EXCHANGE_S, 0, now_s))
    connection.executemany("DELETE FROM queue WHERE id = ?", [(row,) for row, _ in chosen])
    for _, report in chosen:
        queue.note_outcome(connection, report, ReportOutcome.UNANSWERED)
    return parcel


def _send_alone(connection: sqlite3.Connection, report: Report, refusals: int, now_s: float, uniform: Uniform) -> None:
    """Put a temporarily refused report into its own upload, to be sent at a random instant."""
    share_s = (deadline(report) - now_s) / (MAX_SENT_ALONE - refusals)
    parcel = _put_under_way(connection, (report,))
    due_s = now_s + uniform(0.0, share_s)  # a random time, because the report is not urgent
    retry_times.begin(connection, Retry(parcel.id, due_s, due_s, None), refusals + 1)


def _put_under_way(connection: sqlite3.Connection, reports: tuple[Report, ...]) -> Parcel:
    """Store a new upload of these reports.

    If there are too many uploads, the uploads whose windows close first are dropped, and their
    reports are counted as dropped.
    """
    upload = Upload(urandom(16).hex(), reports)
    body = upload.encode()
    latest = max(map(deadline, reports))
    connection.execute(f"INSERT INTO uploads VALUES (?, ?, ?, {_NEXT_TURN}, 0)", (upload.id, body, latest))  # noqa: S608
    excess = "SELECT id FROM uploads WHERE id <> ? ORDER BY deadline DESC, turn DESC LIMIT -1 OFFSET ?"
    _drop(connection, queue.QUEUE_FULL, excess, (upload.id, MAX_UNDER_WAY - 1))
    return Parcel(upload.id, body, reports)


def _take(connection: sqlite3.Connection, upload_id: str) -> tuple[Report, ...]:
    """Remove an upload and return its reports; () if another process removed it first."""
    row = connection.execute("DELETE FROM uploads WHERE id = ? RETURNING body", (upload_id,)).fetchone()
    if row is None:
        return ()
    retry_times.end(connection, upload_id)
    return reports_in(row[0])


def _give_up(connection: sqlite3.Connection, now_s: float) -> None:
    """Drop uploads of closed windows that got no response to `MAX_LATE_ATTEMPTS` attempts."""
    hopeless = "SELECT id FROM uploads WHERE deadline <= ? AND late_attempts >= ?"
    _drop(connection, queue.UNANSWERED, hopeless, (now_s, MAX_LATE_ATTEMPTS))


def _drop(connection: sqlite3.Connection, reason: str, query: str, parameters: tuple[object, ...]) -> None:
    for (upload_id,) in connection.execute(query, parameters).fetchall():
        queue.count_dropped(connection, reason, len(_take(connection, upload_id)))
