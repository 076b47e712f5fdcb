"""Devices that live for months within seconds, on a ledger in memory and with a set clock."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Collection, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from client_sdk.answers import reporting
from client_sdk.answers.schedule import Schedule
from client_sdk.protocol import Metric, Registry, Window, WindowKind
from tests.support.devices.empty_ledgers import empty_ledger

DAY_S = 86_400
FIRST_S = int(datetime(2026, 1, 1, 12, tzinfo=UTC).timestamp())

IsOn = Callable[[int], bool]
"""Whether a device is on, by day."""


class SeededCoins:
    """Coins of a simulation, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 a simulation, not a device

    def bernoulli(self, numerator: int) -> bool:
        return self._random.getrandbits(64) < numerator

    def below(self, bound: int) -> int:
        return self._random.randrange(bound)


@dataclass(frozen=True)
class Charge:
    """A charge of a device."""

    metric: str
    window: str
    day: str
    nanos: int


def secret_of(seed: int) -> bytes:
    """Return the secret of a simulated device."""
    return random.Random(seed).randbytes(32)  # noqa: S311 a simulation, not a device


def always(_: int) -> bool:
    """Return True: the device is on every day."""
    return True


def on_random_days(seed: int, share: float) -> IsOn:
    """Return a rule that turns a device on, each day with a given probability."""
    drawn = random.Random(f"on {seed}")  # noqa: S311 a simulation, not a device
    days = [drawn.random() < share for _ in range(4000)]
    return lambda day: days[day]


def live(
    registry: Registry,
    seed: int,
    days: int,
    *,
    is_on: IsOn = always,
    answers: dict[str, object] | None = None,
    stopped: Collection[str] = (),
) -> list[Charge]:
    """Return all charges of a device that records answers for a number of days.

    Args:
        registry: the questions and ceilings.
        seed: of its secret and coins.
        days: how long it lives.
        is_on: on which days it runs.
        answers: what it records each day.
        stopped: the questions that the collector has stopped before its first day.

    """
    coins, recorded = SeededCoins(seed), list((answers or {}).items())
    with closing(empty_ledger()) as connection:
        connection.execute("UPDATE device SET secret = ?", (secret_of(seed),))
        keys = [(name, registry.metric(name).edition) for name in stopped]
        connection.executemany("INSERT OR REPLACE INTO editions VALUES (?, ?, 1)", keys)
        connection.execute("BEGIN")  # a single transaction: nobody else reads, and nothing fails
        schedule = Schedule(registry, coins)
        for day in range(days):
            if is_on(day):
                instant_s = schedule.catch_up(connection, FIRST_S + day * DAY_S)
                _record(connection, schedule, [(registry.metric(name), answer) for name, answer in recorded], instant_s)
        query = "SELECT metric, window, last_day, nanos FROM charges ORDER BY window, metric"
        return [Charge(*row) for row in connection.execute(query)]


def _record(
    connection: sqlite3.Connection, schedule: Schedule, answers: list[tuple[Metric, object]], instant_s: float
) -> None:
    for definition, answer in answers:
        window = Window.at(definition.window, instant_s)
        randomized = schedule.randomize(
            definition, partial(definition.encode, answer), partial(schedule.learn_secret, connection)
        )
        reporting.report(
            connection, schedule._registry, schedule._coins, definition, randomized, window=window, instant_s=instant_s
        )


def exceeded(registry: Registry, charges: list[Charge]) -> Iterator[str]:
    """Yield every ceiling that the charges exceed."""
    budget = registry.budget
    sums: dict[tuple[str, str], int] = {}
    for charge in charges:
        spent_s = Window.parse(charge.day).starts_at
        periods = (("window", budget.window), ("month", WindowKind.MONTH))
        for period in (*((name, Window.at(kind, spent_s).text) for name, kind in periods), ("life", "")):
            sums[period] = sums.get(period, 0) + charge.nanos
    ceilings = {"window": budget.per_window_nanos, "month": budget.per_month_nanos, "life": budget.lifetime_nanos}
    for (kind, name), nanos in sums.items():
        ceiling = ceilings[kind]
        if ceiling is not None and nanos > ceiling:
            yield f"{kind} {name}: {nanos} of {ceiling}"


def day_of(window: str) -> int:
    """Return the number of days between the first day and a window of one day."""
    return (Window.parse(window).starts_at - Window.at(WindowKind.DAY, FIRST_S).starts_at) // DAY_S
