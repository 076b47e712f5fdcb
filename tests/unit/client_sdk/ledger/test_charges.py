"""Ceilings, charges and the ledger's time, exact to 10**-9 of epsilon and 10**-18 of delta."""

from __future__ import annotations

import contextlib
import sqlite3
from collections import defaultdict
from datetime import date
from fractions import Fraction
from itertools import permutations
from math import inf, nan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client_sdk.answers import dues
from client_sdk.ledger import charges, erase, queue, status
from client_sdk.ledger.charges import CLOCK_BACK_S, Periods, Slot, SlotKey
from client_sdk.ledger.file import open_memory
from client_sdk.ledger.status import status_of
from client_sdk.protocol import Budget, Report, Window, WindowKind
from client_sdk.protocol.budget import Cost
from client_sdk.protocol.window import GRACE_S
from client_sdk.results import ClockError
from tests.support.devices.clients import DAY_S, NOON

BUDGET = Budget(WindowKind.DAY, per_window_nanos=10**9, lifetime_nanos=2 * 10**9)
EDITION = "0123456789ab"
TODAY, TOMORROW, LATER = "2026-11-20", "2026-11-21", "2026-11-22"
MONTH = "2026-11"


def key_of(metric: str, day: str = TODAY) -> SlotKey:
    return (metric, EDITION, day)


def charge(connection: sqlite3.Connection, metric: str, nanos: int, day: str = TODAY) -> bool:
    return charges.charge(connection, key_of(metric, day), Cost(nanos), BUDGET, periods_of(day))


def periods_of(day: str) -> Periods:
    return Periods.at(BUDGET, Window.parse(day).starts_at)


def spent(connection: sqlite3.Connection, day: str = TODAY) -> tuple[int, int, int]:
    return charges.spent_nanos(connection, periods_of(day))


def test_a_window_may_be_spent_to_its_last_billionth(connection: sqlite3.Connection) -> None:
    assert charge(connection, "a", 10**9 - 1)
    assert not charge(connection, "b", 2)
    assert charge(connection, "c", 1)
    assert not charge(connection, "d", 1)


def test_a_life_may_be_spent_to_its_last_billionth(connection: sqlite3.Connection) -> None:
    assert charge(connection, "a", 10**9)
    assert charge(connection, "a", 10**9 - 1, TOMORROW)
    assert not charge(connection, "a", 2, LATER)
    assert charge(connection, "a", 1, LATER)
    assert spent(connection, LATER) == (1, BUDGET.lifetime_nanos, BUDGET.lifetime_nanos)


def test_a_month_may_be_spent_to_its_last_billionth_and_the_next_has_its_own(connection: sqlite3.Connection) -> None:
    budget = Budget(WindowKind.DAY, per_window_nanos=10, lifetime_nanos=100, per_month_nanos=15)
    end_of_month = Window.at(WindowKind.MONTH, NOON).ends_at
    for instant_s, nanos, allowed in (
        (NOON, 10, True),
        (end_of_month - 1, 6, False),
        (end_of_month - 1, 5, True),
        (end_of_month, 10, True),
        (end_of_month + DAY_S, 6, False),
    ):
        key = key_of(f"m{nanos}", str(instant_s))
        assert charges.charge(connection, key, Cost(nanos), budget, Periods.at(budget, instant_s)) is allowed


def test_deltas_add_up_to_the_last_part_and_no_further(connection: sqlite3.Connection) -> None:
    budget = Budget(WindowKind.DAY, per_window_nanos=100, lifetime_nanos=100, lifetime_attos=7)
    periods = periods_of(TODAY)
    assert charges.charge(connection, key_of("a"), Cost(1, 4), budget, periods)
    assert not charges.charge(connection, key_of("b"), Cost(1, 4), budget, periods)
    assert charges.charge(connection, key_of("b"), Cost(1, 3), budget, periods)
    assert not charges.charge(connection, key_of("c"), Cost(1, 1), budget, periods)
    assert charges.charge(connection, key_of("c"), Cost(1, 0), budget, periods)


def test_what_is_out_of_budget_changes_nothing(connection: sqlite3.Connection) -> None:
    charge(connection, "a", 10**9)
    before = list(connection.iterdump())
    assert not charge(connection, "b", 1)
    assert list(connection.iterdump()) == before


def test_a_window_is_charged_once(connection: sqlite3.Connection) -> None:
    charge(connection, "a", 5)
    assert charges.slot(connection, key_of("a")) is Slot.OPEN
    with pytest.raises(sqlite3.IntegrityError):
        charge(connection, "a", 5)
    assert spent(connection) == (5, 5, 5)


def test_a_new_edition_is_a_new_charge(connection: sqlite3.Connection) -> None:
    charge(connection, "m", 5)
    changed = ("m", "ba9876543210", TODAY)
    assert charges.slot(connection, changed) is None
    assert charges.charge(connection, changed, Cost(7), BUDGET, periods_of(TODAY))
    assert spent(connection) == (12, 12, 12)


