"""Who answers what and when: decided by calendar and secret, within every ceiling, and never by an
answer.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from itertools import combinations, count, pairwise

import numpy as np
import pytest

from client_sdk.answers import participation
from client_sdk.ledger.file import open_memory
from client_sdk.protocol import Metric, Registry, Window, WindowKind
from client_sdk.protocol.window_steps import windows_until
from tests.support.core.tables import for_each
from tests.support.devices.clients import ask
from tests.support.devices.cohort import Charge, always, day_of, exceeded, live, on_random_days, secret_of
from tests.support.laws.sampling import accepts_each

DAYS = 365
LAST_DAY = "2026-12-31"
"""The last day of the simulated life, which begins on the first day of the year."""


def booleans(number: int, budget: str, more: str = "") -> Registry:
    """Return a given number of yes or no questions at epsilon 1, asked until the last day."""
    tables = (f'[metric.m{index}]\nkind = "boolean"\nexpires = {LAST_DAY}\n{more}' for index in range(number))
    return ask("\n".join(tables), budget)


PACE = booleans(3, 'strategy = "pace"\nlifetime = 60')
"""Enough for twenty times three answers."""

STRATEGIES = {
    "split": booleans(3, "per_window = 2\nper_month = 20\nlifetime = 70"),
    "split, filled": booleans(3, "per_window = 2\nper_month = 20\nlifetime = 70", "fill_in = true\n"),
    "sample": booleans(5, 'strategy = "sample"\nanswers = 2\nper_window = 2\nper_month = 31\nlifetime = 101'),
    "sample, filled": booleans(
        5, 'strategy = "sample"\nanswers = 2\nper_window = 1\nlifetime = 101', "fill_in = true\n"
    ),
    "pace": PACE,
    "pace, filled": booleans(3, 'strategy = "pace"\nlifetime = 61\nper_month = 7', "fill_in = true\n"),
    "pace of weeks": booleans(2, 'strategy = "pace"\nwindow = "week"\nlifetime = 21.5'),
    "pace of months": booleans(2, 'strategy = "pace"\nwindow = "month"\nlifetime = 9.5'),
    "pace with more than enough": booleans(1, 'strategy = "pace"\nlifetime = 500'),
}


def answers(registry: Registry, *, truth: bool = True) -> dict[str, object]:
    return dict.fromkeys(registry.metrics, truth)


@pytest.mark.long
@for_each("strategy", STRATEGIES)
def test_no_ceiling_is_ever_exceeded(strategy: str) -> None:
    registry = STRATEGIES[strategy]
    for seed in range(6):
        for is_on in (always, on_random_days(seed, 0.5), on_random_days(seed, 0.1)):
            charges = live(registry, seed, DAYS, is_on=is_on, answers=answers(registry))
            assert charges
            assert not list(exceeded(registry, charges))


def test_a_ceiling_that_is_exceeded_would_be_noticed() -> None:
    registry = STRATEGIES["split"]
    charges = live(registry, 0, 2, answers=answers(registry))
    assert len(list(exceeded(registry, charges * 40))) >= 3


@for_each("strategy", [name for name in STRATEGIES if name != "split"])
def test_what_is_charged_is_the_same_for_who_records_everything_nothing_or_the_opposite(strategy: str) -> None:
    registry = STRATEGIES[strategy]
    for seed, is_on in ((1, always), (2, on_random_days(2, 0.6))):
        lives: list[list[Charge]] = [
            live(registry, seed, 70, is_on=is_on, answers=recorded)
            for recorded in ({}, answers(registry), answers(registry, truth=False))
        ]
        assert lives[0]
        assert lives[0] == lives[1] == lives[2]


def spent(charges: list[Charge]) -> int:
    return sum(charge.nanos for charge in charges)


@pytest.mark.parametrize("strategy", ["pace", "pace of weeks", "pace of months"])
def test_a_paced_device_that_is_always_on_spends_what_whole_windows_can_spend(strategy: str) -> None:
    registry = STRATEGIES[strategy]
    once = sum(metric.epsilon_nanos for metric in registry.metrics.values())
    for seed in range(5):
        charges = live(registry, seed, DAYS)
        assert spent(charges) == registry.budget.lifetime_nanos // once * once


def test_a_paced_device_spends_at_least_95_percent_and_takes_part_until_the_end() -> None:
    windows = PACE.budget.lifetime_nanos // sum(metric.epsilon_nanos for metric in PACE.metrics.values())
    longest = DAYS // windows + 1
    for seed in range(8):
        charges = live(PACE, seed, DAYS)
        assert 100 * spent(charges) >= 95 * PACE.budget.lifetime_nanos
        days = sorted({day_of(charge.window) for charge in charges})
        assert len(days) == windows
        assert days[0] < longest
        assert DAYS - days[-1] <= longest  # in the last stratum, which is as long as the others
        assert max(later - day for day, later in pairwise(days)) < 2 * longest


def test_a_paced_device_that_was_off_makes_up_for_it() -> None:
    """A device that is off in every other stratum still spends as much as one that is always on."""
    once = sum(metric.epsilon_nanos for metric in PACE.metrics.values())
    charges = live(PACE, 1, DAYS, is_on=lambda day: day // 18 % 2 == 1)
    assert 100 * spent(charges) >= 95 * (PACE.budget.lifetime_nanos - once)
    assert DAYS - max(day_of(charge.window) for charge in charges) <= 2 * (DAYS // 20 + 1)


def test_where_the_lifetime_is_more_than_enough_every_window_is_taken() -> None:
    charges = live(STRATEGIES["pace with more than enough"], 1, DAYS)
    assert sorted(day_of(charge.window) for charge in charges) == list(range(DAYS))


def test_the_window_of_a_stratum_is_drawn_uniformly() -> None:
    """A life of four days, one of which may be spent: each is equally likely."""
    registry = ask('[metric.m]\nkind = "boolean"\nexpires = 2026-01-04', 'strategy = "pace"\nlifetime = 1')

    def is_chosen(seed: int) -> list[bool]:
        (charge,) = live(registry, seed, 4)
        return [day_of(charge.window) == day for day in range(4)]

    assert accepts_each((np.array([is_chosen(seed)]) for seed in count()), 0.25, 0.45).all()


@for_each("kind", WindowKind)
@for_each("last_day", ["9998-12-31", "9999-12-31"])
def test_a_stratum_may_last_as_long_as_the_calendar(kind: WindowKind, last_day: str) -> None:
    budget = f'strategy = "pace"\nwindow = "{kind}"\nlifetime = 1'
    registry, connection = ask(f'[metric.m]\nkind = "boolean"\nexpires = {last_day}', budget), open_memory("acme")
    window = Window.on(kind, date(2026, 1, 1))
    participation.drawn(connection, registry, window, bytes(32))
    ((chosen_s, end_s, _),) = connection.execute("SELECT * FROM stratum").fetchall()
    assert window.starts_at <= chosen_s < end_s == participation.NEVER_S
    connection.close()


def test_a_fraction_of_a_window_is_rounded_at_random() -> None:
    """Three days, two of which may be spent: the first stratum has one day or two, so no day is
    always taken.
    """
    registry = ask('[metric.m]\nkind = "boolean"\nexpires = 2026-01-03', 'strategy = "pace"\nlifetime = 2')
    for wrong in (0.5, 1 - 1e-6):
        is_first = (day_of(live(registry, seed, 3)[0].window) == 0 for seed in count())
        assert accepts_each(map(np.atleast_1d, is_first), 0.75, wrong)


Sampled = Callable[[list[Metric], int, Window, bytes], list[Metric]]
FOUR = list(booleans(4, "").metrics.values())
PAIRS = [frozenset(pair) for pair in combinations([metric.name for metric in FOUR], 2)]


BATCH = 64
"""Draws between two looks at whether they decide."""


def by_the_day_alone(metrics: list[Metric], count: int, window: Window, _: bytes) -> list[Metric]:
    return participation.sampled(metrics, count, window, bytes(32))


def by_the_device_alone(metrics: list[Metric], count: int, _: Window, secret: bytes) -> list[Metric]:
    return participation.sampled(metrics, count, Window(WindowKind.DAY, date(2026, 1, 1)), secret)


def by_turns(metrics: list[Metric], count: int, window: Window, secret: bytes) -> list[Metric]:
    first = (window.starts_at // 86_400 + secret[0]) % len(metrics)
    return [metrics[(first + index) % len(metrics)] for index in range(count)]


def draws_uniformly(sampled: Sampled) -> bool:
    """Whether each pair of four is equally likely: over many devices on one day, and over many days
    of one device.
    """
    day = Window(WindowKind.DAY, date(2026, 11, 20))
    secret = secret_of(0)

    def are_drawn(number: int) -> list[bool]:
        on_device = sampled(FOUR, 2, day, secret_of(number))
        on_day = sampled(FOUR, 2, Window.at(WindowKind.DAY, day.starts_at + 86_400 * number), secret)
        return [frozenset(metric.name for metric in drawn) == pair for drawn in (on_device, on_day) for pair in PAIRS]

    batches = (np.array([are_drawn(number) for number in range(first, first + BATCH)]) for first in count(0, BATCH))
    return bool(accepts_each(batches, 1 / 6, 1 / 6 + 0.08).all())


def test_a_few_metrics_are_drawn_uniformly_for_each_device_and_window() -> None:
    assert draws_uniformly(participation.sampled)


@pytest.mark.parametrize("mutant", [by_the_day_alone, by_the_device_alone, by_turns])
def test_a_draw_that_is_not_uniform_is_refused(mutant: Sampled) -> None:
    assert not draws_uniformly(mutant)


def test_as_many_metrics_are_drawn_as_the_budget_has_answers() -> None:
    day = Window(WindowKind.DAY, date(2026, 11, 20))
    for number in range(1, 7):
        drawn = participation.sampled(FOUR, number, day, bytes(32))
        assert len({metric.name for metric in drawn}) == len(drawn) == min(number, 4)


@pytest.mark.parametrize(
    ("window", "last_day", "windows"),
    [
        (Window(WindowKind.DAY, date(2026, 11, 20)), date(2026, 11, 20), 1),
        (Window(WindowKind.DAY, date(2026, 11, 20)), date(2026, 11, 30), 11),
        (Window(WindowKind.DAY, date(2026, 11, 20)), date(2026, 11, 19), 0),
        (Window(WindowKind.DAY, date(2026, 11, 20)), date(2025, 11, 19), 0),
        (Window(WindowKind.WEEK, date(2026, 11, 16)), date(2026, 11, 22), 1),
        (Window(WindowKind.WEEK, date(2026, 11, 16)), date(2026, 11, 23), 2),
        (Window(WindowKind.WEEK, date(2026, 11, 16)), date(2026, 11, 15), 0),
        (Window(WindowKind.MONTH, date(2026, 11, 1)), date(2026, 11, 1), 1),
        (Window(WindowKind.MONTH, date(2026, 11, 1)), date(2027, 1, 1), 3),
        (Window(WindowKind.MONTH, date(2026, 11, 1)), date(2026, 10, 31), 0),
    ],
)
def test_windows_are_counted_as_long_as_one_begins_by_the_last_day(
    window: Window, last_day: date, windows: int
) -> None:
    assert windows_until(window, last_day) == windows
