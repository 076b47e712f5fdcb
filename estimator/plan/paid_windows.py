"""The windows in which the budget certainly pays for all answers.

This module computes the largest epsilons and deltas that a device may have been charged by the end
of each day. The module makes three assumptions:

* A device is charged for a window on the first day of the window.
* The charge for a window counts in every month that the window overlaps.
* A device that answers a random selection of metrics answers the costliest metrics.

If neither the sum of the epsilons nor the sum of the deltas ever exceeds a ceiling in ``[budget]``,
the budget certainly pays for all answers. Otherwise, a ceiling may prevent some answers.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, Final, NamedTuple

from client_sdk.protocol.budget import Budget, Ceiling, Cost, Spent, Strategy
from client_sdk.protocol.epsilon import as_float
from client_sdk.protocol.horizon import IN_WINDOW, windows_left
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.window import LATEST_YEAR, Window, WindowKind
from client_sdk.protocol.window_steps import later, windows_until
from estimator.results.estimate import Record, says
from estimator.words import plural

YEARS: Final = 10
"""The number of years that a plan covers if a metric does not expire."""

DAY: Final = timedelta(days=1)

FOR_LIFE: Final = frozenset({Ceiling.LIFETIME, Ceiling.DELTA})


class Exhaustion(NamedTuple):
    """A ceiling, and the period in which this ceiling may prevent answers."""

    ceiling: Ceiling
    first_day: date
    last_day: date


class PaidWindows(Record, frozen=True):
    """The windows in which every device's budget certainly pays for an answer to a metric."""

    paid: Annotated[int, says("the number of windows that the budget pays for.")]
    windows: Annotated[int, says("the number of windows until the question expires, or within ten years.")]
    until: Annotated[
        date | None,
        says("the last day before the first window that may not be paid for. None if this is the very first window."),
    ]


class _Begun(NamedTuple):
    last_day: date
    cost: Cost


class _Sums:
    """The largest epsilons and deltas that a device may have been charged by the end of a day."""

    def __init__(self, registry: Registry, today: date) -> None:
        self._registry = registry
        self._today = today
        self._costs = {name: metric.cost for name, metric in registry.metrics.items()}
        self._nanos = self._attos = self._earlier_months = 0
        self._window: list[_Begun] = []
        self._month: list[_Begun] = []
        self._periods = self._periods_of_month = 0

    def spent(self, day: date) -> Spent:
        """Return the largest sums that may have been charged by the end of ``day``.

        This method must be called for each day in turn, beginning with the first day of the plan.
        """
        if day.day == 1 and day != self._today:
            self._earlier_months += self._of_month()
            self._month = [begun for begun in self._month if begun.last_day >= day]
            self._periods_of_month = 0
        is_new = self._begins(self._registry.budget.window, day)
        if is_new:
            self._window = [begun for begun in self._window if begun.last_day >= day]
        self._periods += is_new
        self._periods_of_month += is_new or day.day == 1
        for begun in self._begun(day):
            self._window.append(begun)
            self._month.append(begun)
            self._nanos += begun.cost.nanos
            self._attos += begun.cost.attos
        return Spent(
            window_nanos=sum(begun.cost.nanos for begun in self._window),
            month_nanos=self._uncut_month(),
            life_nanos=min(self._nanos, self._by_window(self._periods), self._earlier_months + self._of_month()),
            life_attos=self._attos,
        )

    def _by_window(self, periods: int) -> int:
        return periods * self._registry.budget.per_window_nanos

    def _uncut_month(self) -> int:
        begun = sum(begun.cost.nanos for begun in self._month)
        return min(begun, self._by_window(self._periods_of_month))

    def _of_month(self) -> int:
        most = self._registry.budget.per_month_nanos
        return self._uncut_month() if most is None else min(most, self._uncut_month())

    def _begins(self, kind: WindowKind, day: date) -> bool:
        return day == self._today or Window.on(kind, day).first_day == day

    def _begun(self, day: date) -> Iterator[_Begun]:
        for kind in WindowKind:
            if self._begins(kind, day):
                window = Window.on(kind, day)
                yield _Begun(window.last_day, self._cost(window))

    def _cost(self, window: Window) -> Cost:
        costs = [
            self._costs[name]
            for name, metric in self._registry.metrics.items()
            if metric.window is window.kind and not metric.has_expired(window)
        ]
        answers = self._registry.budget.answers
        nanos = sorted((cost.nanos for cost in costs), reverse=True)
        attos = sorted((cost.attos for cost in costs), reverse=True)
        return Cost(sum(nanos[:answers]), sum(attos[:answers]))


