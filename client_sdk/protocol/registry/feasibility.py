"""Whether a device can pay for the first answer to every question.

A registry may be free of mistakes and still not work: if a device's first day costs more than
`per_window`, whichever question comes last gets no answer, on any device, and nobody sees why.

Charges are those of the ledger, and `Budget.exceeded` decides here as it does there. A sum is that
of the worst order of answers: before the first answer to a question, all others were answered once
in each of their windows that its first window touches, as far as a ceiling alone would let them. So
a registry without a shortage never fails a first answer. If questions with shorter windows make a
sum, it is an upper bound: some numbers cannot be used up in that order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import NamedTuple

from client_sdk.protocol.budget import ATTOS, Budget, Ceiling, Cost, Spent, Strategy
from client_sdk.protocol.epsilon import NANOS
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.window import IN_MONTH, IN_WINDOW, WindowKind

MOST_TERMS = 6
"""Of a sum in a sentence: as many as can be read at a glance. The rest is one term."""


class _Term(NamedTuple):
    """What a question costs before all questions have had one answer."""

    name: str
    times: int
    each: int
    once: int

    @property
    def amount(self) -> int:
        return self.times * self.each + self.once


def shortages(budget: Budget, metrics: Mapping[str, Metric]) -> list[str]:
    """Return a sentence for each ceiling under which some question may lack its first answer."""
    sentences = []
    for ceiling in Ceiling:
        most = budget.most(ceiling)
        if most is None:
            continue
        when, terms = max(_sums(budget, ceiling, most, list(metrics.values())), key=lambda pair: _total(pair[1]))
        cost = Cost(0, _total(terms)) if ceiling is Ceiling.DELTA else Cost(_total(terms))
        if ceiling in budget.exceeded(Spent(), cost):
            sentences.append(_sentence(budget, ceiling, most, when, terms))
    return sentences


def _sums(
    budget: Budget, ceiling: Ceiling, most: int, metrics: list[Metric]
) -> Iterator[tuple[WindowKind, list[_Term]]]:
    """Yield what a first window costs, with its kind, for each kind that may be the dearest."""
    if budget.strategy is not Strategy.SPLIT:
        terms = sorted((_term(metric, ceiling, 1) for metric in metrics), key=lambda term: -term.amount)
        yield budget.window, terms[: budget.answers]
        return
    filled = [metric for metric in metrics if metric.fill is not None]
    yield budget.window, [_term(metric, ceiling, 1) for metric in filled]  # paid for before anything is recorded
    asked = {metric.window for metric in metrics if metric.fill is None}
    for kind in (kind for kind in WindowKind if kind in asked):
        yield kind, [_term(metric, ceiling, _times(budget, ceiling, most, kind, metric)) for metric in metrics]


def _term(metric: Metric, ceiling: Ceiling, times: int) -> _Term:
    each, once = (metric.cost.attos, 0) if ceiling is Ceiling.DELTA else (metric.cost.nanos, metric.reserve_nanos)
    return _Term(metric.name, times, each, once)


def _times(budget: Budget, ceiling: Ceiling, most: int, kind: WindowKind, metric: Metric) -> int:
    """Return how often a metric may be charged to a ceiling within the first window of a kind."""
    bounds = [IN_WINDOW[kind][metric.window]]
    if ceiling is Ceiling.PER_WINDOW:
        bounds.append(IN_WINDOW[budget.window][metric.window])
    elif ceiling is Ceiling.PER_MONTH:
        bounds.append(IN_MONTH[metric.window])
    each = _term(metric, ceiling, 1).each
    return min(*bounds, max(1, most // each)) if each else 1


def _total(terms: list[_Term]) -> int:
    return sum(term.amount for term in terms)


def _sentence(budget: Budget, ceiling: Ceiling, most: int, when: WindowKind, terms: list[_Term]) -> str:
    shown = sorted((term for term in terms if term.amount), key=lambda term: -term.amount)
    parts = [_part(term, ceiling) for term in shown[:MOST_TERMS]]
    if shown[MOST_TERMS:]:
        rest = shown[MOST_TERMS:]
        parts.append(f"{_written(_total(rest), ceiling)} ({len(rest)} more)")
    total, allowed = _written(_total(terms), ceiling), _written(most, ceiling)
    return (
        f"budget.{ceiling}: the first {when} of a device may cost {' + '.join(parts)} = {total}, more than {allowed}: "
        f"{_CONSEQUENCES[budget.strategy]}; raise {ceiling} to {total}, or ask less"
    )


_CONSEQUENCES = {
    Strategy.SPLIT: "the answer that comes last is out_of_budget on every device",
    Strategy.SAMPLE: "a question that is drawn together with dear ones is not asked",
    Strategy.PACE: "not every question is ever asked",
}


def _part(term: _Term, ceiling: Ceiling) -> str:
    times = f"{term.times} times " if term.times > 1 else ""
    once = ", once for good" if term.once else ""
    return f"{times}{_written(term.each + term.once, ceiling)} ({term.name}{once})"


def _written(amount: int, ceiling: Ceiling) -> str:
    """Return an amount in the registry's units, exactly."""
    number = Decimal(amount) / (ATTOS if ceiling is Ceiling.DELTA else NANOS)
    return f"{number.normalize():f}"
