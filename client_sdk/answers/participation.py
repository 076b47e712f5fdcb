"""Which questions this device answers in a window: by the calendar, the ledger and its secret, never by an answer.

What is drawn is paid for when its window begins, whether or not anything is recorded, so that neither the device's
silence nor its spending tells anything of the answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from client_sdk.answers import coins as prf
from client_sdk.ledger import charges
from client_sdk.protocol.budget import Strategy
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.window import Window, WindowKind

if TYPE_CHECKING:
    import sqlite3
    from datetime import date

UNIFORM_BITS = 53
"""Of a fraction that is drawn: as many as a float holds."""


def has_slots(registry: Registry, definition: Metric) -> bool:
    """Whether reports of a metric are paid for when their window begins, and not when something is recorded."""
    return registry.budget.strategy is not Strategy.SPLIT or definition.fill is not None


def window_nanos(registry: Registry) -> int:
    """Return what a window costs at most in which the device answers what it is asked, in billionths."""
    dearest = sorted((metric.charge_nanos for metric in registry.metrics.values()), reverse=True)
    return sum(dearest[: registry.budget.answers])


def drawn(connection: sqlite3.Connection, registry: Registry, window: Window, secret: bytes) -> list[Metric]:
    """Return the metrics that get a slot in a window that begins, in the order in which they are paid for."""
    asked = [
        metric
        for metric in registry.metrics.values()
        if metric.window is window.kind and not metric.has_expired(window)
    ]
    match registry.budget.strategy:
        case Strategy.SPLIT:
            return [metric for metric in asked if metric.fill is not None]
        case Strategy.SAMPLE:
            return sampled(asked, registry.budget.answers or 0, window, secret)
        case Strategy.PACE:
            return asked if asked and _is_paced(connection, asked, registry, window, secret) else []


def sampled(asked: list[Metric], answers: int, window: Window, secret: bytes) -> list[Metric]:
    """Return so many of the metrics, drawn uniformly without repetition."""
    return sorted(asked, key=lambda metric: prf.derive(secret, prf.PARTICIPATION, window.text, metric.name))[:answers]


def _is_paced(
    connection: sqlite3.Connection, asked: list[Metric], registry: Registry, window: Window, secret: bytes
) -> bool:
    """Whether this is the one window of its stratum in which the device takes part.

    The windows until the last question expires are divided into strata, as many as the budget that is left can pay
    for; one window of each is drawn. A stratum is measured when it begins, so that windows in which the device was
    off are made up for later, and the budget lasts to the end.
    """
    row = connection.execute("SELECT chosen_s, end_s, done FROM stratum").fetchone()
    if row is None or window.starts_at >= row[1]:
        length = _stratum_length(connection, asked, registry, window, secret)
        if length is None:
            return False
        coins = prf.PrfCoins(secret, prf.PARTICIPATION, window.text)
        row = (_later(window, coins.below(length)).starts_at, _later(window, length).starts_at, 0)
        connection.execute("DELETE FROM stratum")
        connection.execute("INSERT INTO stratum VALUES (?, ?, ?)", row)
    chosen_s, _, done = row
    if done or window.starts_at < chosen_s:
        return False
    connection.execute("UPDATE stratum SET done = 1")
    return True


def _stratum_length(
    connection: sqlite3.Connection, asked: list[Metric], registry: Registry, window: Window, secret: bytes
) -> int | None:
    """Return how many windows there are for each that can be paid for; a fraction is rounded up as often as it says."""
    left = registry.budget.lifetime_nanos - charges.lifetime_nanos(connection)
    once = sum(metric.charge_nanos for metric in asked)
    if left < once or once == 0:
        return None
    wanted = sum(
        metric.charge_nanos * windows_until(window, metric.expires) for metric in asked if metric.expires is not None
    )
    scale = 1 << UNIFORM_BITS
    fraction = prf.PrfCoins(secret, prf.PARTICIPATION, window.text, "stratum length").below(scale)
    return max(1, (wanted * scale // left + fraction) // scale)


def windows_until(window: Window, last_day: date) -> int:
    """Return how many windows begin from this one on until a last day, both included."""
    first = window.first_day
    if window.kind is WindowKind.MONTH:
        return max(0, (last_day.year - first.year) * 12 + last_day.month - first.month + 1)
    days = (last_day - first).days
    return max(0, days // (7 if window.kind is WindowKind.WEEK else 1) + 1)


def _later(window: Window, windows: int) -> Window:
    for _ in range(windows):
        window = Window.of(window.kind, window.ends_at)
    return window