def exhaustions(registry: Registry, today: date) -> list[Exhaustion]:
    """Return the periods in which ceilings may prevent an answer, in chronological order.

    With ``strategy = "pace"``, there are no such periods. A device then answers only in the windows
    that the ceilings allow (see `participations`).
    """
    end = _end(registry, today)
    exhausted: list[Exhaustion] = []
    if registry.budget.strategy is Strategy.PACE:
        return exhausted
    sums, day = _Sums(registry, today), today
    while day <= end:
        denying = registry.budget.exceeded(sums.spent(day), Cost(0))
        for ceiling in denying:
            last_day = _renewed(ceiling, registry.budget, day) or end
            if not exhausted or exhausted[-1].last_day < last_day or last_day == end:
                exhausted.append(Exhaustion(ceiling, day, last_day))
        if FOR_LIFE.intersection(denying):
            break
        day += DAY
    return exhausted


def _renewed(ceiling: Ceiling, budget: Budget, day: date) -> date | None:
    """Return the last day of the ceiling's period that contains ``day``.

    Return None for a lifetime ceiling.
    """
    if ceiling in FOR_LIFE:
        return None
    return Window.on(budget.window if ceiling is Ceiling.PER_WINDOW else WindowKind.MONTH, day).last_day


def paid_windows(metric: Metric, exhausted: Sequence[Exhaustion], today: date) -> PaidWindows | None:
    """Return the windows in which the budget certainly pays for a metric's answer.

    None means that the budget pays in all windows of the metric.
    """
    if not exhausted:
        return None
    # A count is charged after its window has ended. The next window may be charged earlier.
    wait = DAY if metric.kind.call != "record" else timedelta()
    return _paid(metric.window, today, _last_day(metric, today), wait, tuple(exhausted))


@lru_cache
def _paid(
    kind: WindowKind, today: date, end: date, wait: timedelta, exhausted: tuple[Exhaustion, ...]
) -> PaidWindows | None:
    """Return the windows until ``end`` that the budget pays for. None means all of these windows.

    Results are cached, because many metrics have the same result.
    """
    firsts = [exhaustion.first_day for exhaustion in exhausted]
    paid = windows = 0
    until: date | None = None
    window = Window.on(kind, today)
    while window.first_day <= end:
        nearest = bisect_right(firsts, window.last_day + wait)
        if nearest == 0 or exhausted[nearest - 1].last_day < window.first_day:
            until = window.last_day if paid == windows else until
            paid += 1
        windows += 1
        window = Window.on(kind, window.last_day + DAY)
    return None if paid == windows else PaidWindows(paid, windows, until)


def participations(registry: Registry, today: date) -> Fraction:
    """Return the fraction of windows in which a device with the strategy ``"pace"`` answers.

    Until the last metric expires, the device answers in all windows that the ceilings allow.
    """
    windows = _windows(registry, today)
    return Fraction(min(windows, *_affordable(registry, today).values()), windows) if windows else Fraction(1)


def _windows(registry: Registry, today: date) -> int:
    return max((windows_left(metric, today) or 0 for metric in registry.metrics.values()), default=0)


