"""Registries that cannot work are found by the same sums that devices come to in a year."""

from __future__ import annotations

import random
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from datetime import date
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from client_sdk import Registry
from client_sdk.answers.schedule import Schedule
from client_sdk.ledger.file import open_memory
from client_sdk.protocol import Window
from client_sdk.protocol.epsilon import NANOS
from client_sdk.results import Recorded
from tests.support.core.tables import for_each
from tests.support.devices.clients import ask
from tests.support.devices.cohort import DAY_S, FIRST_S, SeededCoins, live, secret_of

YEAR = 365
KINDS = ("day", "week", "month")
COSTS = ("0.25", "0.5", "1.5", "4")
TODAY = date(2026, 1, 1)
STARTS = (0, 45, 120, 299)
"""Days of the year on which devices begin: in the middle and at the ends of weeks and months."""

LAST_ON_THE_FIRST_DAY = {"theme": "epsilon = 4", "os": "", "start": "", "sound": "epsilon = 1.1"}


def metrics(budget: str, fields: Mapping[str, str]) -> Registry:
    """Return a registry of yes or no questions, each with lines of its own."""
    kinds = {name: "" if "kind = " in more else 'kind = "boolean"\n' for name, more in fields.items()}
    return ask("".join(f"[metric.{name}]\n{kinds[name]}{more}\n" for name, more in fields.items()), budget)


def first_answers(registry: Registry, days: range, victim: str, seed: int = 1) -> dict[str, Recorded]:
    """Return what became of the first answer to each question.

    All are recorded every day; the victim is recorded last, on the last day alone.
    """
    first: dict[str, Recorded] = {}
    others = [name for name in registry.metrics if name != victim]
    with closing(open_memory("acme")) as connection:
        connection.execute("UPDATE device SET secret = ?", (secret_of(seed),))
        schedule = Schedule(registry, SeededCoins(seed))
        for day in days:
            for name in [*others, victim] if day == days[-1] else others:
                definition = registry.metric(name)
                answer = schedule.randomize(
                    definition, partial(definition.encode, day % 2 == 0), partial(schedule.learn_secret, connection)
                )
                recorded = schedule.record(connection, FIRST_S + day * DAY_S, definition, answer)
                first.setdefault(name, recorded)
    return first


