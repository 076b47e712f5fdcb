"""The most answers to a question within a year, as the statement says it: reached by devices, and
never exceeded.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client_sdk.commands.registry_commands import STARTER
from client_sdk.protocol import Registry
from client_sdk.protocol.horizon import yearly_reports
from client_sdk.protocol.statement import statement
from tests.support.devices.clients import ask
from tests.support.devices.cohort import always, live, on_random_days

DAYS = 365
LIFE, SHORT = 60, "2026-02-25"
"""The days and the last day of a life of eight weeks: all its strata are soon lived through."""


def starter() -> Registry:
    """Return the starter registry, whose questions end after eight weeks."""
    return Registry.parse(STARTER.read_text(encoding="utf-8").replace("2027-12-31", SHORT))


def most_answers(registry: Registry, seeds: range, stopped: tuple[str, ...] = ()) -> dict[str, int]:
    """Return the most answers to each question that any device pays for in its life."""
    most = dict.fromkeys(registry.metrics, 0)
    for seed in seeds:
        paid = [charge.metric for charge in live(registry, seed, LIFE, stopped=stopped)]
        most = {name: max(number, paid.count(name)) for name, number in most.items()}
    return most


def test_of_the_starter_registry_two_answers_a_year_are_said_and_paid_for() -> None:
    page = statement(Registry.parse(STARTER.read_text(encoding="utf-8")))
    dark_mode = page.split("\n## ")[1]
    assert "A year of answers (at most 2), taken together: even odds can become at most 4.5 to 1\n" in dark_mode
    registry = starter()
    assert most_answers(registry, range(5)) == dict.fromkeys(registry.metrics, 2)


def test_where_other_metrics_are_stopped_more_answers_are_paid_for_as_the_statement_says() -> None:
    page = statement(Registry.parse(STARTER.read_text(encoding="utf-8")))
    dark_mode = page.split("\n## ")[1]
    assert "this question can be answered up to 4 times a year: even odds can become at most 21 to 1\n" in dark_mode
    registry = starter()
    for name, metric in registry.metrics.items():
        stopped = tuple(other for other in registry.metrics if other != name)
        assert most_answers(registry, range(20), stopped)[name] == yearly_reports(registry, metric, alone=True)


BUDGETS = st.builds(
    lambda strategy, window, per_window, per_month, lifetime: (
        f'strategy = "{strategy}"\nwindow = "{window}"\nper_window = {per_window}\nlifetime = {lifetime}\n'
        + (f"per_month = {per_month}\n" if per_month else "")
        + ("answers = 2\n" if strategy == "sample" else "")
    ),
    st.sampled_from(["pace", "sample", "split"]),
    st.sampled_from(["day", "week", "month"]),
    st.sampled_from(["1.7", "3", "8"]),
    st.sampled_from(["", "3.3", "9"]),
    st.sampled_from(["2.9", "4", "6.1", "11.6"]),
)
METRICS = st.lists(
    st.tuples(
        st.sampled_from(["0.3", "0.75", "1", "1.4"]),
        st.sampled_from(["2026-01-31", "2026-03-15", "2026-12-31"]),
        st.sampled_from(["", "", "day", "week"]),
    ),
    min_size=1,
    max_size=3,
)


@pytest.mark.long
@settings(derandomize=True, max_examples=30, deadline=None)
@given(BUDGETS, METRICS, st.integers(0, 3), st.data())
def test_no_device_answers_more_often_than_the_statement_says(
    budget: str, metrics: list[tuple[str, str, str]], seed: int, data: st.DataObject
) -> None:
    tables = [
        f'[metric.m{place}]\nkind = "boolean"\nepsilon = {epsilon}\nexpires = {expires}\n'
        + (f'window = "{window}"\n' if window and "split" in budget else "")
        for place, (epsilon, expires, window) in enumerate(metrics)
    ]
    registry = ask("\n".join(tables), budget)
    names = list(registry.metrics)
    subsets = [subset for size in range(len(names)) for subset in combinations(names, size)]
    stopped = data.draw(st.sampled_from(subsets))
    is_on = data.draw(st.sampled_from([always, on_random_days(seed, 0.5)]))
    recorded: dict[str, object] = dict.fromkeys(names, True)
    paid = [charge.metric for charge in live(registry, seed, DAYS, is_on=is_on, answers=recorded, stopped=stopped)]
    for name, metric in registry.metrics.items():
        assert paid.count(name) <= yearly_reports(registry, metric, alone=bool(stopped))


@pytest.mark.parametrize(
    ("budget", "most"),
    [
        ('strategy = "split"\nlifetime = 5', 5),
        ('strategy = "split"\nlifetime = 50\nper_month = 1.5', 12),
        ('strategy = "split"\nwindow = "week"\nper_window = 2.5\nlifetime = 400', 108),
        ('strategy = "pace"\nlifetime = 5', 2),
        ('strategy = "pace"\nlifetime = 5\nper_window = 1', 5),
    ],
)
def test_each_ceiling_limits_a_year(budget: str, most: int) -> None:
    metric = 'kind = "boolean"\nepsilon = 1\nexpires = 2026-12-31\nwindow = "day"\n'
    registry = ask(f"[metric.a]\n{metric}[metric.b]\n{metric}", budget)
    assert yearly_reports(registry, registry.metric("a")) == most


def test_in_browsers_only_the_ceiling_of_a_window_limits_a_year() -> None:
    metric = '[metric.a]\nkind = "boolean"\nepsilon = 1\nwindow = "week"\n'
    registry = ask(metric, 'window = "week"\nper_window = 1\nlifetime = 2\nweb_year = 54')
    assert yearly_reports(registry, registry.metric("a")) == 54
    assert registry.metric("a").epsilon_nanos <= Fraction(10**9)
