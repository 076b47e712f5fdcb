"""Decides which metrics this device answers in a window, according to the budget's strategy.

The decision depends on the calendar, the ledger and the device's secret, but never on an answer.
The device pays for a selected metric when its window begins, even if the app never records an
answer. Therefore neither a missing report nor the spent budget reveals anything about answers.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from client_sdk.answers import prf_coins as prf
from client_sdk.ledger import charges, registries
from client_sdk.ledger.charges import Periods
from client_sdk.protocol.budget import Strategy
from client_sdk.protocol.errors import WindowError
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.window import LATEST_YEAR, Window
from client_sdk.protocol.window_steps import later, windows_until

if TYPE_CHECKING:
    import sqlite3

UNIFORM_BITS = 53
"""The precision, in bits, of a random fraction from 0 to 1. A float has the same precision."""

NEVER_S = int(datetime(LATEST_YEAR + 1, 1, 1, tzinfo=UTC).timestamp())
"""The end of the last valid window, in Unix seconds. The SDK rejects a clock that shows a later
time."""


def window_nanos(registry: Registry, day: Window) -> int:
    """Return the maximum total cost of the windows that contain a day, in billionths of epsilon."""
    unexpired = (
        metric
        for metric in registry.metrics.values()
        if not metric.has_expired(Window.at(metric.window, day.starts_at))
    )
    costliest = sorted((metric.epsilon_nanos for metric in unexpired), reverse=True)
    return sum(costliest[: registry.budget.answers])


def open_slots(  # noqa: PLR0913 what the selection depends on
    connection: sqlite3.Connection,
    registry: Registry,
    secret: bytes,
    window: Window,
    instant_s: float,
    *,
    is_covered: Callable[[str], bool] = lambda _: True,
) -> None:
    """Charge the budget for each metric that this device answers in a window.

    A repeated call for the same window charges nothing more.

    ``instant_s`` determines the day and month of the charges. ``is_covered`` returns whether the
    user has agreed to a metric. Metrics that the user has not agreed to are not charged, and no
    other metrics take their place. Otherwise, users who often change their consent would answer
    more metrics than other users.
    """
    if connection.execute("SELECT 1 FROM slots WHERE window = ?", (window.text,)).fetchone():
        return
    connection.execute("INSERT INTO slots VALUES (?)", (window.text,))
    periods = Periods.at(registry.budget, instant_s)
    for definition in drawn(connection, registry, window, secret):
        key = (definition.name, definition.edition, window.text)
        # A selected question that is stopped is not charged, and no other question replaces it.
        is_asked = is_covered(definition.name) and not registries.is_stopped(connection, *key[:2])
        if is_asked and charges.slot(connection, key) is None:
            charges.charge(connection, key, definition.cost, registry.budget, periods)


def drawn(connection: sqlite3.Connection, registry: Registry, window: Window, secret: bytes) -> list[Metric]:
    """Return the metrics to charge when this window begins, in the order of payment."""
    metrics = [
        metric
        for metric in registry.metrics.values()
        if metric.window is window.kind and not metric.has_expired(window)
    ]
    match registry.budget.strategy:
        case Strategy.SPLIT:
            return [metric for metric in metrics if metric.fill is not None]
        case Strategy.SAMPLE:
            return sampled(metrics, registry.budget.answers or 0, window, secret)
        case Strategy.PACE:
            return metrics if metrics and _is_paced(connection, metrics, registry, window, secret) else []


def sampled(metrics: list[Metric], answers: int, window: Window, secret: bytes) -> list[Metric]:
    """Return ``answers`` different metrics, drawn with coins derived from the secret and window."""
    return sorted(metrics, key=lambda metric: prf.derive(secret, prf.PARTICIPATION, window.text, metric.name))[:answers]


def _is_paced(
    connection: sqlite3.Connection, metrics: list[Metric], registry: Registry, window: Window, secret: bytes
) -> bool:
    """Whether the device participates in this window.

    All windows until the last metric expires are divided into *strata*. The number of strata is the
    number of windows that the remaining budget can pay for. For example, if 40 weeks are left and
    the budget pays for 4 of them, each stratum has 10 weeks. The device answers in one random
    window of each stratum. The length of a stratum is computed when the stratum begins. A device
    that was off for some windows has spent less, so its following strata are shorter.
    """
    row = connection.execute("SELECT chosen_s, end_s, done FROM stratum").fetchone()
    if row is None or window.starts_at >= row[1]:
        length = _stratum_length(connection, metrics, registry, window, secret)
        if length is None:
            return False
        coins = prf.PrfCoins(secret, prf.PARTICIPATION, window.text)
        row = (_starts_at(window, coins.below(length)), _starts_at(window, length), 0)
        connection.execute("DELETE FROM stratum")
        connection.execute("INSERT INTO stratum VALUES (?, ?, ?)", row)
    chosen_s, _, done = row
    if done or window.starts_at < chosen_s:
        return False
    connection.execute("UPDATE stratum SET done = 1")
    return True


def _stratum_length(
    connection: sqlite3.Connection, metrics: list[Metric], registry: Registry, window: Window, secret: bytes
) -> int | None:
    """Return how many windows the next stratum has; None if the budget cannot pay for a window.

    The exact length is the cost of all remaining windows, divided by the remaining budget. The
    length is rounded randomly without bias: 2.3 becomes 3 with probability 0.3, and otherwise 2.
    """
    left_nanos = registry.budget.lifetime_nanos - charges.lifetime_nanos(connection)
    window_nanos = sum(metric.epsilon_nanos for metric in metrics)
    if left_nanos < window_nanos or window_nanos == 0:
        return None
    needed_nanos = sum(
        metric.epsilon_nanos * windows_until(window, metric.expires) for metric in metrics if metric.expires is not None
    )
    scale = 1 << UNIFORM_BITS
    fraction = prf.PrfCoins(secret, prf.PARTICIPATION, window.text, "stratum length").below(scale)
    return max(1, (needed_nanos * scale // left_nanos + fraction) // scale)


def _starts_at(window: Window, windows: int) -> int:
    """Return the start of the window that is ``windows`` windows after ``window``.

    Returns `NEVER_S` if that window is beyond the last valid date.
    """
    try:
        return later(window, windows).starts_at
    except WindowError:
        return NEVER_S
