"""Days of use: what a window's report counts, which days devices remember, and until when."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client_sdk import OutsideDomainError, Recorded, Registry, UnknownMetricError
from client_sdk.answers import counters
from client_sdk.answers.calendar import RELEASE_SPREAD_S
from client_sdk.answers.schedule import Schedule
from client_sdk.answers.system_coins import SystemCoins
from client_sdk.ledger.file import open_memory
from client_sdk.protocol import Window, WindowKind
from client_sdk.protocol.window import GRACE_S
from tests.support.devices.clients import DAY_S, NOON, ScriptedTransport, SetClock, ask, rows, telemetry

LONG_S = 60.0
FIRST = datetime.fromtimestamp(NOON, UTC).date()
DAYS_ON_DISK = "SELECT metric, window FROM counts WHERE edition = '' ORDER BY window"


def using(days: int = 28, window: str = "week", more: str = "", epsilon: int = 20, budget: str = "") -> Registry:
    """Return a registry of days of use ``m``; at epsilon 20, 1 report in 10**8 is untrue."""
    lines = f'kind = "activity"\ndays = {days}\nstatistic = "distribution"\nepsilon = {epsilon}\nwindow = "{window}"'
    return ask(f'[metric.m]\n{lines}\n{more}\n[metric.yes]\nkind = "boolean"\n[metric.n]\n{COUNT}', budget)


COUNT = 'kind = "count"\nmax = 3\nstatistic = "mean"'


def expected(used: set[int], ran: set[int], kind: WindowKind, days: int, *, filled: bool) -> dict[str, int]:
    """Return the number of days of each window by the definition, day by day."""
    on = {number: FIRST + timedelta(days=number) for number in used | ran}
    windows = {Window.on(kind, on[number]) for number in (ran if filled else used)}
    reported = {}
    for window in windows:
        in_grace = {window.last_day + timedelta(days=late) for late in range(1, GRACE_S // DAY_S + 1)}
        if in_grace & {on[number] for number in ran}:
            period = {window.last_day - timedelta(days=back) for back in range(days)}
            reported[window.text] = len(period & {on[number] for number in used})
    return reported


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    st.sets(st.integers(0, 75), max_size=60),
    st.sets(st.integers(0, 75), max_size=25),
    st.sampled_from(list(WindowKind)),
    st.sampled_from([7, 28]),
    st.booleans(),
)
def test_a_window_counts_the_days_of_use_that_end_with_its_last_day(
    used: set[int],
    started: set[int],
    kind: WindowKind,
    days: int,
    filled: bool,  # noqa: FBT001 hypothesis hands it over
) -> None:
    schedule = Schedule(using(days, kind.value, "fill_in = true" if filled else ""), SystemCoins())
    definition = using(days, kind.value, "fill_in = true" if filled else "").metric("m")
    connection = open_memory("acme")
    for number in sorted(used | started):
        clock_s = NOON + number * DAY_S
        schedule.catch_up(connection, clock_s)
        for _ in range(number % 3 + 1 if number in used else 0):  # a day counts once, however often it is said
            assert schedule.count(connection, clock_s, definition, 1) is Recorded.COUNTED
    ended = "SELECT window, symbol FROM queue JOIN charges USING (metric, edition, window) WHERE reported = 1"
    symbols = dict(connection.execute(ended).fetchall())
    assert symbols == expected(used, used | started, kind, days, filled=filled)
    kept = [date.fromisoformat(day) for _, day in connection.execute(DAYS_ON_DISK)]
    assert len(kept) <= days + 31 + 3
    connection.close()


def reported(device_dir: Path | None, registry: Registry, clock: SetClock, used: list[int]) -> list[tuple[str, int]]:
    """Return window and symbol of what a device reports that is used on some days from now on."""
    transport = ScriptedTransport()
    with telemetry(device_dir, registry=registry, clock=clock, transport=transport) as device:
        for wait in used:
            clock.now_s += wait * DAY_S
            assert device.active("m") is Recorded.COUNTED
            assert device.flush(timeout_s=LONG_S)
        clock.now_s = Window.at(WindowKind.WEEK, clock.now_s).ends_at + RELEASE_SPREAD_S
        assert device.flush(timeout_s=LONG_S)
    return [(report.window, report.symbol) for report in transport.reports if report.metric == "m"]


@pytest.mark.parametrize("in_file", [True, False])
def test_consecutive_windows_count_the_same_day_again_and_each_is_charged(tmp_path: Path, in_file: bool) -> None:  # noqa: FBT001 a parameter
    registry, clock, transport = using(), SetClock(), ScriptedTransport()
    with telemetry(tmp_path if in_file else None, registry=registry, clock=clock, transport=transport) as device:
        for _ in range(3):
            assert device.active("m") is Recorded.COUNTED
            clock.now_s = Window.at(WindowKind.WEEK, clock.now_s).ends_at + RELEASE_SPREAD_S
            assert device.flush(timeout_s=LONG_S)
        spent = device.budget().lifetime_spent
    sent = [(report.window, report.symbol) for report in transport.reports if report.metric == "m"]
    assert sent == [("2026-W47", 1), ("2026-W48", 2), ("2026-W49", 3)]
    assert spent == pytest.approx(3 * registry.metric("m").epsilon_nanos / 10**9)


def test_an_update_with_another_epsilon_keeps_the_days_and_a_removed_metric_loses_them(tmp_path: Path) -> None:
    clock = SetClock()
    assert reported(tmp_path, using(epsilon=19), clock, [0]) == [("2026-W47", 1)]
    assert reported(tmp_path, using(epsilon=20), clock, [0]) == [("2026-W48", 2)]
    with telemetry(tmp_path, registry=ask('[metric.yes]\nkind = "boolean"'), clock=clock) as device:
        device.record("yes", value=True)
    assert rows(tmp_path, DAYS_ON_DISK) == []
    assert reported(tmp_path, using(), clock, [0]) == [("2026-W49", 1)]


def test_opting_out_wipes_days_as_does_a_start_without_consent(tmp_path: Path) -> None:
    registry, data_dir = using(), tmp_path / "app"
    for update in (registry, ask('[metric.yes]\nkind = "boolean"')):
        with telemetry(data_dir, registry=registry) as device:
            device.active("m")
        assert rows(data_dir, DAYS_ON_DISK) == [("m", "2026-11-20")]
        with telemetry(data_dir, registry=update, consent=False) as device:
            assert device.record("yes", value=True) is Recorded.NO_CONSENT
        assert rows(data_dir, DAYS_ON_DISK) == []
    with telemetry(data_dir, registry=registry) as device:
        device.active("m")
        device.forget()
        assert device.active("m") is Recorded.NO_CONSENT
    assert rows(data_dir, DAYS_ON_DISK) == []
    with telemetry(tmp_path / "new", registry=registry, consent=False):
        assert not (tmp_path / "new").exists()


def test_a_number_that_the_app_counts_itself_is_reported_at_once(tmp_path: Path) -> None:
    with telemetry(tmp_path, registry=using()) as device:
        assert device.record("m", 28) is Recorded.QUEUED
        assert device.active("m") is Recorded.COUNTED
    assert rows(tmp_path, "SELECT symbol FROM queue") == [(28,)]


def test_a_clock_that_goes_back_within_a_day_adds_no_day(tmp_path: Path) -> None:
    clock = SetClock()
    with telemetry(tmp_path, registry=using(), clock=clock) as device:
        device.active("m")
        clock.now_s -= 0.9 * DAY_S
        assert device.active("m") is Recorded.COUNTED
        clock.now_s -= 3 * DAY_S
        assert device.active("m") is Recorded.UNAVAILABLE
    assert rows(tmp_path, DAYS_ON_DISK) == [("m", "2026-11-20")]


def test_a_paced_device_remembers_days_also_in_windows_in_which_it_is_not_asked(tmp_path: Path) -> None:
    budget = 'window = "week"\nper_window = 25\nlifetime = 50\nstrategy = "pace"'
    lines = 'kind = "activity"\ndays = 28\nstatistic = "distribution"\nepsilon = 20\nexpires = 2027-02-28'
    clock, transport = SetClock(), ScriptedTransport()
    registry = ask(f"[metric.m]\n{lines}", budget)
    with telemetry(tmp_path, registry=registry, clock=clock, transport=transport) as device:
        for _ in range(15):
            assert device.active("m") is Recorded.COUNTED
            clock.now_s = Window.at(WindowKind.WEEK, clock.now_s).ends_at + RELEASE_SPREAD_S
            assert device.flush(timeout_s=LONG_S)
    sent = [(report.window, report.symbol) for report in transport.reports if report.metric == "m"]
    assert 1 <= len(sent) <= 2
    weeks = [Window.at(WindowKind.WEEK, NOON + 7 * number * DAY_S).text for number in range(15)]
    assert all(symbol == min(4, weeks.index(window) + 1) for window, symbol in sent)


@pytest.mark.parametrize(
    ("metric", "error", "said"),
    [
        ("yes", OutsideDomainError, r"'yes' expects record\(\), because a boolean cannot be counted"),
        ("n", OutsideDomainError, r"'n' expects count\(\)"),
        ("unknown", UnknownMetricError, "it defines: m, yes, n"),
    ],
)
@pytest.mark.parametrize("consent", [True, False])
def test_a_wrong_metric_is_named(metric: str, error: type[Exception], said: str, *, consent: bool) -> None:
    with telemetry(None, registry=using(), consent=consent, strict=True) as device:
        with pytest.raises(error, match=said):
            device.active(metric)
        with pytest.raises(OutsideDomainError, match=r"'m' expects active\(\)"):
            device.count("m")


def test_every_reason_not_to_remember_a_day_is_said(tmp_path: Path) -> None:
    expired = using(more="expires = 2026-11-10")
    with telemetry(tmp_path, registry=expired) as device:
        assert device.active("m") is Recorded.EXPIRED
    assert device.active("m") is Recorded.CLOSED


def test_the_days_of_a_period_are_counted_right_for_each_pair_of_days_around_its_ends() -> None:
    last = date(2026, 11, 22)
    for period in (7, 28):
        inside = {last - timedelta(days=back) for back in range(period)}
        near = [last - timedelta(days=back) for back in (-2, -1, 0, 1, period - 2, period - 1, period, period + 1)]
        for pair in combinations(near, 2):
            assert counters.number_of(list(pair), last, period) == len(inside & set(pair)), (pair, period)