def test_a_charge_is_a_slot_until_its_report_is_queued(connection: sqlite3.Connection) -> None:
    for metric in "ab":
        charge(connection, metric, 4 * 10**8)
    assert dues.open_slots(connection) == [key_of("a"), key_of("b")]
    charges.set_slot(connection, key_of("a"), charges.Slot.REPORTED)
    queue.enqueue(connection, Report(*key_of("a"), 1))
    assert charges.slot(connection, key_of("a")) is Slot.REPORTED
    assert charges.slot(connection, key_of("b")) is Slot.OPEN
    assert dues.open_slots(connection) == [key_of("b")]
    assert status.waiting(connection) == 1


def test_a_clock_that_goes_back_renews_no_window(connection: sqlite3.Connection) -> None:
    charge(connection, "a", 10**9, TODAY)
    charge(connection, "a", 5, TOMORROW)
    assert not charge(connection, "b", 1, TODAY)


@pytest.mark.parametrize("back_s", [1, 3600, 23 * 3600, CLOCK_BACK_S])
def test_a_clock_that_is_set_back_by_up_to_a_day_is_read_as_standing_still(
    connection: sqlite3.Connection, back_s: int
) -> None:
    assert charges.instant(connection, NOON) == NOON
    assert charges.instant(connection, NOON - back_s) == NOON
    assert charges.instant(connection, NOON + 0.5) == NOON + 0.5
    assert charges.latest_s(connection) == NOON


@pytest.mark.parametrize("back_s", [CLOCK_BACK_S + 1, 25 * 3600, 400 * DAY_S])
def test_a_clock_that_is_set_back_farther_is_not_believed_until_it_gets_there(
    connection: sqlite3.Connection, back_s: int
) -> None:
    charges.instant(connection, NOON)
    with pytest.raises(ClockError, match=f"is before {TODAY}, .* set the clock"):
        charges.instant(connection, NOON - back_s)
    assert charges.latest_s(connection) == NOON
    assert charges.instant(connection, NOON + 1) == NOON + 1


def test_a_clock_that_was_years_ahead_leaves_the_ledger_closed_rather_than_renewed(
    connection: sqlite3.Connection,
) -> None:
    charges.instant(connection, NOON + 700 * DAY_S)
    with pytest.raises(ClockError, match="is before 2028-10-20"):
        charges.instant(connection, NOON)
    assert charges.instant(connection, NOON + 700 * DAY_S) == NOON + 700 * DAY_S


@pytest.mark.parametrize("clock_s", [nan, inf, -inf, -1e9, 1e12, 1e300])
def test_a_clock_that_names_no_window_is_not_believed(connection: sqlite3.Connection, clock_s: float) -> None:
    with pytest.raises(ClockError, match="no collector accepts; set the clock"):
        charges.instant(connection, clock_s)
    assert charges.latest_s(connection) == 0


