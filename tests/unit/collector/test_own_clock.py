"""A collector suspects its own clock when all reports are refused for their windows."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from client_sdk.protocol import Refusal, Verdict
from collector.counters import Totals, WorkerCounters, new_shared_counters
from collector.own_clock import SUSPICIOUS, OwnClockWatch, WindowVerdicts
from collector.store.store_protocol import CountedUpload

FUTURE, CLOSED = Refusal.WINDOW_IN_FUTURE, Refusal.WINDOW_CLOSED


class Collector:
    """Counts uploads of one report in shared counters, and looks at its clock."""

    def __init__(self) -> None:
        shared_counters = new_shared_counters()
        self._counters = WorkerCounters(shared_counters)
        self.looks_wrong: Callable[[], bool] = OwnClockWatch(
            lambda: WindowVerdicts.from_totals(Totals(shared_counters))
        )

    def count(self, refusal: Refusal | None, times: int = 1, *, is_duplicate: bool = False) -> None:
        verdict = Verdict(1, () if refusal is None else ((0, refusal),))
        self._counters.add_counted(*[CountedUpload(verdict, is_duplicate=is_duplicate)] * times)


@pytest.fixture
def collector(caplog: pytest.LogCaptureFixture) -> Collector:
    caplog.set_level("INFO")
    return Collector()


@pytest.mark.parametrize(("refusal", "side"), [(FUTURE, "behind"), (CLOSED, "ahead")])
def test_a_clock_is_suspected_from_the_hundredth_refusal_until_a_report_counts(
    collector: Collector, caplog: pytest.LogCaptureFixture, refusal: Refusal, side: str
) -> None:
    collector.count(refusal, SUSPICIOUS - 1)
    assert not collector.looks_wrong()
    collector.count(refusal)
    assert [collector.looks_wrong(), collector.looks_wrong()] == [True, True]
    collector.count(refusal, SUSPICIOUS)
    assert collector.looks_wrong()
    collector.count(None)
    assert not collector.looks_wrong()
    assert [record.event for record in caplog.records] == ["clock_suspected", "clock_trusted"]  # type: ignore[attr-defined] # set by Event.extra
    assert caplog.messages[0].startswith(f"this host's clock may be {side}: the last 100 reports were all refused")
    assert "(timedatectl)" in caplog.messages[0]
    collector.count(refusal, SUSPICIOUS)
    assert collector.looks_wrong()


def test_a_report_that_counts_begins_the_row_anew(collector: Collector, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(5):
        collector.count(CLOSED, SUSPICIOUS - 1)
        collector.count(None)
        assert not collector.looks_wrong()
    collector.count(CLOSED, SUSPICIOUS // 2)
    assert not collector.looks_wrong()
    collector.count(FUTURE, SUSPICIOUS // 2)
    assert collector.looks_wrong()
    assert "50 because their windows are in the future and 50 because their windows are closed" in caplog.text


@pytest.mark.parametrize("refusal", sorted(set(Refusal) - {FUTURE, CLOSED}))
def test_other_refusals_and_duplicates_say_nothing_about_a_clock(collector: Collector, refusal: Refusal) -> None:
    collector.count(refusal, 10 * SUSPICIOUS)
    collector.count(CLOSED, 10 * SUSPICIOUS, is_duplicate=True)
    assert not collector.looks_wrong()
    collector.count(CLOSED, SUSPICIOUS)
    collector.count(refusal)
    collector.count(None, is_duplicate=True)
    assert collector.looks_wrong()
