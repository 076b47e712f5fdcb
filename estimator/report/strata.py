"""Questions counted apart: each public stratum as its own question, and how strata differ.

So is each former question, which apps of earlier releases still answer (`registry.history`).

The question itself stands for all strata together, whose tallies add up, because every stratum has
the same channel. An open window has one tally of all strata (`collector.store.strata`), which is
the question's.

Two strata hold the reports of different devices, so that their errors are independent. A difference
has the interval and the p-value of a difference of two windows in which other people answered
(`estimator.report.changes`). Every question in every window has the same weight in the correction,
however many strata it has.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from functools import reduce
from itertools import combinations, groupby
from operator import add
from typing import Final, NamedTuple

import numpy as np

from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.differences import changes, with_and
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.window import Window
from estimator.report.changes import Compared, can_be_compared, compare
from estimator.results.metric import MetricEstimate
from estimator.results.report import Effect
from estimator.statistics.confidence import holm
from estimator.tallies.tally import INT64, Tally

OTHERS: Final = "others"
"""The stratum of devices whose values the registry does not list, and of those that the collector
folds into it.
"""


MOST_EFFECTS: Final = 6
"""How many pairs of strata of a question a table and a page show; JSON and CSV have all."""


def apart(registry: Registry) -> Registry:
    """Return the registry with a question for each stratum, after the question that it is of.

    After them come its former questions, and at the end those that are no longer asked.
    """
    former = former_questions(registry)
    metrics: dict[str, Metric] = {}
    for name, metric in registry.metrics.items():
        metrics[name] = metric
        for named, stratum in zip(names_of_strata(metric), ("", *metric.strata), strict=False):
            metrics[named] = replace(metric, name=named, stratum=stratum, strata=())
        metrics |= {each.metric.name: each.metric for (of, _), each in former.items() if of == name}
    metrics |= {each.metric.name: each.metric for each in former.values()}
    return replace(registry, metrics=metrics, former=())


class FormerQuestion(NamedTuple):
    """A former question as one of its own.

    Attributes:
        metric: its definition. The name has its edition, such as
            ``theme[edition=3594a67b84d8]``, and the purpose says how it relates to what came after
            it. Its strata are counted together.
        relation: a sentence on that.

    """

    metric: Metric
    relation: str


def former_questions(registry: Registry) -> dict[tuple[str, str], FormerQuestion]:
    """Return the former questions by their names and all of their editions.

    A stratum that is no longer listed belongs to the question of today, as `counted_apart` says.
    """
    former: dict[tuple[str, str], FormerQuestion] = {}
    for metric, since, until, then in registry.former:
        now = registry.metrics.get(metric.name)
        if now is not None and now.edition == metric.edition:
            continue
        relation = _relation(metric, since, until, then)
        shown = f"{metric.name}[edition={metric.edition}]"
        purpose = f"{metric.purpose} ({relation[0].lower()}{relation[1:].removesuffix('.')})"
        own = replace(metric, name=shown, purpose=purpose, strata=(), expires=metric.expires or until)
        for edition in metric.editions:
            former.setdefault((metric.name, edition), FormerQuestion(own, relation))
    return former


def _relation(metric: Metric, since: date, until: date | None, then: Metric | None) -> str:
    asked = f"Asked by apps released from {since} on" + (f" and before {until}" if until else "")
    if then is None:
        return f"{asked}; no longer asked since then."
    return f"{asked}; then {with_and(list(changes(metric, then))) or 'other strata were counted apart'}."


def names_of_strata(metric: Metric) -> tuple[str, ...]:
    """Return the names of a question's strata, the others first; () if it has none."""
    return tuple(stratum_name(metric.name, stratum) for stratum in ("", *metric.strata)) if metric.strata else ()


def stratum_name(question: str, stratum: str) -> str:
    """Return the name of a stratum's question, such as ``crashes[platform=ios]``."""
    return f"{question}[{stratum.replace(' ', '') or OTHERS}]"


