"""Ceilings and charges, exact to one billionth."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from fractions import Fraction

import pytest

from client_sdk import Recorded, ledger, outbox
from client_sdk.ledger_file import open_memory
from client_sdk.spec import Budget, Report, WindowKind

BUDGET = Budget(WindowKind.DAY, per_window_nanos=10**9, lifetime_nanos=2 * 10**9)
EDITION = "0123456789ab"
TODAY, TOMORROW, LATER = "2026-11-20", "2026-11-21", "2026-11-22"


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    with contextlib.closing(open_memory("acme")) as connection:
        yield connection


def charge(connection: sqlite3.Connection, metric: str, nanos: int, day: str = TODAY) -> Recorded:
    return ledger.charge(connection, Report(metric, EDITION, day, 1), nanos, BUDGET, day)


def test_a_window_may_be_spent_to_its_last_billionth(connection: sqlite3.Connection) -> None:
    assert charge(connection, "a", 10**9 - 1) is Recorded.QUEUED
    assert charge(connection, "b", 2) is Recorded.OUT_OF_BUDGET
    assert charge(connection, "c", 1) is Recorded.QUEUED
    assert charge(connection, "d", 1) is Recorded.OUT_OF_BUDGET


def test_a_life_may_be_spent_to_its_last_billionth(connection: sqlite3.Connection) -> None:
    assert charge(connection, "a", 10**9) is Recorded.QUEUED
    assert charge(connection, "a", 10**9 - 1, TOMORROW) is Recorded.QUEUED
    assert charge(connection, "a", 2, LATER) is Recorded.OUT_OF_BUDGET
    assert charge(connection, "a", 1, LATER) is Recorded.QUEUED
    assert ledger.spent_nanos(connection, LATER) == (1, BUDGET.lifetime_nanos)


def test_a_second_charge_for_a_window_changes_nothing(connection: sqlite3.Connection) -> None:
    charge(connection, "a", 5)
    before = list(connection.iterdump())
    assert charge(connection, "a", 5) is Recorded.ALREADY_RECORDED
    assert list(connection.iterdump()) == before


def test_what_is_out_of_budget_changes_nothing(connection: sqlite3.Connection) -> None:
    charge(connection, "a", 10**9)
    before = list(connection.iterdump())
    assert charge(connection, "b", 1) is Recorded.OUT_OF_BUDGET
    assert list(connection.iterdump()) == before


def test_a_new_edition_is_a_new_charge(connection: sqlite3.Connection) -> None:
    charge(connection, "m", 5)
    changed = Report("m", "ba9876543210", TODAY, 1)
    assert ledger.charge(connection, changed, 7, BUDGET, TODAY) is Recorded.QUEUED
    assert ledger.spent_nanos(connection, TODAY) == (12, 12)


def test_charges_and_queued_reports_go_together(connection: sqlite3.Connection) -> None:
    for metric in "abc":
        charge(connection, metric, 4 * 10**8)
    assert outbox.waiting(connection) == 2
    assert ledger.spent_nanos(connection, TODAY) == (8 * 10**8, 8 * 10**8)


def test_a_clock_that_goes_back_renews_no_window(connection: sqlite3.Connection) -> None:
    charge(connection, "a", 10**9, TODAY)
    charge(connection, "a", 5, TOMORROW)
    assert charge(connection, "b", 1, TODAY) is Recorded.OUT_OF_BUDGET


@pytest.mark.parametrize("nanos", [0, 1, 100_000_000, 333_333_333, 10**9])
def test_the_status_rounds_against_ourselves(nanos: int) -> None:
    status = ledger.status_of(nanos, nanos, BUDGET, TODAY)
    assert Fraction(status.window_spent) >= Fraction(nanos, 10**9)
    assert Fraction(status.window_left) <= Fraction(10**9 - nanos, 10**9)
    assert Fraction(status.lifetime_left) <= Fraction(2 * 10**9 - nanos, 10**9)
    assert (status.window, status.window_ceiling, status.lifetime_ceiling) == (TODAY, 1.0, 2.0)


def test_a_ceiling_lowered_below_what_is_spent_leaves_nothing() -> None:
    status = ledger.status_of(5 * 10**9, 5 * 10**9, BUDGET, TODAY)
    assert (status.window_left, status.lifetime_left) == (0.0, 0.0)
