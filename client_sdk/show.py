"""What ``hearsay-client show`` says of a ledger: what left, what waits, and what is spent.

It says what was reported, which was drawn at random, and never what was answered.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from time import sleep
from typing import TYPE_CHECKING, NamedTuple

from client_sdk.answers import participation
from client_sdk.labels import Labels
from client_sdk.ledger import charges, erase, history, problems, registries, stops
from client_sdk.ledger.charges import Periods
from client_sdk.ledger.pending import pending
from client_sdk.ledger.status import read_status
from client_sdk.protocol.epsilon import as_float
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.wire.stopped import Question
from client_sdk.results import BudgetStatus, HistoryEntry, LatestProblem, PendingReport

if TYPE_CHECKING:
    import sqlite3

LOOK_EVERY_S = 1.0
"""How often a follower looks at the ledger: as often as a developer who waits would."""


class LedgerView(NamedTuple):
    """All that a ledger tells people, at one instant.

    Attributes:
        history: every report that has left the device.
        may_be_erased: whether the history may lack reports because it was erased.
        pending: every report that waits.
        waiting: how many reports wait.
        spent: the epsilon of all reports ever made, rounded up.
        budget: what is spent and left of the app's ceilings; None before its first answer.
        dropped: how many reports were dropped, by reason.
        stopped: the questions that the collector has stopped: metric and edition.
        problem: the latest problem; None if there is none.

    """

    history: list[HistoryEntry]
    may_be_erased: bool
    pending: list[PendingReport]
    waiting: int
    spent: float
    budget: BudgetStatus | None
    dropped: dict[str, int]
    stopped: list[Question]
    problem: LatestProblem | None


def look(connection: sqlite3.Connection, now_s: float) -> LedgerView:
    """Read the ledger in one transaction, which nobody else waits for."""
    connection.execute("BEGIN")
    try:
        labels = Labels(registries.kept(connection))
        labels.read()
        waiting = labels.label(pending(connection, now_s))
        return LedgerView(
            history=labels.label(history.entries(connection)),
            may_be_erased=erase.may_have_erased(connection),
            pending=waiting,
            waiting=len(waiting),
            spent=as_float(charges.lifetime_nanos(connection)),
            budget=_budget(connection, labels.latest, now_s),
            dropped=history.dropped(connection),
            stopped=stops.stopped(connection),
            problem=problems.latest_problem(connection),
        )
    finally:
        connection.execute("COMMIT")


def _budget(connection: sqlite3.Connection, registry: Registry | None, now_s: float) -> BudgetStatus | None:
    if registry is None:
        return None
    periods = Periods.at(registry.budget, charges.present_s(connection, now_s))
    return read_status(connection, registry.budget, periods, participation.window_nanos(registry, periods.day))


def as_text(view: LedgerView) -> Iterator[str]:
    """Yield everything as lines for people."""
    if view.history:
        rows = [(entry.metric, entry.window, entry.label, str(entry.outcome)) for entry in view.history]
        yield from _table([("metric", "window", "reported", "outcome"), *rows])
        yield ""
        yield "What was reported was drawn at random around your answer. Nobody can tell whether it is your answer."
    elif view.may_be_erased:
        yield "The list of what left this device is empty. What left before an erasure is not on it."
    else:
        yield "Nothing has left this device."
    yield f"Privacy loss spent so far: epsilon {view.spent:.9f}"
    if view.budget is not None:
        yield from _ceilings(view.budget)
    yield f"Waiting to be sent or answered: {view.waiting}"
    yield from pending_as_text(view)
    for reason, reports in view.dropped.items():
        yield f"Dropped ({reason}): {reports}"
    for metric, edition in view.stopped:
        yield f"Stopped by its collector, and asked no more: {metric} (edition {edition})"
    if view.problem is not None:
        yield f"Latest problem ({_instant(view.problem.at_s)}): {view.problem.sentence}"


def pending_as_text(view: LedgerView) -> Iterator[str]:
    """Yield what waits, why, and until when, as lines for people."""
    rows = [
        (
            report.metric,
            report.window,
            report.label,
            f"{report.why}{'' if report.next_s is None else f', at {_instant(report.next_s)}'}",
            f"until {_instant(report.until_s)}",
        )
        for report in view.pending
    ]
    if rows:
        yield from _table([("metric", "window", "reports", "waits", "no longer than"), *rows])


def as_json(view: LedgerView) -> str:
    """Return everything as a JSON object on one line."""
    whole = view._asdict() | {
        "history": [entry._asdict() for entry in view.history],
        "pending": [report._asdict() for report in view.pending],
        "budget": None if view.budget is None else view.budget._asdict(),
        "problem": None if view.problem is None else view.problem._asdict(),
    }
    return json.dumps(whole)


def pending_as_json(view: LedgerView) -> str:
    """Return what waits as a JSON array on one line."""
    return json.dumps([report._asdict() for report in view.pending])


def followed(read: Callable[[], list[str]], pause: Callable[[], None] = lambda: sleep(LOOK_EVERY_S)) -> Iterator[str]:
    """Yield all lines, and from then on each line that was not there before; for ever."""
    before: list[str] = []
    while True:
        lines = read()
        yield from (line for line in lines if line not in before)
        before = lines
        pause()


def _ceilings(budget: BudgetStatus) -> Iterator[str]:
    yield f"  in {budget.window}: {budget.window_spent:.9f} of {budget.window_ceiling:g}"
    if budget.month_ceiling is not None:
        yield f"  in {budget.month}: {budget.month_spent:.9f} of {budget.month_ceiling:g}"
    yield f"  in this device's life: {budget.lifetime_spent:.9f} of {budget.lifetime_ceiling:g}"


def _instant(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _table(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