def counted_apart(registry: Registry, tallies: Iterable[Tally]) -> Iterator[Tally]:
    """Yield the tallies under the names of `apart`, and the sums of strata under the question's."""
    of_questions: dict[tuple[str, str], list[Tally]] = {}
    former = former_questions(registry)
    every = (*registry.metrics.values(), *(each.metric for each in former.values()))
    editions = {metric.name: metric.edition for metric in every}
    unlisted = {(each.metric.name, edition) for each in registry.former for edition in each.metric.editions}
    summed = {name for name, metric in registry.metrics.items() if metric.strata} | {name for name, _ in unlisted}
    for tally in tallies:
        metric, place = registry.metrics.get(tally.metric), (tally.metric, tally.edition)
        if metric is not None and tally.edition in metric.editions:
            if tally.metric not in summed:
                yield tally
                continue
            of_questions.setdefault((tally.metric, tally.window.text), []).append(tally)
            if tally.closed and metric.strata:
                stratum = ("", *metric.strata)[metric.editions.index(tally.edition)]
                yield replace(tally, metric=stratum_name(tally.metric, stratum))
        elif place in former:
            shown = former[place].metric.name
            of_questions.setdefault((shown, tally.window.text), []).append(replace(tally, metric=shown))
        elif metric is not None and place in unlisted:  # a stratum that is no longer listed
            of_questions.setdefault((tally.metric, tally.window.text), []).append(tally)
        else:
            yield tally
    for (name, _), of_question in of_questions.items():
        yield replace(reduce(_added, of_question), edition=editions[name])


def _added(first: Tally, second: Tally) -> Tally:
    """Return the sum of two tallies of one question and window.

    It has the count of every symbol if both have; otherwise those of the reported symbols.
    """
    closed, reports = first.closed and second.closed, first.reports + second.reports
    if first.symbols is None and second.symbols is None and len(first.counts) == len(second.counts):
        return replace(first, closed=closed, reports=reports, counts=list(map(add, first.counts, second.counts)))
    of_both = [tally.counted() for tally in (first, second)]
    symbols, where = np.unique(np.concatenate([symbols for symbols, _ in of_both]), return_inverse=True)
    counts = np.zeros(symbols.size, np.int64)
    np.add.at(counts, where, np.concatenate([counts for _, counts in of_both]))
    return replace(
        first,
        closed=closed,
        reports=reports,
        counts=array(INT64, counts.tobytes()),
        symbols=array(INT64, symbols.tobytes()),
    )


def effects_of(estimates: Sequence[MetricEstimate], registry: Registry) -> tuple[Effect, ...]:
    """Compare every two listed strata of each question in each closed window.

    Those of vectors and models are left out.

    Args:
        estimates: of the registry's questions and strata.
        registry: the registry before `apart`.

    """
    compared = list(_compared(estimates, registry))
    weights = {place: sum(pair.tests for _, _, pair in of_place) for place, of_place in groupby(compared, _place)}
    tested = [(p, 1 / weights[each[0]]) for each in compared for p in each[2].p_values[: each[2].tests]]
    corrected = iter(holm([p for p, _ in tested], [weight for _, weight in tested]))
    return tuple(
        _effect(place, names, pair, [next(corrected) for _ in range(pair.tests)]) for place, names, pair in compared
    )


def clearest_effects(effects: Sequence[Effect]) -> list[Effect]:
    """Return at most `MOST_EFFECTS` effects of each question's last window, the clearest first."""
    shown: list[Effect] = []
    for _, of_metric in groupby(effects, key=lambda effect: effect.metric):
        every = list(of_metric)
        last = max((effect.window for effect in every), key=lambda window: Window.parse(window).starts_at)
        of_window = [effect for effect in every if effect.window == last]
        shown += sorted(of_window, key=_unlikelihood)[:MOST_EFFECTS]
    return shown


def _unlikelihood(effect: Effect) -> float:
    return 1.0 if effect.p_value_corrected is None else effect.p_value_corrected


_Place = tuple[str, str]
"""A question and a window."""

_Pair = tuple[_Place, tuple[str, str], Compared]
"""Two strata of a place, compared."""


def _place(pair: _Pair) -> _Place:
    return pair[0]


def _compared(estimates: Sequence[MetricEstimate], registry: Registry) -> Iterator[_Pair]:
    comparable = {(estimate.metric, estimate.window): estimate for estimate in estimates if can_be_compared(estimate)}
    for name, metric in registry.metrics.items():
        windows = dict.fromkeys(window for question, window in comparable if question == name)
        for window in windows if metric.strata else ():
            of_strata = [(stratum, comparable.get((stratum_name(name, stratum), window))) for stratum in metric.strata]
            present = [(stratum, estimate) for stratum, estimate in of_strata if estimate is not None]
            for (first, before), (second, after) in combinations(present, 2):
                yield (name, window), (first, second), compare(before, after)


def _effect(place: _Place, names: tuple[str, str], pair: Compared, corrected: list[float]) -> Effect:
    (metric, window), (first, second) = place, names
    return Effect(
        metric=metric, window=window, first=first, second=second, tests=pair.tests, groups=pair.tested(corrected)
    )
