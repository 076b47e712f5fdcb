from __future__ import annotations

from client_sdk.protocol import GRACE_S, Window
from collector.upkeep.open_reports import RETRY_S, OpenReports
from tests.support.services.collecting import NOON, TODAY, judged, report, upload
from tests.support.services.memory_store import MemoryStore

HOUR_S = 3600


class Clock:
    """A clock that a test sets, for both kinds of time."""

    def __init__(self, now_s: float) -> None:
        self.now_s = now_s

    def __call__(self) -> float:
        return self.now_s


class Looks(MemoryStore):
    """A store that keeps a look for as long as it must, as the real one does."""

    def forget_look(self) -> None:
        self._snapshot = None


def counting(store: MemoryStore, clock: Clock) -> OpenReports:
    """Return what counts reports, an interval after its start."""
    clock.now_s -= HOUR_S
    reports = OpenReports(store, grace_s=GRACE_S, interval_s=HOUR_S, clock=clock, monotonic=clock)
    clock.now_s += HOUR_S
    return reports


def test_reports_are_added_up_over_symbols_and_editions() -> None:
    store, clock = Looks(), Clock(NOON)
    store.count(judged(upload(report(symbol=0), report("os", 3))))
    store.count(judged(upload(report(symbol=1), report("plan", 0, "2026-W47"))))
    assert counting(store, clock)() == {("dark_mode", TODAY): 2, ("os", TODAY): 1, ("plan", "2026-W47"): 1}


def test_a_new_service_leaves_the_first_look_to_who_asks_for_it() -> None:
    store, clock = Looks(), Clock(NOON)
    store.count(judged(upload(report())))
    reports = OpenReports(store, grace_s=GRACE_S, interval_s=HOUR_S, clock=clock, monotonic=clock)
    clock.now_s += HOUR_S - 1
    assert reports() == {}
    assert store.open_snapshot(HOUR_S, frozenset(), clock.now_s).taken_s == int(clock.now_s)
    clock.now_s += 1
    assert reports() == {("dark_mode", TODAY): 1}


def test_a_count_is_not_renewed_before_the_look_may_be() -> None:
    store, clock = Looks(), Clock(NOON)
    store.count(judged(upload(report())))
    reports = counting(store, clock)
    assert reports() == {("dark_mode", TODAY): 1}
    store.count(judged(upload(report())))
    store.forget_look()  # so only the count's own pace can hide the second report
    clock.now_s += HOUR_S - 1
    assert reports() == {("dark_mode", TODAY): 1}
    clock.now_s += 1
    assert reports() == {("dark_mode", TODAY): 2}


def test_a_look_that_another_collector_took_is_not_old_an_hour_later() -> None:
    store, clock = Looks(), Clock(NOON)
    store.count(judged(upload(report())))
    store.open_snapshot(HOUR_S, frozenset(), NOON - HOUR_S + 10)
    reports = counting(store, clock)
    assert reports() == {("dark_mode", TODAY): 1}
    store.count(judged(upload(report())))
    store.forget_look()
    clock.now_s += 10
    assert reports() == {("dark_mode", TODAY): 2}


def test_a_window_that_closes_within_the_hour_is_left_out() -> None:
    store, clock = Looks(), Clock(Window.parse(TODAY).ends_at + GRACE_S - HOUR_S + 1.0)
    store.count(judged(upload(report()), now_s=NOON))
    assert counting(store, clock)() == {}


def test_without_a_look_there_is_no_count_until_the_store_answers_again() -> None:
    store, clock = Looks(), Clock(NOON)
    store.count(judged(upload(report())))
    store.is_down = True
    reports = counting(store, clock)
    assert reports() == {}
    store.is_down = False
    assert reports() == {}
    clock.now_s += RETRY_S
    assert reports() == {("dark_mode", TODAY): 1}


def test_a_look_that_was_taken_while_the_clock_was_years_ahead_holds_up_the_next_one_no_longer_than_any() -> None:
    store, clock = Looks(), Clock(NOON)
    store.count(judged(upload(report())))
    store.open_snapshot(HOUR_S, frozenset(), NOON + 365 * 24 * HOUR_S)
    reports = counting(store, clock)
    assert reports() == {("dark_mode", TODAY): 1}
    store.count(judged(upload(report())))
    store.forget_look()
    clock.now_s += HOUR_S
    assert reports() == {("dark_mode", TODAY): 2}
