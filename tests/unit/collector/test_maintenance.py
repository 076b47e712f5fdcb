from __future__ import annotations

from client_sdk.spec import GRACE_S, Window
from collector.maintenance import REWRITE_INTERVAL_S, Maintenance, close_due_windows
from tests.support.collecting import TODAY, judged, report, upload
from tests.support.memory_store import MemoryStore

CLOSE_S = float(Window.parse(TODAY).ends_at + GRACE_S)


class Log:
    """An append-only file that counts its rewrites, and may be busy."""

    def __init__(self) -> None:
        self.rewrites = 0
        self.is_busy = False

    def rewrite(self) -> bool:
        self.rewrites += not self.is_busy
        return not self.is_busy


def used_store() -> MemoryStore:
    store = MemoryStore()
    store.count(judged(upload(report(), report("plan", 0, "2026-W47"))))
    return store


def test_a_window_closes_when_its_grace_is_over_and_not_before() -> None:
    store = used_store()
    assert not close_due_windows(store, now_s=CLOSE_S - 1, grace_s=GRACE_S)
    assert store.closed_windows() == frozenset()
    assert close_due_windows(store, now_s=CLOSE_S, grace_s=GRACE_S)
    assert store.closed_windows() == {TODAY}


def test_a_closed_window_stays_closed_when_the_clock_goes_back_or_the_grace_grows() -> None:
    store = used_store()
    close_due_windows(store, now_s=CLOSE_S, grace_s=GRACE_S)
    assert not close_due_windows(store, now_s=CLOSE_S - 10, grace_s=2 * GRACE_S)
    assert store.closed_windows() == {TODAY}


def test_the_log_is_rewritten_at_least_every_quarter_of_an_hour() -> None:
    log = Log()
    chores = Maintenance(used_store(), log.rewrite, grace_s=GRACE_S, clock=lambda: 0.0)
    for second in range(3600):
        chores.tick(float(second))
    assert REWRITE_INTERVAL_S < 900
    assert log.rewrites == 1 + int(3599 / REWRITE_INTERVAL_S)


def test_the_log_is_rewritten_when_a_window_closes_whoever_closes_it() -> None:
    store, log, now = used_store(), Log(), [CLOSE_S - 1]
    chores = Maintenance(store, log.rewrite, grace_s=GRACE_S, clock=lambda: now[0])
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
    chores = Maintenance(used_store(), log.rewrite, grace_s=GRACE_S, clock=lambda: 0.0)
    log.is_busy = True
    chores.tick(0.0)
    log.is_busy = False
    chores.tick(1.0)
    chores.tick(2.0)
    assert log.rewrites == 1
