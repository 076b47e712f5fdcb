"""What is retired when: by retention or an operator's command; open windows never."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from client_sdk.protocol import GRACE_S, Registry, Window
from collector.config import DAY_S, HOUR_S
from collector.errors import StoreUnavailableError
from collector.upkeep.retention import RETRY_INTERVAL_S, Retention, TallyName, before, expired
from tests.support.services.collecting import REGISTRY_TEXT, TODAY

REGISTRY = Registry.parse(
    REGISTRY_TEXT.replace('kind = "boolean"\nepsilon = "ln 3"', 'kind = "boolean"\nepsilon = "ln 3"\nretention = 2')
)

GOES_AT_S = Window.parse(TODAY).ends_at + GRACE_S + 2 * DAY_S

KEPT_TWO_DAYS = TallyName("dark_mode", "an edition", TODAY)
ANOTHER_EDITION = TallyName("dark_mode", "an older one", TODAY)
KEPT_FOR_GOOD = TallyName("os", "an edition", TODAY)
NOBODY_KNOWS_IT = TallyName("who", "an edition", TODAY)
STILL_OPEN = TallyName("dark_mode", "an edition", "2026-11-19")


class Shelf:
    """Tallies, all closed except STILL_OPEN."""

    def __init__(self) -> None:
        self.names = {KEPT_TWO_DAYS, ANOTHER_EDITION, KEPT_FOR_GOOD, NOBODY_KNOWS_IT, STILL_OPEN}
        self.looks = 0
        self.finished: list[int] = []

    def closed_windows(self) -> frozenset[str]:
        self.looks += 1
        return frozenset({TODAY, "2026-11-01"})

    def tally_names(self) -> frozenset[TallyName]:
        return frozenset(self.names)

    def retire(self, names: Collection[TallyName]) -> None:
        self.names -= set(names)
        self.finished.append(len(names))


def test_tallies_are_kept_for_their_retention_after_the_clock_closed_their_window() -> None:
    assert expired(Shelf(), REGISTRY, now_s=GOES_AT_S - 1, grace_s=GRACE_S) == []
    gone = expired(Shelf(), REGISTRY, now_s=GOES_AT_S, grace_s=GRACE_S)
    assert gone == sorted([KEPT_TWO_DAYS, ANOTHER_EDITION])


def test_without_a_retention_nothing_is_removed_or_checked() -> None:
    shelf = Shelf()
    assert expired(shelf, Registry.parse(REGISTRY_TEXT), now_s=10 * GOES_AT_S, grace_s=GRACE_S) == []
    assert shelf.looks == 0


def test_before_a_window_goes_what_is_closed_and_ended_by_its_beginning() -> None:
    shelf = Shelf()
    assert before(shelf, Window.parse(TODAY)) == []
    assert before(shelf, Window.parse("2026-11-21")) == sorted(shelf.names - {STILL_OPEN})
    assert before(shelf, Window.parse("2026-12")) == sorted(shelf.names - {STILL_OPEN})


def test_a_month_goes_only_before_what_begins_after_it() -> None:
    shelf = Shelf()
    shelf.names = {TallyName("os", "an edition", "2026-11-01")}
    assert before(shelf, Window.parse("2026-11")) == []
    assert before(shelf, Window.parse("2026-11-02")) == [TallyName("os", "an edition", "2026-11-01")]


def test_the_chore_is_done_at_the_start_and_hourly() -> None:
    shelf, now = Shelf(), [GOES_AT_S - 1.0]
    retention = Retention(shelf, lambda: REGISTRY, grace_s=GRACE_S, clock=lambda: now[0])
    retention()
    now[0] += HOUR_S - 1
    retention()
    assert shelf.looks == 1
    assert KEPT_TWO_DAYS in shelf.names
    now[0] += 1
    retention()
    assert shelf.looks == 2
    assert shelf.names == {KEPT_FOR_GOOD, NOBODY_KNOWS_IT, STILL_OPEN}


def test_the_chore_finishes_what_broke_off_also_when_nothing_is_due() -> None:
    shelf = Shelf()
    for registry in (REGISTRY, Registry.parse(REGISTRY_TEXT)):
        Retention(shelf, lambda: registry, grace_s=GRACE_S, clock=lambda: float(GOES_AT_S - 1))()  # noqa: B023 called at once
    assert shelf.finished == [0]


def test_the_chore_is_tried_again_soon_and_holds_up_no_other(caplog: pytest.LogCaptureFixture) -> None:
    class Away(Shelf):
        def closed_windows(self) -> frozenset[str]:
            if not self.looks:
                self.looks += 1
                raise StoreUnavailableError("away for the test")
            return super().closed_windows()

    shelf, now = Away(), [GOES_AT_S + 0.0]
    retention = Retention(shelf, lambda: REGISTRY, grace_s=GRACE_S, clock=lambda: now[0])
    retention()
    assert "stay for now: away for the test" in caplog.text
    now[0] += RETRY_INTERVAL_S
    retention()
    assert KEPT_TWO_DAYS not in shelf.names


def test_a_clock_that_was_years_ahead_does_not_end_the_chore() -> None:
    shelf, now = Shelf(), [GOES_AT_S + 3650 * DAY_S]
    retention = Retention(shelf, lambda: REGISTRY, grace_s=GRACE_S, clock=lambda: now[0])
    retention()
    now[0] = GOES_AT_S
    retention()
    now[0] += HOUR_S - 1
    retention()
    assert shelf.looks == 2
