"""Checks that a device's budget can pay for the first answer to every metric.

A valid registry may still fail in practice. For example, if all metrics together cost more than
`per_window`, no device answers the last metric, and nobody notices.

For each ceiling, the check adds up a device's possible charges until every metric has one answer.
`Budget.exceeded` compares the sum with the ceiling, as a device does before it reports. The sum
assumes the worst order of answers: before a metric's first answer, the other metrics are answered
in every overlapping window, up to the ceiling. For example, a device may answer a weekly metric six
times before a monthly metric. If windows differ in length, the sum may be too high, because the
worst order may be impossible.

Devices pay for a count after its window, and after the charges at the beginning of the next window
(see `client_sdk.answers.dues`). If any metric is a count, the sum therefore includes one more
charge for each metric that is charged at the beginning of a window.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal
from itertools import accumulate
from typing import NamedTuple

from client_sdk.protocol.budget import ATTOS, Budget, Ceiling, Cost, Spent, Strategy
from client_sdk.protocol.epsilon import NANOS
from client_sdk.protocol.horizon import IN_MONTH, IN_WINDOW
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.window import Window, WindowKind

MOST_TERMS = 6
"""The maximum number of metrics in the sum that a message shows. The last term combines all other
metrics."""


class _Term(NamedTuple):
    """The possible cost of a metric until every metric has one answer.

    The cost consists of ``times`` charges of the amount ``each``. The amount is in billionths of
    epsilon, or in units of 10**-18 of delta.
    """

    name: str
    times: int
    each: int

    @property
    def amount(self) -> int:
        return self.times * self.each

    def within(self, most: int) -> int:
        """Return the cost of the answers that ``most`` can pay for: from 1 to ``times`` answers."""
        times = min(self.times, max(1, most // self.each)) if self.each else 1
        return times * self.each


_Terms = list[_Term]


def shortages(budget: Budget, metrics: Mapping[str, Metric], today: date) -> list[str]:
    """Return a sentence for each ceiling that may prevent the first answer to a metric.

    Metrics that have expired by ``today`` cost nothing.
    """
    unexpired = [metric for metric in metrics.values() if not metric.has_expired(Window.on(metric.window, today))]
    sentences = []
    for ceiling, most in budget.ceilings.items() if unexpired else ():
        sums = list(_sums(budget, ceiling, unexpired))
        cost = max(sum(term.within(most) for term in terms) for _, terms in sums)
        if ceiling in budget.exceeded(Spent(), Cost(0, cost) if ceiling is Ceiling.DELTA else Cost(cost)):
            when, terms = max(sums, key=lambda pair: _total(pair[1]))  # the largest sum
            sentences.append(_sentence(budget, ceiling, most, when, terms))
    return sentences


def _sums(budget: Budget, ceiling: Ceiling, metrics: list[Metric]) -> Iterator[tuple[WindowKind, _Terms]]:
    """Yield candidates for the largest sum, each as a kind of window and the sum's terms."""
    if budget.strategy is not Strategy.SPLIT:
        terms = sorted((_term(metric, ceiling, 1) for metric in metrics), key=lambda term: -term.amount)
        yield budget.window, terms if _for_life(ceiling) else terms[: budget.answers]
        return
    filled = [metric for metric in metrics if metric.fill is not None]
    yield budget.window, [_term(metric, ceiling, 1) for metric in filled]  # charged before anything is recorded
    unfilled_kinds = {metric.window for metric in metrics if metric.fill is None}
    counted = {metric.window for metric in metrics if metric.fill is None and metric.kind.call != "record"}
    for kind in (kind for kind in WindowKind if kind in unfilled_kinds):
        yield (
            kind,
            [_term(metric, ceiling, _times(budget, ceiling, kind, metric, kind in counted)) for metric in metrics],
        )


def _for_life(ceiling: Ceiling) -> bool:
    """Whether a ceiling applies to a device's whole lifetime."""
    return ceiling in (Ceiling.LIFETIME, Ceiling.DELTA)


def _term(metric: Metric, ceiling: Ceiling, times: int) -> _Term:
    return _Term(metric.name, times, metric.cost.attos if ceiling is Ceiling.DELTA else metric.cost.nanos)


def _times(budget: Budget, ceiling: Ceiling, kind: WindowKind, metric: Metric, counts: bool) -> int:  # noqa: FBT001 a fact
    """Return how often a metric may be charged before every metric has been charged once.

    Only charges that count towards the ceiling are included.

    ``kind`` is the kind of window in which the charges are counted. ``counts`` says whether any
    metric with this kind of window is a count, which is charged after its window.
    """
    bounds = [IN_WINDOW[kind][metric.window] + (counts and metric.fill is not None)]
    if ceiling is Ceiling.PER_WINDOW:
        bounds.append(IN_WINDOW[budget.window][metric.window])
    elif ceiling is Ceiling.PER_MONTH:
        bounds.append(IN_MONTH[metric.window])
    return min(bounds) if _term(metric, ceiling, 1).each else 1


def _total(terms: _Terms) -> int:
    return sum(term.amount for term in terms)


def _sentence(budget: Budget, ceiling: Ceiling, most: int, when: WindowKind, terms: _Terms) -> str:
    costs = f"the first {when} of a device may cost"
    consequence = _CONSEQUENCES[budget.strategy]
    if any(term.times > 1 for term in terms):
        consequence = "the last answers may be out_of_budget"
    if budget.strategy is Strategy.SAMPLE and _for_life(ceiling):
        costs = "one answer to each question costs"
        consequence = f"no device ever answers more than {_answers_within(most, terms)} of {len(terms)} questions"
    total, allowed = _written(_total(terms), ceiling), _written(most, ceiling)
    return (
        f"budget.{ceiling}: {costs} {_written_sum(terms, ceiling)} = {total}, but the ceiling is {allowed}; "
        f"{consequence}; raise {ceiling} to {total}, or ask less"
    )


def _answers_within(most: int, terms: _Terms) -> int:
    return sum(total <= most for total in accumulate(sorted(term.amount for term in terms)))


def _written_sum(terms: _Terms, ceiling: Ceiling) -> str:
    shown = sorted((term for term in terms if term.amount), key=lambda term: -term.amount)
    parts = [_part(term, ceiling) for term in shown[:MOST_TERMS]]
    if shown[MOST_TERMS:]:
        rest = shown[MOST_TERMS:]
        parts.append(f"{_written(_total(rest), ceiling)} ({len(rest)} more)")
    return " + ".join(parts)


_CONSEQUENCES = {
    Strategy.SPLIT: "the last answer is out_of_budget on every device",
    Strategy.SAMPLE: "a question drawn together with expensive questions is not asked",
    Strategy.PACE: "some questions are never asked",
}


def _part(term: _Term, ceiling: Ceiling) -> str:
    times = f"{term.times} times " if term.times > 1 else ""
    return f"{times}{_written(term.each, ceiling)} ({term.name})"


def _written(amount: int, ceiling: Ceiling) -> str:
    number = Decimal(amount) / (ATTOS if ceiling is Ceiling.DELTA else NANOS)
    return f"{number.normalize():f}"
