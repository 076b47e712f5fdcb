"""What a device reveals at most: counts of windows by the calendar, sums within ceilings, permanent
answers.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction

import pytest

from client_sdk.protocol import Registry, Window, WindowKind
from client_sdk.protocol.horizon import IN_MONTH, IN_WINDOW, IN_YEAR, Horizon, windows_left
from estimator.plan.exposure import Exposure, PrivacyLoss, composed_epsilon, exposures
from estimator.plan.plan import PlanRequest, answering, make_plan
from tests.support.devices.definitions import BOOLEAN, CATEGORY, NUMBER, Field, Toml, metric_of, registry_text

TODAY = date(2026, 11, 21)


def _registry(budget: Mapping[str, object], **metrics: dict[str, Field]) -> Registry:
    lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in budget.items())
    text = registry_text(**metrics)
    return Registry.parse(text.replace("per_window = 20\nlifetime = 400\ndelta = 0.5\n", lines))


def _by_horizon(registry: Registry, delta: float = 1e-6) -> dict[Horizon, Exposure]:
    return {exposure.within: exposure for exposure in exposures(registry, TODAY, delta)}


def _windows(kind: WindowKind, until: int) -> Iterator[Window]:
    """Yield all windows of a kind from the one that holds the first day of 2000 on."""
    window = Window.at(kind, datetime(2000, 1, 1, tzinfo=UTC).timestamp())
    while window.first_day.year < until:
        yield window
        window = Window.at(kind, window.ends_at)


def _days(window: Window) -> tuple[date, date]:
    """Return the first and the last day of a window."""
    return window.first_day, datetime.fromtimestamp(window.ends_at - 1, UTC).date()


@pytest.mark.slow
def test_no_month_year_or_window_touches_more_windows_than_are_counted() -> None:
    """All four hundred years after which the calendar repeats; for days, a few years are enough."""
    for kind, until in ((WindowKind.DAY, 2005), (WindowKind.WEEK, 2400), (WindowKind.MONTH, 2400)):
        ends = [_days(window) for window in _windows(kind, until)]
        months = Counter(month for days in ends for month in {(day.year, day.month) for day in days})
        years = Counter(year for days in ends for year in {day.year for day in days})
        assert max(months.values()) == IN_MONTH[kind]
        assert max(years.values()) == IN_YEAR[kind]


def test_no_week_touches_more_windows_than_are_counted() -> None:
    for kind, most in IN_WINDOW[WindowKind.WEEK].items():
        touched = Counter[str]()
        for window in _windows(kind, 2005):
            first, last = _days(window)
            days = [first + timedelta(days=day) for day in range((last - first).days + 1)]
            touched.update({"{}-W{}".format(*day.isocalendar()) for day in days})
        assert max(touched.values()) == most


@pytest.mark.parametrize(
    ("kind", "expires", "windows"),
    [
        ("day", "2026-11-21", 1),
        ("day", "2026-11-20", 0),
        ("week", "2026-11-22", 1),
        ("week", "2026-11-16", 1),
        ("week", "2026-11-15", 0),
        ("week", "2026-11-23", 2),
        ("month", "2026-11-01", 1),
        ("month", "2027-01-01", 3),
    ],
)
def test_a_metric_is_asked_in_every_window_that_begins_by_its_last_day(kind: str, expires: str, windows: int) -> None:
    metric = metric_of(BOOLEAN | {"window": kind, "expires": Toml(expires)})
    assert windows_left(metric, TODAY) == windows


@pytest.mark.slow
def test_plain_sums_are_bounded_by_every_ceiling() -> None:
    budget = {"per_window": 4, "per_month": 50, "lifetime": 300}
    daily = _by_horizon(_registry(budget, a=BOOLEAN, b=BOOLEAN | {"epsilon": 2}))
    assert [daily[horizon].any_two_histories for horizon in Horizon] == [3, 50, 300, 300]
    low = _by_horizon(_registry(budget | {"per_window": 2.5}, a=BOOLEAN, b=BOOLEAN | {"epsilon": 2}))
    assert low[Horizon.WINDOW].any_two_histories == 2.5
    weekly = _by_horizon(_registry({"per_window": 2, "lifetime": 4000}, a=BOOLEAN | {"window": "week"}))
    assert [weekly[horizon].any_two_histories for horizon in Horizon] == [1, 6, 54, 4000]


def test_a_metric_that_expires_is_asked_no_longer() -> None:
    registry = _registry({"per_window": 2, "lifetime": 4000}, a=BOOLEAN | {"expires": Toml("2026-11-23")})
    assert {exposure.any_two_histories for exposure in exposures(registry, TODAY, 1e-6)} == {1, 3}


@pytest.mark.slow
def test_tight_figures_are_the_composition_and_never_above_the_sum() -> None:
    by_horizon = _by_horizon(_registry({"per_window": 1, "lifetime": 200}, a=BOOLEAN))
    loss = PrivacyLoss.worst(1.0)
    for horizon, reports in ((Horizon.MONTH, 31), (Horizon.YEAR, 200), (Horizon.LIFE, 200)):
        assert by_horizon[horizon].any_two_histories_at_delta == pytest.approx(
            composed_epsilon({loss: reports}, 1e-6), rel=2**-30
        )
    assert by_horizon[Horizon.WINDOW].any_two_histories_at_delta == pytest.approx(
        composed_epsilon({loss: 1}, 1e-6), rel=2**-30
    )
    mixed = _by_horizon(_registry({"per_window": 4, "lifetime": 60}, a=BOOLEAN, b=CATEGORY, c=NUMBER))
    for exposure in [*by_horizon.values(), *mixed.values()]:
        assert exposure.any_two_histories_at_delta is not None
        assert exposure.any_two_histories_at_delta <= exposure.any_two_histories
    assert mixed[Horizon.LIFE].any_two_histories_at_delta < 60  # type: ignore[operator] # it is no none, as was just held


@pytest.mark.slow
def test_of_drawn_metrics_the_costliest_stand_for_all() -> None:
    budget = {"per_window": 9, "lifetime": 4000, "strategy": "sample", "answers": 2}
    registry = _registry(budget, a=BOOLEAN, b=BOOLEAN | {"epsilon": 3}, c=BOOLEAN | {"epsilon": 2})
    assert _by_horizon(registry)[Horizon.WINDOW].any_two_histories == 5
    assert answering(registry, TODAY) == Fraction(2, 3)
    expired = BOOLEAN | {"expires": Toml("2026-01-01")}
    assert answering(_registry(budget, a=BOOLEAN, b=BOOLEAN, c=BOOLEAN, d=expired), TODAY) == Fraction(2, 3)
    assert [metric.reports for metric in make_plan(registry, PlanRequest(3000, TODAY)).metrics] == [2000] * 3


def test_of_drawn_metrics_one_that_tells_more_at_a_smaller_epsilon_is_allowed_for() -> None:
    """Among a thousand values a report of epsilon 1 rarely tells; among two values one of epsilon
    .9 does.
    """
    budget = {"per_window": 1, "lifetime": 4000, "strategy": "sample", "answers": 1}
    many = CATEGORY | {"values": [str(value) for value in range(1000)], "mechanism": "k-ary-randomized-response"}
    year = _by_horizon(_registry(budget, a=many, b=BOOLEAN | {"epsilon": 0.9}))[Horizon.YEAR].any_two_histories_at_delta
    assert year is not None
    assert year >= composed_epsilon({PrivacyLoss.worst(0.9): 366}, 1e-6)


def test_who_paces_answers_in_as_many_windows_as_last_until_the_end() -> None:
    expiring = BOOLEAN | {"expires": Toml("2026-11-30")}
    registry = _registry({"per_window": 2, "lifetime": 5, "strategy": "pace"}, a=expiring, b=expiring)
    assert answering(registry, TODAY) == Fraction(5 // 2, 10)
    (metric, _) = make_plan(registry, PlanRequest(1000, TODAY)).metrics
    assert metric.reports == 200
    assert metric.devices_needed == 5 * metric.reports_needed


@pytest.mark.slow
def test_a_delta_of_reports_counts_against_that_of_the_figures() -> None:
    budget = {"per_window": 2, "lifetime": 90, "delta": 1e-6}
    gaussian = NUMBER | {"mechanism": "gaussian", "delta": Toml("1e-8"), "epsilon": 1}
    by_horizon = _by_horizon(_registry(budget, a=gaussian), delta=5e-7)
    plain = _by_horizon(_registry(budget, a=BOOLEAN), delta=5e-7)
    month, without = (
        by_horizon[Horizon.MONTH].any_two_histories_at_delta,
        plain[Horizon.MONTH].any_two_histories_at_delta,
    )
    assert month is not None
    assert without is not None
    assert month > without
    assert by_horizon[Horizon.YEAR].delta_of_any_two_histories > 5e-7
    assert by_horizon[Horizon.YEAR].any_two_histories_at_delta is None, (
        "the sum of epsilons holds at the sum of deltas, and not at a smaller one"
    )


ACCEPTED = "limits are exceeded by budget; the reason given is: It exists in tests only."


def test_notes_say_what_the_ceilings_do_not_allow() -> None:
    registry = _registry({"per_window": 2, "lifetime": 6}, a=BOOLEAN, b=BOOLEAN | {"epsilon": 2})
    *_, costly, silent = make_plan(registry, PlanRequest(10, TODAY)).notes
    assert "cost up to 3, which is more than per_window (2) allows" in costly
    assert "after 3 windows (day)" in silent
    expiring = BOOLEAN | {"expires": Toml("2026-11-23")}
    assert make_plan(_registry({"per_window": 2, "lifetime": 6}, a=expiring), PlanRequest(10, TODAY)).notes == (
        ACCEPTED,
    )


@pytest.mark.parametrize("window", WindowKind)
def test_where_a_ledger_may_be_wiped_nothing_but_the_window_holds_for_a_year(window: WindowKind) -> None:
    budget: dict[str, object] = {"window": window.value, "per_window": 3, "per_month": 4, "lifetime": 5}
    metrics = {"a": BOOLEAN | {"epsilon": 2}, "b": BOOLEAN | {"epsilon": 2}}
    kept, wiped = (_by_horizon(_registry(budget | web, **metrics)) for web in ({}, {"web_year": 9999}))
    assert kept[Horizon.WINDOW] == wiped[Horizon.WINDOW]
    assert kept[Horizon.LIFE].any_two_histories == wiped[Horizon.LIFE].any_two_histories == 5
    assert kept[Horizon.YEAR].any_two_histories == 5
    assert wiped[Horizon.MONTH].any_two_histories == IN_MONTH[window] * 3
    assert wiped[Horizon.YEAR].any_two_histories == IN_YEAR[window] * 3


GAUSSIAN: dict[str, Field] = NUMBER | {"mechanism": "gaussian", "delta": Toml("1e-7"), "epsilon": 1}


@pytest.mark.slow
def test_sums_over_gaussian_reports_hold_at_the_sum_of_their_deltas_and_at_no_smaller_delta() -> None:
    registry = _registry({"per_window": 1, "lifetime": 40, "delta": 0.1}, a=GAUSSIAN)
    own = metric_of(GAUSSIAN).delta
    by_horizon = _by_horizon(registry, 1e-6)
    for horizon, reports in ((Horizon.WINDOW, 1), (Horizon.MONTH, 31), (Horizon.YEAR, 40), (Horizon.LIFE, 40)):
        assert own * reports <= by_horizon[horizon].delta_of_any_two_histories < own * reports * Fraction(1001, 1000)
    window = by_horizon[Horizon.WINDOW].any_two_histories_at_delta
    assert window is not None
    assert window <= 1
    assert by_horizon[Horizon.YEAR].any_two_histories_at_delta is None
    least = _by_horizon(_registry({"per_window": 1, "lifetime": 40, "delta": 1.5e-6}, a=GAUSSIAN))
    assert least[Horizon.YEAR].delta_of_any_two_histories == 1.5e-6


def test_no_delta_outlives_a_browser_that_wipes_its_ledger() -> None:
    budget = {"per_window": 1, "lifetime": 4, "delta": 1e-6, "web_year": 366}
    by_horizon = _by_horizon(_registry(budget, a=GAUSSIAN))
    own = metric_of(GAUSSIAN).delta
    assert by_horizon[Horizon.YEAR].delta_of_any_two_histories >= own * 366
    assert by_horizon[Horizon.LIFE].delta_of_any_two_histories < own * 5
