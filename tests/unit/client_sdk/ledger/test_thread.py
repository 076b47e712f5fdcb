"""The ledger thread: a caller waits no longer than its deadline, and abandoned work is not done."""

from __future__ import annotations

import sqlite3
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from client_sdk import LedgerError
from client_sdk.ledger.file import open_memory
from client_sdk.ledger.thread import BARE, READ, WRITE, LedgerThread
from client_sdk.results import LedgerBusyError
from tests.support.devices.clients import Obstacle

LONG_S = 60.0


def note(connection: sqlite3.Connection) -> None:
    connection.execute("INSERT INTO drops VALUES (hex(randomblob(8)), 1)")


def noted(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT COUNT(*) FROM drops").fetchone()[0])


@pytest.fixture
def ledger_thread() -> Iterator[LedgerThread]:
    ledger_thread = LedgerThread(None, lambda: open_memory("acme"))
    yield ledger_thread
    ledger_thread.close(LONG_S)


def test_a_job_is_done_in_a_transaction_and_its_result_returned(ledger_thread: LedgerThread) -> None:
    ledger_thread.run(note, LONG_S)
    assert ledger_thread.run(noted, LONG_S, begin=READ) == 1
    assert ledger_thread.run(lambda connection: connection.in_transaction, LONG_S) is True
    assert ledger_thread.run(lambda connection: connection.in_transaction, LONG_S, begin=BARE) is False


def test_a_job_given_up_while_it_runs_is_rolled_back(ledger_thread: LedgerThread) -> None:
    obstacle = Obstacle(note)
    with pytest.raises(LedgerBusyError, match="did not answer in time"):
        ledger_thread.run(obstacle, 0.0)
    obstacle.release.set()
    assert ledger_thread.run(noted, LONG_S, begin=READ) == 0


def test_a_job_given_up_before_it_runs_never_starts(ledger_thread: LedgerThread) -> None:
    obstacle, never = Obstacle(note), Obstacle(note)
    for work in (obstacle, never):
        with pytest.raises(LedgerBusyError):
            ledger_thread.run(work, 0.0)
    obstacle.release.set()
    assert ledger_thread.run(noted, LONG_S, begin=READ) == 0
    assert not never.begun.is_set()


def test_a_job_that_fails_is_undone_and_the_ledger_thread_continues(ledger_thread: LedgerThread) -> None:
    def fail(connection: sqlite3.Connection) -> None:
        note(connection)
        raise ZeroDivisionError

    with pytest.raises(LedgerError, match="ZeroDivisionError"):
        ledger_thread.run(fail, LONG_S)
    assert ledger_thread.run(noted, LONG_S, begin=READ) == 0
    assert ledger_thread.problem  # on a full disk, reading succeeds
    ledger_thread.run(note, LONG_S)
    assert not ledger_thread.problem
    with pytest.raises(LedgerError, match="ZeroDivisionError"):
        ledger_thread.run(fail, LONG_S, begin=READ)
    ledger_thread.run(noted, LONG_S, begin=READ)
    assert not ledger_thread.problem


def test_an_error_shows_no_frame_of_the_ledger_thread(ledger_thread: LedgerThread) -> None:
    def fail(_: sqlite3.Connection) -> None:
        raise LedgerError("it is broken")

    with pytest.raises(LedgerError, match="it is broken") as caught:
        ledger_thread.run(fail, LONG_S)
    names = [entry.name for entry in caught.traceback]
    assert not {"_serve", "_do", "_transact", "fail"} & set(names)
    assert caught.value.__context__ is None


def test_a_ledger_thread_without_work_is_closed_without_a_thread() -> None:
    before = threading.active_count()
    LedgerThread(None, lambda: open_memory("acme")).close(LONG_S)
    assert threading.active_count() == before


def test_where_no_thread_starts_the_ledger_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    ledger_thread = LedgerThread(None, lambda: open_memory("acme"))
    with pytest.raises(LedgerError, match="cannot start a thread"):
        ledger_thread.run(note, LONG_S)
    assert "cannot start a thread" in (ledger_thread.problem or "")


@pytest.mark.usefixtures("hostile_logging")
def test_a_host_whose_logging_raises_gets_its_answer_and_the_thread_continues(ledger_thread: LedgerThread) -> None:
    with pytest.raises(LedgerError, match="ZeroDivisionError"):
        ledger_thread.run(lambda _: 1 // 0, LONG_S)
    assert ledger_thread.run(noted, LONG_S, begin=READ) == 0


def test_work_that_would_end_its_thread_does_not(ledger_thread: LedgerThread) -> None:
    with pytest.raises(LedgerError, match="SystemExit"):
        ledger_thread.run(lambda _: sys.exit(), LONG_S)
    assert ledger_thread.run(noted, LONG_S, begin=READ) == 0


def test_what_another_process_blocks_is_tried_again_until_the_patience_of_the_end_is_used_up() -> None:
    class Blocked(sqlite3.Connection):
        """A ledger that another process holds whenever a write begins, a few times in a row."""

        times = 4

        def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
            if sql == WRITE and self.times:
                self.times -= 1
                error = sqlite3.OperationalError("database is locked")
                error.sqlite_errorcode = sqlite3.SQLITE_BUSY
                raise error
            return super().execute(sql, *parameters)

    done = list[object]()
    thread = LedgerThread(None, lambda: sqlite3.connect(":memory:", isolation_level=None, factory=Blocked))
    assert thread.run_or_leave(lambda _: "done", 0.0, done.append) is None
    thread.close(LONG_S)
    assert done == ["done"]