STEPS = st.floats(min_value=-2.0 * CLOCK_BACK_S, max_value=9.0 * DAY_S)
COSTS = st.builds(Cost, st.integers(0, 9), st.integers(0, 4))
LATE_DAYS = st.sampled_from([0, 0, *range(1, GRACE_S // DAY_S + 1)])
ERASURES = st.sampled_from([None, None, None, "a purpose", "all"])
REQUESTS = st.tuples(STEPS, COSTS, st.integers(0, 3), LATE_DAYS, ERASURES)
"""A step of the clock, a cost in billionths and in units of delta, the build that asks, how many
days late it pays, and what is erased before: the purpose of every other charge, or all."""

KINDS = st.sampled_from(list(WindowKind))


@st.composite
def budgets(draw: st.DrawFn) -> Budget:
    month = draw(st.none() | st.integers(1, 40))
    return Budget(draw(KINDS), draw(st.integers(1, 20)), draw(st.integers(1, 60)), month, draw(st.integers(0, 10)))


class DiaryOfDays:
    """The oracle: the expenses of each day; every period is a sum of days."""

    def __init__(self) -> None:
        self.spent: dict[date, int] = defaultdict(int)
        self.attos = 0

    def within(self, kind: WindowKind, instant_s: float) -> int:
        period = Window.at(kind, instant_s)
        return sum(nanos for day, nanos in self.spent.items() if period.first_day <= day <= period.last_day)

    def allows(self, budget: Budget, cost: Cost, instant_s: float) -> bool:
        within_month = self.within(WindowKind.MONTH, instant_s) + cost.nanos
        return (
            self.within(budget.window, instant_s) + cost.nanos <= budget.per_window_nanos
            and (budget.per_month_nanos is None or within_month <= budget.per_month_nanos)
            and sum(self.spent.values()) + cost.nanos <= budget.lifetime_nanos
            and self.attos + cost.attos <= budget.lifetime_attos
        )

    def note(self, cost: Cost, instant_s: float) -> None:
        self.spent[Window.at(WindowKind.DAY, instant_s).first_day] += cost.nanos
        self.attos += cost.attos


@pytest.mark.slow
@settings(max_examples=100, derandomize=True, deadline=None)
@given(builds=st.lists(budgets(), min_size=1, max_size=4), requests=st.lists(REQUESTS, max_size=40))
def test_no_ceiling_is_ever_exceeded_and_nothing_is_refused_that_fits_whatever_the_periods_are_called(
    builds: list[Budget], requests: list[tuple[float, Cost, int, int, str | None]]
) -> None:
    diary, clock_s, opted_out_s = DiaryOfDays(), NOON, 0
    with contextlib.closing(open_memory("acme")) as connection:
        for number, (step_s, cost, build, late_days, erased) in enumerate(requests):
            clock_s += step_s
            try:
                instant_s = charges.instant(connection, clock_s)
            except ClockError:
                assert clock_s < charges.latest_s(connection) - CLOCK_BACK_S
                continue
            if erased == "all":
                erase.wipe(connection)
                opted_out_s = charges.latest_s(connection)
            elif erased is not None:
                erase.withdraw(connection, lambda name: name.startswith("kept"))
            window = Window.at(WindowKind.DAY, instant_s - late_days * DAY_S)
            if window.ends_at <= opted_out_s:  # what was counted then is erased
                continue
            budget = builds[build % len(builds)]
            paid_s = min(instant_s, window.ends_at - 1)
            fits = diary.allows(budget, cost, paid_s)
            key = key_of(f"{'kept' if number % 2 else 'm'}{number}", window.text)
            assert charges.charge(connection, key, cost, budget, Periods.at(budget, paid_s)) is fits
            if fits:
                diary.note(cost, paid_s)
        assert charges.lifetime_nanos(connection) == sum(diary.spent.values())


@pytest.mark.parametrize("order", list(permutations(WindowKind)), ids=" ".join)
def test_builds_that_call_the_period_by_other_names_spend_a_day_once(
    connection: sqlite3.Connection, order: tuple[WindowKind, ...]
) -> None:
    allowed = []
    for kind in order:
        budget = Budget(kind, per_window_nanos=10, lifetime_nanos=100)
        allowed.append(charges.charge(connection, key_of(kind), Cost(10), budget, Periods.at(budget, NOON)))
    assert allowed == [True, False, False]


@pytest.mark.parametrize("nanos", [0, 1, 100_000_000, 333_333_333, 10**9])
def test_the_status_rounds_against_ourselves(nanos: int) -> None:
    status = status_of((nanos, nanos, nanos), BUDGET, periods_of(TODAY), 10**9)
    assert Fraction(status.window_spent) >= Fraction(nanos, 10**9)
    assert Fraction(status.month_spent) >= Fraction(nanos, 10**9)
    assert Fraction(status.window_left) <= Fraction(10**9 - nanos, 10**9)
    assert Fraction(status.lifetime_left) <= Fraction(2 * 10**9 - nanos, 10**9)
    assert (status.window, status.window_ceiling, status.lifetime_ceiling) == (TODAY, 1.0, 2.0)
    assert (status.month, status.month_ceiling) == (MONTH, None)
    assert status.windows_left == (2 * 10**9 - nanos) // 10**9


def test_a_ceiling_lowered_below_what_is_spent_leaves_nothing() -> None:
    status = status_of((5 * 10**9,) * 3, BUDGET, periods_of(TODAY), 10**9)
    assert (status.window_left, status.lifetime_left, status.windows_left) == (0.0, 0.0, 0)


def test_where_no_metric_costs_anything_nobody_says_how_long_the_rest_lasts() -> None:
    status = status_of((0, 0, 0), BUDGET, periods_of(TODAY), 0)
    assert (status.windows_left, status.ends) == (None, None)


def test_the_status_names_the_window_in_which_the_budget_ends() -> None:
    def ends(budget_window: str, spent_nanos: int, window_nanos: int = 10**9) -> str | None:
        periods = periods_of(TODAY)._replace(budget_window=Window.parse(budget_window))
        return status_of((spent_nanos, spent_nanos, spent_nanos), BUDGET, periods, window_nanos).ends

    assert ends("2026-12-30", 0) == "2027-01-01"
    assert ends("2026-12-30", 10**9) == "2027-01-01"
    assert ends("2026-12-30", 2 * 10**9) == "2026-12-31"
    assert ends("2026-W53", 0) == "2027-W02"
    assert ends("2026-11", 0) == "2027-01"
    assert ends("2026-12-30", 0, window_nanos=3 * 10**9) == "2026-12-30"
    assert ends("2026-12-30", 0, window_nanos=1) is None


def test_the_numbers_of_states_are_those_that_stand_in_files() -> None:
    """An update of an app reads what an earlier release wrote."""
    assert {slot.name: slot.value for slot in Slot} == {"OPEN": 0, "REPORTED": 1, "FILLED": 2, "AWAITED": 3}
