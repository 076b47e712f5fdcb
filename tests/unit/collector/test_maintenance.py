from __future__ import annotations

import logging

import pytest

from client_sdk.protocol import GRACE_S, Window
from collector.errors import ConfigError, StoreUnavailableError
from collector.maintenance import (
    LOOK_RETRY_S,
    RETRY_INTERVAL_S,
    REWRITE_INTERVAL_S,
    Health,
    Maintenance,
    OpenReports,
    ServerState,
)
from collector.store.store_protocol import close_due_windows
from tests.support.services.collecting import NOON, TODAY, judged, report, upload
from tests.support.services.memory_store import MemoryStore
from tests.support.services.processes import wait_until

CLOSE_S = float(Window.parse(TODAY).ends_at + GRACE_S)


class Log:
    """An append-only file that counts its rewrites, may be busy, and may fail."""

    def __init__(self) -> None:
        self.rewrites = 0
        self.is_busy = False
        self.fails = False

    def rewrite_log(self) -> bool:
        self.rewrites += not self.is_busy
        return not self.is_busy

    def log_rewrite_failed(self) -> bool:
        return self.fails


def used_store() -> MemoryStore:
    store = MemoryStore()
    store.count(judged(upload(report(), report("plan", 0, "2026-W47"))))
    return store


def test_a_window_closes_when_its_grace_is_over_and_not_before() -> None:
    store = used_store()
    close_due_windows(store, now_s=CLOSE_S - 1, grace_s=GRACE_S)
    assert store.closed_windows() == frozenset()
    close_due_windows(store, now_s=CLOSE_S, grace_s=GRACE_S)
    assert store.closed_windows() == {TODAY}


def test_a_closed_window_stays_closed_when_the_clock_goes_back_or_the_grace_grows() -> None:
    store = used_store()
    close_due_windows(store, now_s=CLOSE_S, grace_s=GRACE_S)
    close_due_windows(store, now_s=CLOSE_S - 10, grace_s=2 * GRACE_S)
    assert store.closed_windows() == {TODAY}


def test_the_log_is_rewritten_at_least_every_quarter_of_an_hour() -> None:
    log = Log()
    chores = Maintenance(used_store(), log, grace_s=GRACE_S, clock=lambda: 0.0)
    for second in range(3600):
        chores.tick(float(second))
    assert REWRITE_INTERVAL_S < 900
    assert log.rewrites == 1 + int(3599 / REWRITE_INTERVAL_S)


def test_the_rewrite_that_every_start_begins_with_is_no_news(caplog: pytest.LogCaptureFixture) -> None:
    chores = Maintenance(used_store(), Log(), grace_s=GRACE_S, clock=lambda: 0.0)
    with caplog.at_level(logging.INFO, "collector"):
        chores.tick(0.0)
        assert "rewritten" not in caplog.text
        chores.tick(REWRITE_INTERVAL_S)
    assert caplog.text.count("the append-only file is being rewritten") == 1


def test_the_log_is_rewritten_whenever_a_window_closes() -> None:
    store, log, now = used_store(), Log(), [CLOSE_S - 1]
    chores = Maintenance(store, log, grace_s=GRACE_S, clock=lambda: now[0])
    chores.tick(0.0)
    chores.tick(1.0)
    assert log.rewrites == 1
    now[0] = CLOSE_S
    chores.tick(2.0)
    assert log.rewrites == 2
    store.close(Window.parse("2026-W47"))
    chores.tick(3.0)
    assert log.rewrites == 3


def test_a_rewrite_that_could_not_begin_is_asked_for_again() -> None:
    log = Log()
    chores = Maintenance(used_store(), log, grace_s=GRACE_S, clock=lambda: 0.0)
    log.is_busy = True
    chores.tick(0.0)
    log.is_busy = False
    chores.tick(1.0)
    chores.tick(2.0)
    assert log.rewrites == 1


def test_a_rewrite_that_came_to_nothing_is_asked_for_again_after_a_pause() -> None:
    log = Log()
    chores = Maintenance(used_store(), log, grace_s=GRACE_S, clock=lambda: 0.0)
    log.fails = True
    for second in range(int(RETRY_INTERVAL_S) + 1):
        chores.tick(float(second))
    assert log.rewrites == 2
    log.fails = False
    for second in range(int(RETRY_INTERVAL_S) + 1, 200):
        chores.tick(float(second))
    assert log.rewrites == 2


def test_maintenance_continues_after_any_failure_and_names_each_reason_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("collector.maintenance.TICK_S", 0.01)
    down = StoreUnavailableError("down")
    failures = [OSError("the disk is full"), down, ConfigError("in use"), down]
    log = Log()

    def fail() -> ServerState:
        if failures:
            raise failures.pop()
        return ServerState()

    chores = Maintenance(used_store(), log, grace_s=GRACE_S, every_tick=fail, clock=lambda: 0.0)
    last = "maintenance has resumed: the store answers"
    with caplog.at_level(logging.INFO, logger="collector.maintenance"):
        chores.start()
        wait_until(lambda: last in caplog.messages, what="a tick after all failures")
        chores.stop()
    assert log.rewrites == 1
    reasons = ("down", "in use", "the disk is full")
    assert caplog.messages == [*(f"maintenance is suspended: {reason}" for reason in reasons), last]


def test_a_store_that_is_refused_is_not_up() -> None:
    def refuse() -> ServerState:
        raise ConfigError("acknowledged data is lost")

    seen = Health(is_up=True, is_noted=True, open_windows=1, closed_windows=0, open_reports={("os", TODAY): 3})

    chores = Maintenance(used_store(), Log(), grace_s=GRACE_S, every_tick=refuse)
    chores.health = seen
    chores.start()
    try:
        wait_until(lambda: not chores.health.is_up, what="the refusal to be seen")
        assert chores.health == seen._replace(is_up=False, open_reports={})
    finally:
        chores.stop()


def test_the_log_is_rewritten_although_windows_cannot_be_looked_after() -> None:
    store, log = used_store(), Log()
    chores = Maintenance(store, log, grace_s=GRACE_S, clock=lambda: 0.0)
    store.is_down = True
    for second in range(10):
        with pytest.raises(StoreUnavailableError):
            chores.tick(float(second))
    assert log.rewrites == 1


def test_health_has_what_was_seen_of_the_servers() -> None:
    seen = ServerState(is_noted=False, memory_used=0.5)
    chores = Maintenance(used_store(), Log(), grace_s=GRACE_S, every_tick=lambda: seen, clock=lambda: 0.0)
    chores.tick(0.0)
    assert chores.health == Health(is_up=True, is_noted=False, open_windows=2, closed_windows=0, memory_used=0.5)


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
    clock.now_s += LOOK_RETRY_S
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
