"""Decides what a device must do at a given time.

The decisions depend on the registry and the calendar, never on an answer. `client_sdk.answers.dues`
carries out the decisions. A *slot* is a charge to the device's budget that is made when a window
begins, even if the app never records an answer in that window.
"""

from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

from client_sdk.protocol.budget import Strategy
from client_sdk.protocol.channel import Coins
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.window import GRACE_S, Window

RELEASE_SPREAD_S = 6 * 3600
"""The length, in seconds, of a period that begins at a window's end. Each report that waited for
this end is sent at a random time in the period, so that not all devices send at once. The collector
accepts reports until three days after the window's end."""


class Phase(Enum):
    """The state of a window at an instant."""

    RUNNING = "answers are recorded and added to counts"
    ENDED = "the window has ended, and its counts are reported"
    CLOSED = "collectors no longer accept reports for the window, so nothing is charged"


class EndedCount(NamedTuple):
    """The count of a window that has ended; ``answer`` is the number to report."""

    definition: Metric
    window: Window
    answer: int


class Due(NamedTuple):
    """The work that a device must do at an instant.

    Attributes:
        windows: the current windows whose slots must be paid, in the order of payment.
        next_s: the Unix time at which work is due next; None if no work will be due.
    """

    windows: tuple[Window, ...]
    next_s: float | None


def due(registry: Registry, instant_s: float, releases: Iterable[float] = ()) -> Due:
    """Return the work that is due at an instant.

    ``instant_s`` is the ledger's time in Unix seconds. The ledger's time follows the device's
    clock, but never goes back. ``releases`` contains, for each report that waits for its window's
    end, the Unix time at which the report will be sent.
    """
    metrics = registry.metrics.values()
    begin = {metric.window for metric in metrics if has_slots(registry, metric)}
    end = begin | {metric.window for metric in metrics if metric.kind.call != "record"}
    ends = (Window.at(kind, instant_s).ends_at for kind in end)
    return Due(
        tuple(Window.at(kind, instant_s) for kind in sorted(begin)),
        min((*ends, *releases), default=None),
    )


def has_slots(registry: Registry, definition: Metric) -> bool:
    """Whether a metric is charged when its window begins, not when an answer is recorded."""
    return registry.budget.strategy is not Strategy.SPLIT or definition.fill is not None


def phase(window: Window, instant_s: float) -> Phase:
    """Return the state of a window at an instant."""
    if instant_s < window.ends_at:
        return Phase.RUNNING
    return Phase.ENDED if instant_s < window.ends_at + GRACE_S else Phase.CLOSED


def release_s(window: Window, coins: Coins) -> int:
    """Return a random Unix time at which to send a report that waits for its window's end."""
    return window.ends_at + coins.below(RELEASE_SPREAD_S)
