"""Prints sent and waiting reports and the spent budget, for ``hearsay-client show``.

The command shows the reported values, which are randomized, and never the true answers.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from functools import partial
from math import ceil
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, NamedTuple

from client_sdk.answers import participation
from client_sdk.labels import Labeler
from client_sdk.ledger import charges, erase, explanations, outbox, registries, status
from client_sdk.ledger import file as ledger_file
from client_sdk.ledger.charges import Periods
from client_sdk.ledger.queue import deadline
from client_sdk.ledger.status import present_s, read_status
from client_sdk.protocol.epsilon import as_float
from client_sdk.protocol.registry.registry import UNREACHED, Registry
from client_sdk.protocol.sentences import ENGLISH, Sentences
from client_sdk.protocol.statement import evidence
from client_sdk.protocol.window import Window
from client_sdk.protocol.wire.report import Report
from client_sdk.protocol.wire.verdict import MetricEdition, Refusal
from client_sdk.results import BudgetStatus, HistoryEntry, LatestProblem, PendingReport, Recorded, Waits

if TYPE_CHECKING:
    import sqlite3


DIGITS = 9
"""The number of decimals shown for a privacy loss. Losses are charged in billionths."""

SHOWN = 8
"""The maximum number of reports shown without ``--all``. The latest reports are shown."""

PLAIN = ("along", "against", "symbol", "texts")
"""The keys of sentences that contain technical terms. Plain output replaces these sentences."""

LOOK_EVERY_S = 1.0
"""The pause, in seconds, between two readings of the ledger if ``--follow`` is set."""


class LedgerView(NamedTuple):
    """The content of a ledger at one instant, prepared for display.

    Attributes:
        may_be_erased: whether reports may be missing because the history was erased.
        spent: the epsilon of all reports ever made, rounded up.
        budget: the amounts spent and left under each ceiling; None if no registry is stored.
        stopped: the name and the edition of each metric that the collector has stopped.
        evidence: a sentence about what one report reveals; empty if no report was sent.
    """

    history: list[HistoryEntry]
    may_be_erased: bool
    pending: list[PendingReport]
    waiting: int
    spent: float
    budget: BudgetStatus | None
    dropped: dict[str, int]
    stopped: list[MetricEdition]
    problem: LatestProblem | None
    say: Sentences
    evidence: str


def look(
    connection: sqlite3.Connection, now_s: float, language: str = ENGLISH, *, is_plain: bool = False
) -> LedgerView:
    """Read the ledger in one transaction, without blocking other processes."""
    connection.execute("BEGIN")
    try:
        (app,) = connection.execute("SELECT app FROM device").fetchone()
        labels = Labeler(registries.kept(connection), app=app)
        labels.read()
        say = labels.sentences(language)
        words = Sentences(dict(say.texts) | {f"reported.{key}": say(f"show.plain.{key}") for key in PLAIN})
        named = partial(labels.label, say=words if is_plain else say)
        waiting, left = named(pending(connection, now_s)), named(status.history(connection))
        return LedgerView(
            history=left,
            may_be_erased=erase.may_have_erased(connection),
            pending=waiting,
            waiting=len(waiting),
            spent=as_float(charges.lifetime_nanos(connection)),
            budget=_budget(connection, labels.latest, now_s),
            dropped=status.dropped(connection),
            stopped=registries.stopped(connection),
            problem=_problem(status.latest_problem(connection), say),
            say=say,
            evidence=_evidence(left, labels, say),
        )
    finally:
        connection.execute("COMMIT")


def _evidence(left: Sequence[HistoryEntry], labels: Labeler, say: Sentences) -> str:
    metrics = [labels.metric(entry) for entry in left]
    known = [metric for metric in metrics if metric is not None]
    if len(known) < len(metrics):
        return say("evidence.unknown")
    return evidence(known, say) if known else ""


def _problem(problem: LatestProblem | None, say: Sentences) -> LatestProblem | None:
    """Return ``problem``; if the problem is a refusal, translate it to the language of ``say``."""
    sentence = "" if problem is None else problem.sentence
    refusal = next((each for each in Refusal if sentence.endswith(each.sentence)), None)
    if problem is None or refusal is None:
        return problem
    return problem._replace(sentence=say.texts.get(f"problem.{refusal}") or say.code("outcome", refusal))


def _budget(connection: sqlite3.Connection, registry: Registry | None, now_s: float) -> BudgetStatus | None:
    if registry is None:
        return None
    periods = Periods.at(registry.budget, present_s(connection, now_s))
    return read_status(connection, registry.budget, periods, participation.window_nanos(registry, periods.day))


def as_text(view: LedgerView, folder: str) -> Iterator[str]:
    """Yield about twenty human-readable lines with the most important facts of the ledger."""
    say = view.say
    yield from _history(view, view.history[-SHOWN:])
    if len(view.history) > SHOWN:
        yield say("show.earlier", reports=len(view.history) - SHOWN)
    if _is_trial(view.budget):
        yield say("show.trial")
    elif view.budget is not None and view.budget.lifetime_ceiling > 0:
        part = Fraction(view.budget.lifetime_spent) / Fraction(view.budget.lifetime_ceiling)
        yield say("show.part", percent=say.number(Fraction(ceil(100 * part))))
    yield say("show.waiting", reports=view.waiting)
    not_asked = view.dropped.get(Recorded.NOT_ASKED, 0)
    if not_asked:
        yield say("show.not_asked", answers=not_asked)
    if lost := sum(view.dropped.values()) - not_asked:
        yield say("show.lost", reports=lost)
    if view.stopped:
        yield say("show.ended", metrics=", ".join(dict.fromkeys(say.code("title", name) for name, _ in view.stopped)))
    yield from _latest_problem(view)
    yield say("show.all", folder=folder)


def _is_trial(budget: BudgetStatus | None) -> bool:
    """Whether a budget belongs to a trial. A trial's ceilings are too high to be reached."""
    return budget is not None and budget.lifetime_ceiling >= UNREACHED


