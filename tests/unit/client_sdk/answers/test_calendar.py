"""What is due at an instant follows from the registry and the instant alone."""

from __future__ import annotations

import pytest

from client_sdk.answers import calendar
from client_sdk.answers.calendar import RELEASE_SPREAD_S, Phase
from client_sdk.protocol import GRACE_S, Registry, Window, WindowKind
from tests.support.devices.clients import NOON, ask
from tests.support.laws.coins import ScriptedCoins

DAY, WEEK = (Window.at(kind, NOON) for kind in (WindowKind.DAY, WindowKind.WEEK))
PLAIN = '[metric.plain]\nkind = "boolean"\n'
FILLED = '[metric.filled]\nkind = "boolean"\nfill_in = true\n'
WEEKLY = '[metric.weekly]\nkind = "boolean"\nfill_in = true\nwindow = "week"\n'
COUNTED = '[metric.counted]\nkind = "count"\nmax = 9\nstatistic = "mean"\n'


@pytest.mark.parametrize(
    ("registry", "windows", "next_s"),
    [
        *((ask(PLAIN), (), None), (ask(FILLED), (DAY,), DAY.ends_at), (ask(WEEKLY), (WEEK,), WEEK.ends_at)),
        *((ask(WEEKLY + FILLED), (DAY, WEEK), DAY.ends_at), (ask(COUNTED), (), DAY.ends_at)),
        (ask(PLAIN, 'strategy = "sample"\nanswers = 1'), (DAY,), DAY.ends_at),
    ],
)
def test_windows_with_slots_begin_and_windows_with_slots_or_counts_end(
    registry: Registry, windows: tuple[Window, ...], next_s: float | None
) -> None:
    assert calendar.due(registry, NOON) == (windows, next_s)


def test_a_report_that_is_held_back_is_due_when_it_may_leave() -> None:
    assert calendar.due(ask(PLAIN), NOON, [NOON + 60]).next_s == NOON + 60
    assert calendar.due(ask(FILLED), NOON, [DAY.ends_at + 60]).next_s == DAY.ends_at


@pytest.mark.parametrize(
    ("instant_s", "phase"),
    [
        *((DAY.starts_at, Phase.RUNNING), (DAY.ends_at - 1, Phase.RUNNING), (DAY.ends_at, Phase.ENDED)),
        *((DAY.ends_at + GRACE_S - 1, Phase.ENDED), (DAY.ends_at + GRACE_S, Phase.CLOSED)),
    ],
)
def test_a_window_runs_ends_and_closes(instant_s: float, phase: Phase) -> None:
    assert calendar.phase(DAY, instant_s) is phase


def test_a_report_that_waits_for_its_window_leaves_at_a_random_instant_after_it() -> None:
    with ScriptedCoins([0, RELEASE_SPREAD_S - 1]) as coins:
        assert [calendar.release_s(DAY, coins) - DAY.ends_at for _ in range(2)] == [0, RELEASE_SPREAD_S - 1]
