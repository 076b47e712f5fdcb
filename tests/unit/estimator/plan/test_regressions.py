"""The gate: one line for every change that lets a device reveal more."""

from __future__ import annotations

from datetime import date

import pytest

from client_sdk.protocol import Registry
from estimator.plan.regressions import regressions, remarks
from tests.support.devices.definitions import BOOLEAN, CATEGORY, NUMBER, Field, Toml, registry_text

TODAY = date(2026, 11, 21)

OLD_BUDGET = "per_window = 10\nper_month = 60\nlifetime = 400\ndelta = 1e-6\n"

PERMANENT: dict[str, Field] = CATEGORY | {"epsilon": 0.5, "permanent_epsilon": 1}


def _registry(budget: str = OLD_BUDGET, **metrics: dict[str, Field]) -> Registry:
    text = registry_text(**metrics)
    assert "per_window = 20\nlifetime = 400\ndelta = 0.5\n" in text
    return Registry.parse(text.replace("per_window = 20\nlifetime = 400\ndelta = 0.5\n", budget))


def _without(fields: dict[str, Field], *keys: str) -> dict[str, Field]:
    return {key: value for key, value in fields.items() if key not in keys}


def test_a_sound_registry_that_did_not_change_gets_no_warning() -> None:
    registry = _registry(a=BOOLEAN | {"expires": Toml("2026-11-21")}, b=PERMANENT)
    assert registry.neglected(TODAY) == []
    assert regressions(registry, registry) == []


def test_expired_metrics_and_those_without_an_owner_are_named() -> None:
    text = registry_text(a=BOOLEAN | {"expires": Toml("2026-11-20")}, b=BOOLEAN | {"owner": "me"})
    registry = Registry.parse(text.replace('owner = "owner@example.com"\n', "", 1))
    expired, ownerless = registry.neglected(TODAY)
    assert expired.startswith("metric.a expired on 2026-11-20")
    assert ownerless.startswith("metric.a has no owner")


@pytest.mark.parametrize(
    ("budget", "warning"),
    [
        (OLD_BUDGET.replace("window = 10", "window = 11"), "budget.per_window: was raised to 11 (previously 10)"),
        (OLD_BUDGET.replace("month = 60", "month = 61"), "budget.per_month: was raised to 61 (previously 60)"),
        (OLD_BUDGET.replace("per_month = 60\n", ""), "budget.per_month: was removed (previously 60)"),
        (OLD_BUDGET.replace("400", "401"), "budget.lifetime: was raised to 401 (previously 400)"),
        (OLD_BUDGET.replace("1e-6", "2e-6"), "budget.delta: was raised to 2e-06 (previously 1e-06)"),
    ],
)
def test_every_ceiling_that_was_raised_is_named_and_one_that_was_lowered_is_not(budget: str, warning: str) -> None:
    old, new = _registry(a=BOOLEAN), _registry(budget, a=BOOLEAN)
    assert regressions(old, new) == [warning]
    assert regressions(new, old) == []


LOOSENED = {
    ("day", "week", 10): None,
    ("day", "month", 10): None,
    ("day", "week", 11): "one day may now cost as much as a week",
    ("week", "month", 10): "a week that belongs to two months may cost per_window twice",
    ("week", "month", 6): "a week that belongs to two months may cost per_window twice",
    ("week", "month", 5): None,
    ("week", "day", 10): "each day may now cost as much as each week could",
    ("month", "week", 1): "each week may now cost as much as each month could",
    ("month", "day", 10): "each day may now cost as much as each month could",
}


@pytest.mark.parametrize(("before", "after", "per_window"), LOOSENED)
def test_another_period_of_the_ceiling_is_named_and_what_it_loosens(before: str, after: str, per_window: int) -> None:
    fixed = BOOLEAN | {"window": "day"}
    old, new = (
        _registry(f'window = "{window}"\n{OLD_BUDGET.replace("window = 10", f"window = {ceiling}")}', a=fixed)
        for window, ceiling in ((before, 10), (after, per_window))
    )
    loosened = LOOSENED[before, after, per_window]
    lines = [line for line in regressions(old, new) if line.startswith("budget.window")]
    said = remarks(old, new) if loosened is None else lines
    assert (lines == []) is (loosened is None)
    assert (remarks(old, new) == []) is (loosened is not None)
    (line,) = said
    assert line.startswith(f"budget.window: was changed from {before} to {after}; {loosened or 'per_window now'}")
    assert line.endswith("earlier charges also count toward the new windows that contain their dates")


def test_a_shorter_window_and_more_metrics_a_window_are_named() -> None:
    weekly = _registry(f'window = "week"\n{OLD_BUDGET}', a=BOOLEAN | {"window": "week"})
    daily = _registry(a=BOOLEAN | {"window": "week"})
    (shortened,) = regressions(weekly, daily)
    assert shortened.startswith(
        "budget.window: was changed from week to day; each day may now cost as much as each week could"
    )
    few, more = (_registry(f'{OLD_BUDGET}strategy = "sample"\nanswers = {n}\n', a=BOOLEAN, b=BOOLEAN) for n in (1, 2))
    assert regressions(few, more) == ["budget.answers: was raised to 2 (previously 1)"]
    (split,) = regressions(few, _registry(a=BOOLEAN, b=BOOLEAN))
    assert split.startswith('budget.strategy: was "sample"')