def _history(view: LedgerView, entries: Sequence[HistoryEntry]) -> Iterator[str]:
    say = view.say
    if not entries:
        yield say("show.erased" if view.may_be_erased else "history.nothing")
        return
    heads = tuple(say(f"history.{head}") for head in ("metric", "window", "reported", "outcome"))
    rows = [
        (say.code("title", each.metric), each.window, each.label, say.code("outcome", each.outcome)) for each in entries
    ]
    yield from _table([heads, *rows])
    yield ""
    yield f"{say('history.randomized')} {view.evidence}"


def _latest_problem(view: LedgerView) -> Iterator[str]:
    if view.problem is not None:
        yield view.say("show.problem", instant=_instant(view.problem.at_s), sentence=view.problem.sentence)


def everything_as_text(view: LedgerView) -> Iterator[str]:
    """Yield all content of the view as human-readable lines."""
    say = view.say
    yield from _history(view, view.history)
    yield say("show.spent", epsilon=_loss(view.spent, say))
    if _is_trial(view.budget):
        yield say("show.trial")
    elif view.budget is not None:
        yield from _ceilings(view.budget, say)
    yield say("show.waiting", reports=view.waiting)
    if view.pending:
        yield from pending_as_text(view)
    for reason, reports in view.dropped.items():
        yield say("show.dropped", reason=say.code("outcome", reason), reports=reports)
    for metric, edition in view.stopped:
        yield say("show.stopped", metric=say.code("title", metric), edition=edition)
    yield from _latest_problem(view)


def pending_as_text(view: LedgerView) -> Iterator[str]:
    """Yield human-readable lines about the waiting reports, each with its reason and deadline."""
    say = view.say
    rows = [
        (say.code("title", report.metric), report.window, report.label, _waits(report, say), _instant(report.until_s))
        for report in view.pending
    ]
    heads = ("history.metric", "history.window", "show.reports", "show.waits", "show.until")
    yield from _table([tuple(map(say, heads)), *rows]) if rows else (say("show.nothing_waits"),)


def _waits(report: PendingReport, say: Sentences) -> str:
    why = say(f"show.{report.why.name.lower()}")
    return why if report.next_s is None else say("show.at", why=why, instant=_instant(report.next_s))


