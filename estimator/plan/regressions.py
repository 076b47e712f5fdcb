"""Warnings about changes to a registry that let devices reveal more than before."""

from __future__ import annotations

from collections.abc import Iterator

from client_sdk.protocol.budget import ATTOS, Budget, Strategy
from client_sdk.protocol.epsilon import as_float
from client_sdk.protocol.horizon import IN_YEAR
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.window import WindowKind

LENGTHS = (WindowKind.DAY, WindowKind.WEEK, WindowKind.MONTH)
"""The kinds of windows, from the shortest to the longest."""

REDRAWN = "its permanent answers are drawn again for the new edition"

CARRIED_OVER = "earlier charges also count toward the new windows that contain their dates"


def regressions(old: Registry, new: Registry) -> list[str]:
    """Return a line for each change that lets a device reveal more than before."""
    lines = list(_of_budget(old.budget, new.budget))
    for name, metric in new.metrics.items():
        if name in old.metrics:
            lines += [f"metric.{name}: {what}" for what in _of_metric(old.metrics[name], metric)]
        else:
            lines.append(f"metric.{name}: is new; {_cost(metric)}")
    return lines


def remarks(old: Registry, new: Registry) -> list[str]:
    """Return a line for each change that looks like a regression but is harmless."""
    before, after = old.budget, new.budget
    if before.window is after.window or _loosened_by_period(before, after) is not None:
        return []
    tighter = f"per_window now limits each {after.window} as a whole"
    return [f"budget.window: was changed from {before.window} to {after.window}; {tighter}, and {CARRIED_OVER}"]


def _loosened_by_period(old: Budget, new: Budget) -> str | None:
    """Return how a new ``budget.window`` lets devices spend more than before.

    Return None if devices cannot spend more.
    """
    if LENGTHS.index(new.window) < LENGTHS.index(old.window):
        return f"each {new.window} may now cost as much as each {old.window} could"
    if new.window is old.window:
        return None
    if old.window is WindowKind.WEEK and 2 * new.per_window_nanos > old.per_window_nanos:
        return "a week that belongs to two months may cost per_window twice"
    if old.window is WindowKind.DAY and new.per_window_nanos > old.per_window_nanos:
        return f"one day may now cost as much as a {new.window}"
    return None


def _of_budget(old: Budget, new: Budget) -> Iterator[str]:
    ceilings = {
        "per_window": (old.per_window_nanos, new.per_window_nanos),
        "per_month": (old.per_month_nanos, new.per_month_nanos),
        "lifetime": (old.lifetime_nanos, new.lifetime_nanos),
    }
    for key, (before, after) in ceilings.items():
        if before is not None and (after is None or after > before):
            now = "removed" if after is None else f"raised to {_shown(after)}"
            yield f"budget.{key}: was {now} (previously {_shown(before)})"
    if new.lifetime_attos > old.lifetime_attos:
        yield f"budget.delta: was raised to {new.lifetime_attos / ATTOS:g} (previously {old.lifetime_attos / ATTOS:g})"
    loosened = _loosened_by_period(old, new)
    if loosened is not None:
        yield f"budget.window: was changed from {old.window} to {new.window}; {loosened}, and {CARRIED_OVER}"
    if old.strategy is not Strategy.SPLIT and new.strategy is Strategy.SPLIT:
        yield f'budget.strategy: was "{old.strategy}"; now every question is answered in every window'
    if old.strategy is Strategy.PACE and new.strategy is Strategy.SAMPLE:
        yield 'budget.strategy: was "pace"; now some questions are answered in every window'
    if old.strategy is Strategy.SAMPLE and new.strategy is Strategy.PACE:
        yield 'budget.strategy: was "sample"; now every question is answered in the windows that are selected'
    if old.answers is not None and new.answers is not None and new.answers > old.answers:
        yield f"budget.answers: was raised to {new.answers} (previously {old.answers})"


def _of_metric(old: Metric, new: Metric) -> Iterator[str]:
    if new.epsilon_nanos > old.epsilon_nanos:
        yield f"epsilon was raised to {_shown(new.epsilon_nanos)} (previously {_shown(old.epsilon_nanos)})"
    if new.delta > old.delta:
        yield f"delta was raised to {float(new.delta):.3g} (previously {float(old.delta):.3g})"
    if old.channel.permanent_nanos:
        yield from _of_permanence(old, new)
    if old.expires is not None and (new.expires is None or new.expires > old.expires):
        now = "no longer expires" if new.expires is None else f"now expires on {new.expires}"
        yield f"it {now} (previously on {old.expires})"
    if new.persist and not old.persist:
        yield "persist was turned on: the running count, which is a true answer, is stored on disk"
    if new.edition != old.edition:
        yield f"its meaning changed, so it is a new question with another edition ({new.edition}); {_cost(new)}"
        if old.channel.permanent_nanos and new.channel.permanent_nanos:
            yield f"{REDRAWN}, so the losses of both editions add up, within the lifetime ceiling"


def _of_permanence(old: Metric, new: Metric) -> Iterator[str]:
    if not new.channel.permanent_nanos:
        yield "answers are no longer permanent, so repeated reports of an unchanged answer now reveal more"
    elif new.channel.permanent_nanos > old.channel.permanent_nanos:
        raised = f"{_shown(new.channel.permanent_nanos)} (previously {_shown(old.channel.permanent_nanos)})"
        yield f"permanent_epsilon was raised to {raised}"


def _cost(metric: Metric) -> str:
    each = f"each report costs epsilon {_shown(metric.epsilon_nanos)}"
    year = f"the reports of a year (one per {metric.window}) would cost up to"
    return f"{each}; without the ceilings, {year} {_shown(IN_YEAR[metric.window] * metric.epsilon_nanos)}"


def _shown(nanos: int) -> str:
    return f"{as_float(nanos):.9g}"