NEW_METRIC = "its meaning changed, so it is a new question with another edition"

GAUSSIAN: dict[str, Field] = NUMBER | {"mechanism": "gaussian", "delta": Toml("1e-9"), "epsilon": 1}


@pytest.mark.parametrize(
    ("before", "after", "starts"),
    [
        (BOOLEAN, BOOLEAN | {"epsilon": 2}, ["epsilon was raised to 2 (previously 1)", NEW_METRIC]),
        (BOOLEAN | {"epsilon": 2}, BOOLEAN, [NEW_METRIC]),
        (BOOLEAN, BOOLEAN | {"purpose": "Because.", "owner": "me"}, []),
        (CATEGORY, CATEGORY | {"values": ["a", "b", "d"]}, [NEW_METRIC]),
        (GAUSSIAN, GAUSSIAN | {"delta": Toml("1e-8")}, ["delta was raised to ", NEW_METRIC]),
        (PERMANENT, _without(PERMANENT, "permanent_epsilon"), ["answers are no longer permanent", NEW_METRIC]),
        (
            PERMANENT,
            PERMANENT | {"permanent_epsilon": 2},
            ["permanent_epsilon was raised to 2 (previously 1)", NEW_METRIC, "its permanent answers are drawn"],
        ),
    ],
)
def test_every_change_of_a_metric_that_costs_is_named(
    before: dict[str, Field], after: dict[str, Field], starts: list[str]
) -> None:
    lines = regressions(_registry(a=before), _registry(a=after))
    assert len(lines) == len(starts)
    for line, start in zip(lines, starts, strict=True):
        assert line.startswith(f"metric.a: {start}")
        assert "\n" not in line


def test_a_new_metric_says_what_it_costs_and_one_that_is_gone_costs_nothing() -> None:
    old, new = _registry(a=BOOLEAN), _registry(a=BOOLEAN, b=BOOLEAN | {"window": "week"}, c=PERMANENT)
    weekly, daily = regressions(old, new)
    each = "is new; each report costs epsilon {}"
    costs = f"{each}; without the ceilings, the reports of a year (one per {{}}) would cost up to {{}}"
    assert weekly == f"metric.b: {costs.format(1, 'week', 54)}"
    assert daily == f"metric.c: {costs.format(0.5, 'day', 183)}"
    assert regressions(new, old) == []


@pytest.mark.parametrize(
    ("before", "after", "warning"),
    [
        ({"expires": Toml("2027-01-01")}, {}, "metric.a: it no longer expires (previously on 2027-01-01)"),
        (
            {"expires": Toml("2027-01-01")},
            {"expires": Toml("2028-01-01")},
            "metric.a: it now expires on 2028-01-01 (previously on 2027-01-01)",
        ),
    ],
)
def test_a_metric_that_is_asked_longer_is_named(
    before: dict[str, Field], after: dict[str, Field], warning: str
) -> None:
    assert regressions(_registry(a=BOOLEAN | before), _registry(a=BOOLEAN | after)) == [warning]
    assert regressions(_registry(a=BOOLEAN | {"expires": Toml("2028-01-01")}), _registry(a=BOOLEAN | before)) == []


def test_a_running_count_that_is_to_stand_on_the_disk_is_named() -> None:
    count: dict[str, Field] = {"purpose": "Why?", "kind": "count", "max": 5, "statistic": "mean", "epsilon": 1}
    (warning,) = regressions(_registry(a=count), _registry(a=count | {"persist": True}))
    assert warning.startswith("metric.a: persist was turned on")


@pytest.mark.parametrize("change", [{"epsilon": 0.4}, {"window": "week"}, {"permanent_epsilon": 0.9}])
def test_another_edition_of_a_permanent_metric_draws_its_answers_anew(change: dict[str, Field]) -> None:
    redrawn = "metric.a: its permanent answers are drawn again for the new edition"
    *_, last = regressions(_registry(a=PERMANENT), _registry(a=PERMANENT | change))
    assert last == f"{redrawn}, so the losses of both editions add up, within the lifetime ceiling"
    assert not any(redrawn in line for line in regressions(_registry(a=BOOLEAN), _registry(a=PERMANENT)))


@pytest.mark.parametrize(
    ("window", "last", "after"),
    [("day", date(2026, 10, 1), date(2026, 10, 2)), ("month", date(2026, 10, 31), date(2026, 11, 1))],
)
def test_a_metric_has_expired_when_the_window_that_holds_its_last_day_has_ended(
    window: str, last: date, after: date
) -> None:
    registry = _registry(a=BOOLEAN | {"window": window, "expires": Toml("2026-10-01")})
    assert registry.neglected(last) == []
    assert "expired on 2026-10-01" in registry.neglected(after)[0]