def as_json(view: LedgerView) -> str:
    """Return all content of the view as a JSON object on one line."""
    whole = {name: part for name, part in view._asdict().items() if name not in ("say", "evidence")} | {
        "history": [entry._asdict() for entry in view.history],
        "pending": [report._asdict() for report in view.pending],
        "budget": None if view.budget is None else view.budget._asdict(),
        "problem": None if view.problem is None else view.problem._asdict(),
    }
    return json.dumps(whole)


def pending_as_json(view: LedgerView) -> str:
    """Return the waiting reports as a JSON array on one line."""
    return json.dumps([report._asdict() for report in view.pending])


def followed(read: Callable[[], list[str]], pause: Callable[[], None] = lambda: sleep(LOOK_EVERY_S)) -> Iterator[str]:
    """Read lines again and again, and yield the new ones.

    A line is new if the previous reading did not contain it.
    """
    before: list[str] = []
    while True:
        lines = read()
        yield from (line for line in lines if line not in before)
        before = lines
        pause()


def _ceilings(budget: BudgetStatus, say: Sentences) -> Iterator[str]:
    spent, most = _loss(budget.window_spent, say), say.number(Fraction(budget.window_ceiling), DIGITS)
    yield f"  {say('show.ceiling', period=budget.window, spent=spent, most=most)}"
    if budget.month_ceiling is not None:
        spent, most = _loss(budget.month_spent, say), say.number(Fraction(budget.month_ceiling), DIGITS)
        yield f"  {say('show.ceiling', period=budget.month, spent=spent, most=most)}"
    spent, most = _loss(budget.lifetime_spent, say), say.number(Fraction(budget.lifetime_ceiling), DIGITS)
    yield f"  {say('show.life', spent=spent, most=most)}"


def _loss(epsilon: float, say: Sentences) -> str:
    return say.number(Fraction(epsilon), DIGITS)


def _instant(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _table(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def pending(connection: sqlite3.Connection, now_s: float) -> list[PendingReport]:
    """Return every report that waits, sorted by window and metric."""
    reports = [*_never_sent(connection, now_s), *_under_way(connection)]
    return sorted(reports, key=lambda report: (report.window, report.metric))


def _never_sent(connection: sqlite3.Connection, now_s: float) -> Iterator[PendingReport]:
    rows = connection.execute("SELECT metric, edition, window, symbol, release, leaves FROM queue").fetchall()
    for *parts, release_s, leaves_s in rows:
        report, next_s = Report(*parts), max(release_s, leaves_s)
        is_held = release_s > now_s and release_s >= Window.parse(report.window).ends_at
        why = Waits.FOR_ITS_WINDOW if is_held else Waits.FOR_ITS_TURN
        yield _entry(report, why, next_s if next_s > now_s else None)


def _under_way(connection: sqlite3.Connection) -> Iterator[PendingReport]:
    rows = connection.execute(
        "SELECT body, due, refusals FROM uploads LEFT JOIN retries ON upload = id ORDER BY turn"
    ).fetchall()
    for body, due_s, refusals in rows:
        why = Waits.AFTER_REFUSAL if refusals else Waits.FOR_AN_ANSWER
        for report in outbox.reports_in(body):
            yield _entry(report, why, due_s)


def _entry(report: Report, why: Waits, next_s: float | None) -> PendingReport:
    return PendingReport(
        report.metric, report.edition, report.window, report.symbol, why, next_s, float(deadline(report))
    )


def open_copy(path: Path) -> sqlite3.Connection:
    """Copy a ledger into memory, and open the copy.

    ``path`` must be absolute. The ledger's file is not changed.
    """
    if not ledger_file.exists(path):
        is_of_node = any(path.parent.glob("state.[0-9]*"))  # typescript/src/file.ts uses these names
        raise explanations.of_node(path.parent) if is_of_node else explanations.missing(path)
    copy = ledger_file.connect(":memory:")
    try:
        with contextlib.closing(ledger_file.connect(f"{path.as_uri()}?mode=rw")) as connection:
            ledger_file.check(connection, path, None)
            connection.backup(copy)
    except BaseException:
        copy.close()
        raise
    return copy