def first_window(registry: Registry, victim: str, day: int) -> range:
    """Return the days of the window of a question that holds a day of the year."""
    window = Window.at(registry.metric(victim).window, FIRST_S + day * DAY_S)
    begins = (window.starts_at - FIRST_S + DAY_S // 2) // DAY_S
    return range(begins, begins + (window.ends_at - window.starts_at) // DAY_S)


def refused(registry: Registry) -> Iterator[str]:
    """Yield the questions whose first answer some device could not pay for."""
    for victim in registry.metrics:
        for day in STARTS:
            first = first_answers(registry, first_window(registry, victim, day), victim)
            yield from (name for name, recorded in first.items() if recorded is Recorded.OUT_OF_BUDGET)


def drawn(seed: int, *, one_kind: bool) -> Registry:
    """Return a random registry whose ceilings are near to what a first window costs."""
    pick = random.Random(f"{seed} {one_kind}")  # noqa: S311 a drawn registry, no secret
    window = pick.choice(KINDS)
    fields = {}
    for index in range(pick.randint(1, 4)):
        lines = [f"epsilon = {pick.choice(COSTS)}", f'window = "{window if one_kind else pick.choice(KINDS)}"']
        lines += pick.choice([[], [], ["fill_in = true"], ["permanent_epsilon = 5"]])
        fields[f"m{index}"] = "\n".join(lines)
    ceilings = [f'window = "{window}"', f"per_window = {pick.choice((4, 4.5, 5.25, 6, 8, 12))}"]
    ceilings += pick.choice([[], [f"per_month = {pick.choice((4.5, 6, 20))}"], ["lifetime = 5.5"]])
    return metrics("\n".join(ceilings), fields)


def test_a_first_day_that_costs_more_than_its_ceiling_is_said_with_the_sum() -> None:
    registry = metrics("per_window = 6", LAST_ON_THE_FIRST_DAY)
    (sentence,) = registry.shortages(TODAY)
    assert sentence == (
        "budget.per_window: the first day of a device may cost 4 (theme) + 1.1 (sound) + 1 (os) + 1 (start) "
        "= 7.1, but the ceiling is 6; the last answer is out_of_budget on every device; "
        "raise per_window to 7.1, or ask less"
    )
    assert set(refused(registry)) == {"sound", "theme"}
    enough = metrics("per_window = 7.1", LAST_ON_THE_FIRST_DAY)
    assert enough.shortages(TODAY) == []
    assert list(refused(enough)) == []


@pytest.mark.long
@for_each("seed", range(40))
def test_devices_refuse_a_first_answer_exactly_where_metrics_of_one_window_are_short(seed: int) -> None:
    registry = drawn(seed, one_kind=True)
    assert bool(registry.shortages(TODAY)) == any(refused(registry)), registry


@pytest.mark.slow
@for_each("seed", range(40))
def test_no_device_refuses_a_first_answer_where_windows_of_all_kinds_are_not_short(seed: int) -> None:
    registry = drawn(seed, one_kind=False)
    if not registry.shortages(TODAY):
        assert not any(refused(registry)), registry


def test_the_drawn_registries_are_of_both_sorts() -> None:
    for one_kind in (True, False):
        short = Counter(bool(drawn(seed, one_kind=one_kind).shortages(TODAY)) for seed in range(40))
        assert min(short[True], short[False]) >= 5


def test_answers_of_each_day_may_use_up_what_the_metric_of_a_week_needs() -> None:
    fields = {"daily": 'window = "day"', "weekly": 'window = "week"'}
    short, enough = (metrics(f'window = "week"\nper_window = {ceiling}', fields) for ceiling in (7.5, 8))
    (sentence,) = short.shortages(TODAY)
    assert "the first week of a device may cost 7 times 1 (daily) + 1 (weekly) = 8, but the ceiling is 7.5" in sentence
    assert "weekly" in refused(short)
    assert enough.shortages(TODAY) == []
    assert not any(refused(enough))


def test_a_single_metric_of_each_day_is_not_short_only_because_its_later_answers_are() -> None:
    registry = metrics('window = "week"\nper_window = 3', {"daily": 'window = "day"'})
    assert registry.shortages(TODAY) == []
    assert not any(refused(registry))


@pytest.mark.slow
@pytest.mark.parametrize(("ceiling", "is_short"), [(2, True), (2.5, False)])
def test_drawn_metrics_that_do_not_fit_together_are_short(ceiling: float, is_short: bool) -> None:  # noqa: FBT001 a case
    fields = {"dear": "epsilon = 1.5", "cheap": "epsilon = 0.5", "usual": ""}
    registry = metrics(f'strategy = "sample"\nanswers = 2\nper_window = {ceiling}', fields)
    per_window = Counter(charge.window for charge in live(registry, 3, YEAR))
    assert (min(per_window.values()) < 2) is is_short
    assert [sentence.split(":")[0] for sentence in registry.shortages(TODAY)] == ["budget.per_window"] * is_short


@pytest.mark.parametrize(
    ("ceilings", "short"),
    [
        ("per_window = 2.5\nlifetime = 60", ["budget.per_window"]),
        ("per_month = 2.5\nlifetime = 60", ["budget.per_month"]),
        ("lifetime = 2.5", ["budget.lifetime"]),
        ("lifetime = 60", []),
    ],
)
def test_paced_metrics_of_which_some_is_never_asked_are_short(ceilings: str, short: list[str]) -> None:
    last = "expires = 2026-12-31"
    registry = metrics(f'strategy = "pace"\n{ceilings}', {"a": last, "b": last, "c": last})
    assert [sentence.split(":")[0] for sentence in registry.shortages(TODAY)] == short
    charged = {charge.metric for charge in live(registry, 5, YEAR)}
    assert (charged != set(registry.metrics)) is bool(short)


@for_each("one_kind", [True, False])
@for_each("seed", range(40))
def test_following_the_advice_once_is_enough(seed: int, one_kind: bool) -> None:  # noqa: FBT001 a case
    registry = drawn(seed, one_kind=one_kind)
    raised: dict[str, Any] = {
        f"{ceiling}_nanos": int(Decimal(total) * NANOS)
        for sentence in registry.shortages(TODAY)
        for ceiling, total in re.findall(r"raise (\w+) to ([0-9.]+)", sentence)
    }
    budget = registry.budget._replace(**raised)
    assert replace(registry, budget=budget).shortages(TODAY) == []


def test_the_advice_is_what_all_answers_of_a_first_month_cost() -> None:
    fields = {"daily": 'window = "day"', "monthly": 'window = "month"'}
    (sentence,) = metrics("lifetime = 20", fields).shortages(TODAY)
    assert sentence == (
        "budget.lifetime: the first month of a device may cost 31 times 1 (daily) + 1 (monthly) = 32, "
        "but the ceiling is 20; "
        "the last answers may be out_of_budget; raise lifetime to 32, or ask less"
    )
    assert metrics("lifetime = 32", fields).shortages(TODAY) == []


@pytest.mark.parametrize(
    ("window", "last_day", "today", "is_short"),
    [
        ("day", "2020-12-31", TODAY, False),
        ("day", "2026-01-01", TODAY, True),
        ("week", "2025-12-29", TODAY, True),  # the week from that day on is asked to its end
        ("week", "2025-12-28", TODAY, False),
    ],
)
def test_a_metric_that_has_expired_costs_nothing(window: str, last_day: str, today: date, is_short: bool) -> None:  # noqa: FBT001 a case
    expired = f'expires = {last_day}\nwindow = "{window}"'
    registry = metrics("per_window = 1", {"a": "", "b": expired})
    assert bool(registry.shortages(today)) is is_short
    assert metrics("per_window = 0.5", {"b": f"{expired}\nepsilon = 0.5"}).shortages(today) == []


COUNTED = {"filled": "fill_in = true", "taps": 'kind = "count"\nmax = 9\nstatistic = "mean"\npersist = true'}


def charged_after_a_counted_day(lifetime: int, *, counts: bool) -> list[str]:
    """Return what a device pays for in three days that may count on the first, by window."""
    registry = metrics(f"per_window = 2\nlifetime = {lifetime}", COUNTED)
    with closing(open_memory("acme")) as connection:
        connection.execute("UPDATE device SET secret = ?", (secret_of(1),))
        schedule = Schedule(registry, SeededCoins(1))
        if counts:
            schedule.count(connection, FIRST_S, registry.metric("taps"), 1)
        for day in range(3):
            schedule.catch_up(connection, FIRST_S + day * DAY_S)
        return [name for (name,) in connection.execute("SELECT metric FROM charges ORDER BY window, metric")]


def test_a_count_needs_the_budget_of_one_window_more_of_what_is_filled_in() -> None:
    short, enough = (metrics(f"per_window = 2\nlifetime = {lifetime}", COUNTED) for lifetime in (2, 3))
    (sentence,) = short.shortages(TODAY)
    assert "may cost 2 times 1 (filled) + 1 (taps) = 3, but the ceiling is 2" in sentence
    assert "taps" not in charged_after_a_counted_day(2, counts=True)
    assert enough.shortages(TODAY) == []
    assert "taps" in charged_after_a_counted_day(3, counts=True)


def test_what_is_filled_in_on_the_next_day_does_not_depend_on_a_count() -> None:
    for counts in (False, True):
        assert charged_after_a_counted_day(2, counts=counts) == ["filled", "filled"]
    assert charged_after_a_counted_day(3, counts=True) == ["filled", "taps", "filled"]


def test_drawn_metrics_of_which_a_life_pays_for_a_few_are_short() -> None:
    def ten(lifetime: int) -> Registry:
        budget = f'strategy = "sample"\nanswers = 1\nper_window = 1\nlifetime = {lifetime}'
        return metrics(budget, {f"m{index}": "" for index in range(10)})

    (sentence,) = ten(2).shortages(TODAY)
    assert sentence.startswith("budget.lifetime: one answer to each question costs 1 (m0) + ")
    assert "= 10, but the ceiling is 2; no device ever answers more than 2 of 10 questions; raise lifetime" in sentence
    assert len({charge.metric for charge in live(ten(2), 3, YEAR)}) <= 2
    assert ten(10).shortages(TODAY) == []


def test_a_delta_that_not_all_metrics_fit_is_short() -> None:
    gaussian = (
        'kind = "number"\nlow = 0\nhigh = 1\nstatistic = "mean"\nmechanism = "gaussian"\nepsilon = 2\ndelta = 1e-6'
    )
    registry = ask(f"[metric.a]\n{gaussian}\n[metric.b]\n{gaussian}\n", "delta = 1.5e-6")
    (sentence,) = registry.shortages(TODAY)
    assert sentence.startswith("budget.delta: the first day of a device may cost 0.00000")
    single_metric = ask(f"[metric.a]\n{gaussian}\n", "delta = 1.5e-6")
    assert single_metric.shortages(TODAY) == []


def test_many_terms_are_cut_to_a_line() -> None:
    (sentence,) = metrics("per_window = 49", {f"m{index}": "" for index in range(50)}).shortages(TODAY)
    assert "1 (m5) + 44 (44 more) = 50, but the ceiling is 49" in sentence


def test_loading_logs_the_file_and_parsing_does_not(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "metrics.toml"
    head = 'schema = 1\n[app]\nname = "acme"\n[budget]\nper_window = 1.5\nlifetime = 4\n'
    metric = '[metric.{}]\npurpose = "Why?"\nkind = "boolean"\nepsilon = 1\n'
    path.write_text(head + metric.format("a") + metric.format("b"), encoding="utf-8")
    registry = Registry.load(path)
    (record,) = caplog.records
    assert record.getMessage().startswith(f"{path}: budget.per_window: ")
    assert "= 2, but the ceiling is 1.5" in record.getMessage()
    caplog.clear()
    assert Registry.parse(path.read_text(encoding="utf-8")) == registry
    assert caplog.records == []


def test_loading_judges_today(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "metrics.toml"
    path.write_text(metrics("per_window = 1", {"a": "", "b": "expires = 2026-01-01"}).source, encoding="utf-8")
    Registry.load(path, today=date(2026, 1, 2))
    assert not any("= 2, but the ceiling is 1" in record.getMessage() for record in caplog.records)
    Registry.load(path, today=TODAY)
    assert any("= 2, but the ceiling is 1" in record.getMessage() for record in caplog.records)


def test_looking_costs_little_for_fifty_metrics() -> None:
    registry = metrics("per_window = 49", {f"m{index}": "" for index in range(50)})
    begun_s = time.process_time()
    for _ in range(10):
        registry.shortages(TODAY)
    assert (time.process_time() - begun_s) / 10 < 0.01
