"""How far clocks are apart, and what is said of it."""

from __future__ import annotations

import pytest

from collector.errors import StoreUnavailableError
from collector.log import Event
from collector.redis_servers.clocks import LOOK_INTERVAL_S, ClockWatch, describe, farthest


@pytest.mark.parametrize(
    ("ahead_s", "said"),
    [
        (61, "61 seconds ahead of"),
        (-119, "119 seconds behind"),
        (600, "10 minutes ahead of"),
        (-7199.9, "2 hours behind"),
        (172_800, "2 days ahead of"),
    ],
)
def test_a_difference_is_said_in_a_unit_of_its_size(ahead_s: float, said: str) -> None:
    assert f"is {said} this machine's. Synchronize both clocks" in describe(ahead_s)


def test_the_farthest_clock_is_logged_once_until_all_agree(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    differences = [59.0, -60.0, 3600.0, -31.0, 29.0, 61.0]
    now, looks = [0.0], iter(differences)
    watch = ClockWatch(lambda: [0.1, next(looks), -0.2], monotonic=lambda: now[0])
    for _ in differences:
        watch()
        watch()  # not due
        now[0] += LOOK_INTERVAL_S
    events = [record.event for record in caplog.records]  # type: ignore[attr-defined] # as log_lines adds it
    assert events == [Event.CLOCKS_APART, Event.CLOCKS_AGREE, Event.CLOCKS_APART]
    assert "60 seconds behind" in caplog.records[0].getMessage()
    assert farthest([1.0, -2.0]) == -2


def test_a_store_that_does_not_answer_has_no_clock(caplog: pytest.LogCaptureFixture) -> None:
    def look() -> list[float]:
        raise StoreUnavailableError("down for the test")

    ClockWatch(look)()
    assert not caplog.records