def _affordable(registry: Registry, today: date) -> dict[Ceiling, int]:
    """Return, for each ceiling, the number of windows that the ceiling can pay for in full."""
    budget, windows = registry.budget, _windows(registry, today)
    left = [(metric.cost, number) for metric in registry.metrics.values() if (number := windows_left(metric, today))]
    nanos, attos = (sum(cost[part] * number for cost, number in left) for part in range(2))
    affordable = {Ceiling.LIFETIME: budget.lifetime_nanos * windows // max(1, nanos)}
    if attos:
        affordable[Ceiling.DELTA] = budget.lifetime_attos * windows // attos
    if budget.per_month_nanos is not None and windows:
        each = budget.per_month_nanos // max(1, sum(cost.nanos for cost, _ in left))
        by_month = _by_month(budget.window, today, _end(registry, today))
        paid = sum(min(each, number) for number in by_month.values())
        affordable[Ceiling.PER_MONTH] = paid * windows // by_month.total()
    return affordable


def ceiling_notes(registry: Registry, today: date, exhausted: Sequence[Exhaustion]) -> list[str]:
    """Return a sentence about each ceiling that may be too low to pay for all answers.

    ``exhausted`` is the result of `exhaustions`, which takes long to compute.
    """
    budget = registry.budget
    device = "storage" if budget.may_be_wiped else "device"
    first_of = {exhaustion.ceiling: exhaustion.first_day for exhaustion in reversed(exhausted)}
    notes = [*_of_window(registry, today), *_of_pace(registry, today)]
    if Ceiling.PER_MONTH in first_of:
        notes.append(
            f"per_month may be used up before a month ends, for the first time on {first_of[Ceiling.PER_MONTH]}; until "
            f"the next month, a {device} then answers fewer questions or none"
        )
    first_windows = {
        ceiling: plural(_before(budget, today, day), "window")
        for ceiling, day in first_of.items()
        if ceiling in FOR_LIFE
    }
    what = "all questions" if budget.answers is None else f"the {plural(budget.answers, 'costliest question')}"
    notes.extend(
        f"the {ceiling} ceiling may be reached on {first_of[ceiling]} or later, after {windows} ({budget.window}) with "
        f"answers to {what}; from then on, a {device} answers fewer questions or none"
        for ceiling, windows in first_windows.items()
    )
    return notes


def _of_window(registry: Registry, today: date) -> Iterator[str]:
    budget = registry.budget
    left = [metric for metric in registry.metrics.values() if windows_left(metric, today) != 0]
    costs = sorted((IN_WINDOW[budget.window][metric.window] * metric.epsilon_nanos for metric in left), reverse=True)
    cost = sum(costs[: budget.answers])
    what = "all questions" if budget.answers is None else f"the {plural(budget.answers, 'costliest question')}"
    if cost > budget.per_window_nanos:
        yield (
            f"answers to {what} in a {budget.window} cost up to {as_float(cost):.6g}, which is more than per_window "
            f"({as_float(budget.per_window_nanos):.6g}) allows; some of these questions will not be answered"
        )


def _of_pace(registry: Registry, today: date) -> Iterator[str]:
    """Yield a sentence about each ceiling that the strategy ``"pace"`` may use up too early.

    The strategy spreads the lifetime ceiling evenly over a device's windows, but not the other
    ceilings.
    """
    if registry.budget.strategy is not Strategy.PACE:
        return
    windows, affordable = _windows(registry, today), _affordable(registry, today)
    paced = min(windows, affordable[Ceiling.LIFETIME])
    for ceiling, number in affordable.items():
        if number < paced or (number == 0 < windows):
            yield (
                f"{ceiling} pays for only {number:,} of {plural(windows, 'window')} ({registry.budget.window}); a "
                "device then stops answering, so the fraction of devices that answer is an average over all windows"
            )


def _before(budget: Budget, today: date, day: date) -> int:
    """Return the number of budget windows, from today's window on, that end before ``day``."""
    return windows_until(Window.on(budget.window, today), day) - 1


def _by_month(kind: WindowKind, today: date, end: date) -> Counter[tuple[int, int]]:
    """Return the number of windows that begin in each month, from this month to that of ``end``."""
    first = Window.on(kind, today)
    days = [later(first, number).first_day for number in range(windows_until(first, end))]
    return Counter((day.year, day.month) for day in days)


def _end(registry: Registry, today: date) -> date:
    return max(_last_day(metric, today) for metric in registry.metrics.values())


def _last_day(metric: Metric, today: date) -> date:
    """Return the last day on which a metric's window may begin, within `YEARS` years from today."""
    year = today.year + YEARS
    farthest = date(year, today.month, min(today.day, 28)) if year <= LATEST_YEAR else date(LATEST_YEAR, 12, 31)
    return farthest if metric.expires is None else min(metric.expires, farthest)
