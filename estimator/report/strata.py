"""Strata and former metrics as separate metrics, and the number of participating devices.

**Former metrics.** A former metric is a metric, or an earlier form of a metric, that only earlier
releases of the app still report (`registry.history`).

**Totals.** The figures of a metric with strata are about all its strata together. The tallies of
the strata are added up, because all strata use the same channel. For an open window, the collector
returns a single tally for all strata (`collector.store.strata`).

**Differences.** Two strata contain the reports of different devices, so their errors are
independent. A difference between strata is treated like a difference between two windows with
different people (`estimator.report.changes`). In the correction of p-values, each metric has the
same weight in each window, regardless of its number of strata.

**Participation.** A device participates if its user has agreed to be asked. A participating device
answers according to the registry's schedule. All figures describe participating devices, and do not
show how other devices would have answered.

The schedule asks each participating device independently with probability s. With the strategy
``"split"``, s is 1. With the strategy ``"sample"``, s is the number of answers divided by the
number of metrics in the window. The number R of reports from D participating devices is therefore
binomial. The estimate of D is R / s, and an interval for D follows from the binomial distribution.
Devices with no budget left, or without a recorded answer, send no report. The estimate of D is then
too low.

**All installations.** Let p be the share of all N installations that participate. Let x be a figure
of the participating installations, with possible values between m and M. The figure of all
installations is then between p·x + (1 - p)·m and p·x + (1 - p)·M. The distance between the limits
increases as p decreases. The bounds therefore use the lower end of the interval of p, and both ends
of the interval of x. For example, if p is 0.4 and a share x is 30% to 40%, the bounds are 12% and
76%. The bounds can miss the figure of all installations in two cases: if the interval of x misses
x, or if D is below its interval. The second case happens in at most one of a thousand tallies.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from functools import reduce
from itertools import combinations, groupby
from operator import add
from typing import Any, Final, NamedTuple

import numpy as np
from msgspec import structs

from client_sdk.protocol.budget import Strategy
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.differences import changes, with_and
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.window import Window
from estimator.errors import RequestError
from estimator.report.changes import Compared, compare, correct
from estimator.results.estimate import Ends, Figure, Figures, Scale
from estimator.results.metric import PARTICIPATION_CONFIDENCE, AmongAll, MetricEstimate, TakingPart
from estimator.results.report import MOST_EFFECTS, Effect, Request
from estimator.statistics.confidence import trials_interval
from estimator.tallies import INT64, Tally

OTHERS: Final = "others"
"""The stratum of all devices that belong to none of the listed strata.

The collector may merge small strata into this stratum.
"""


def apart(registry: Registry) -> Registry:
    """Return the registry with each stratum and each former metric as a separate metric.

    Each metric is followed by its strata and its former versions. Former metrics without a present
    version come last.
    """
    former = former_metrics(registry)
    metrics: dict[str, Metric] = {}
    for name, metric in registry.metrics.items():
        metrics[name] = metric
        for named, stratum in zip(names_of_strata(metric), ("", *metric.strata), strict=False):
            metrics[named] = replace(metric, **_named(metric, named, stratum or OTHERS), stratum=stratum, strata=())
        metrics |= {each.metric.name: each.metric for (asked, _), each in former.items() if asked == name}
    metrics |= {each.metric.name: each.metric for each in former.values()}
    return replace(registry, metrics=metrics, former=())


class FormerMetric(NamedTuple):
    """A former metric as a separate metric, with a sentence on its releases and changes.

    The name of the metric contains the edition, such as ``theme[edition=3594a67b84d8]``. The
    metric's purpose ends with ``relation`` in parentheses. All strata of the former metric are
    counted together.
    """

    metric: Metric
    relation: str


def former_metrics(registry: Registry) -> dict[tuple[str, str], FormerMetric]:
    """Return the former metrics, keyed by the metric's original name and its edition.

    The removal of a stratum does not create a former metric. `counted_apart` adds the tallies of
    the removed stratum to those of the present metric.
    """
    former: dict[tuple[str, str], FormerMetric] = {}
    for metric, since, until, then in registry.former:
        now = registry.metrics.get(metric.name)
        if now is not None and now.edition == metric.edition:
            continue
        relation = _relation(metric, since, until, then)
        shown = f"{metric.name}[edition={metric.edition}]"
        purpose = f"{metric.purpose} ({relation[0].lower()}{relation[1:].removesuffix('.')})"
        named = _named(metric if now is None else now, shown, f"edition {metric.edition}")
        own = replace(metric, **named, purpose=purpose, strata=(), expires=metric.expires or until)
        for edition in metric.editions:
            former.setdefault((metric.name, edition), FormerMetric(own, relation))
    return former


def _relation(metric: Metric, since: date, until: date | None, then: Metric | None) -> str:
    asked = f"Asked by apps released on or after {since}" + (f" and before {until}" if until else "")
    if then is None:
        return f"{asked}; no longer asked since then."
    return f"{asked}; then {with_and(list(changes(metric, then))) or 'other strata were counted separately'}."


def _named(metric: Metric, name: str, part: str) -> dict[str, Any]:
    return {"name": name, "title": name if metric.title == metric.name else f"{metric.title} ({part})"}


def names_of_strata(metric: Metric) -> tuple[str, ...]:
    """Return the names of a metric's strata, starting with `OTHERS`, or () if there are none."""
    return tuple(stratum_name(metric.name, stratum) for stratum in ("", *metric.strata)) if metric.strata else ()


def stratum_name(metric: str, stratum: str) -> str:
    """Return the name of a stratum's metric, such as ``crashes[platform=ios]``."""
    return f"{metric}[{stratum.replace(' ', '') or OTHERS}]"


def counted_apart(registry: Registry, tallies: Iterable[Tally]) -> Iterator[Tally]:
    """Yield tallies named as in the result of `apart`, then the sums of the strata's tallies."""
    tallies_of: dict[tuple[str, str], list[Tally]] = {}
    former = former_metrics(registry)
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
            tallies_of.setdefault((tally.metric, tally.window.text), []).append(tally)
            if tally.closed and metric.strata:
                stratum = ("", *metric.strata)[metric.editions.index(tally.edition)]
                yield replace(tally, metric=stratum_name(tally.metric, stratum))
        elif place in former:
            shown = former[place].metric.name
            tallies_of.setdefault((shown, tally.window.text), []).append(replace(tally, metric=shown))
        elif metric is not None and place in unlisted:  # the registry no longer lists the stratum
            tallies_of.setdefault((tally.metric, tally.window.text), []).append(tally)
        else:
            yield tally
    for (name, _), of_metric in tallies_of.items():
        yield replace(reduce(_added, of_metric), edition=editions[name])


def _added(first: Tally, second: Tally) -> Tally:
    """Return the sum of two tallies of one metric and window.

    If both tallies have a count for every symbol, the sum also has a count for every symbol.
    Otherwise, only the symbols in either tally have counts.
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
    """Compare all pairs of strata of each metric in each closed window.

    The stratum `OTHERS`, vectors and models are left out. ``registry`` is the original registry,
    not the result of `apart`.
    """
    compared = list(_compared(estimates, registry))
    weights = {place: 1 / len(list(of_place)) for place, of_place in groupby(compared, _place)}
    corrected = correct([pair for _, _, pair in compared], [weights[place] for place, _, _ in compared])
    return tuple(
        Effect(
            metric=metric,
            window=window,
            first=first,
            second=second,
            tests=pair.tests,
            groups=pair.differences(p_values),
        )
        for ((metric, window), (first, second), pair), p_values in zip(compared, corrected, strict=True)
    )


def clearest_effects(effects: Sequence[Effect]) -> list[Effect]:
    """Return the most significant differences between strata in the last window of each metric.

    The result has at most `MOST_EFFECTS` differences per metric.
    """
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
"""The names of a metric and a window, which identify a tally."""

_Pair = tuple[_Place, tuple[str, str], Compared]
"""The metric and the window of a comparison, the names of the two strata, and the result."""


def _place(pair: _Pair) -> _Place:
    return pair[0]


def _compared(estimates: Sequence[MetricEstimate], registry: Registry) -> Iterator[_Pair]:
    comparable = {
        (each.metric, each.window): each for each in estimates if each.closed and each.reports > 0 and each.compared
    }
    for name, metric in registry.metrics.items():
        windows = dict.fromkeys(window for asked, window in comparable if asked == name)
        for window in windows if metric.strata else ():
            of_strata = [(stratum, comparable.get((stratum_name(name, stratum), window))) for stratum in metric.strata]
            present = [(stratum, estimate) for stratum, estimate in of_strata if estimate is not None]
            for (first, before), (second, after) in combinations(present, 2):
                yield (name, window), (first, second), compare(before, after)


MISS: Final = (1 - PARTICIPATION_CONFIDENCE) / 2


def unknown_because(registry: Registry) -> str | None:
    """Return why the schedule does not determine the share of asked devices.

    Returns None if the schedule determines this share.
    """
    if registry.budget.strategy is Strategy.PACE:
        return (
            'with [budget] strategy = "pace", a device is asked in windows that depend on the day of its installation'
        )
    if registry.budget.may_be_wiped:
        return "[budget] web_year is set: a browser whose storage was wiped reports again as another device"
    return None


def check_installs(registry: Registry, request: Request) -> None:
    """Raise `RequestError` if bounds on all installations are requested, but cannot be computed.

    The bounds require ``request.asked`` or a schedule that determines the share of asked devices.
    """
    reason = unknown_because(registry)
    if request.installs is not None and request.asked is None and reason is not None:
        raise RequestError(
            f"the share of devices that were asked is unknown: {reason}; provide this share as --with asked=SHARE, or "
            "leave out installs"
        )


def asked_share(registry: Registry, window: Window) -> float | None:
    """Return the share of devices that the schedule asks in a window, or None if unknown."""
    if unknown_because(registry) is not None:
        return None
    if registry.budget.strategy is Strategy.SPLIT:
        return 1.0
    drawn = sum(metric.window is window.kind and not metric.has_expired(window) for metric in registry.metrics.values())
    return min(1.0, (registry.budget.answers or 0) / max(1, drawn))


def with_participation(
    estimates: Iterable[MetricEstimate], registry: Registry, request: Request
) -> list[MetricEstimate]:
    """Return estimates with the number of participating devices.

    On request, also return bounds on the figures of all installations. Strata get no bounds,
    because the number of installations in a stratum is unknown. If several releases of the app
    answered, the number of devices is estimated only from metrics that are the same in all of these
    releases.

    Each stratum is a separate metric in ``estimates``. ``registry`` is the original registry, not
    the result of `apart`. Raise `RequestError` if there are fewer installations than reports.
    """
    every = list(estimates)
    _check_enough(every, registry, request)
    former = {each.metric.name for each in former_metrics(registry).values()}
    unknown = former | registry.newcomers if any(each.metric in former and each.reports for each in every) else former
    return [
        each if {each.metric, each.metric.partition("[")[0]} & unknown else _with_participation(each, registry, request)
        for each in every
    ]


def _check_enough(estimates: Iterable[MetricEstimate], registry: Registry, request: Request) -> None:
    """Raise `RequestError` if a window has more reports than there are installations.

    For browsers, no number of reports is refused, because a browser whose storage was wiped reports
    again.
    """
    whole = [each for each in estimates if each.metric in registry.metrics]
    most = max(whole, key=lambda each: each.reports, default=None)
    if request.installs is None or most is None or registry.budget.may_be_wiped or most.reports <= request.installs:
        return
    raise RequestError(
        f"--with installs={request.installs}: {most.reports:,} devices sent a report of {most.metric} in "
        f"{most.window}; give the number of all installations, at least {most.reports:,}"
    )


def _with_participation(estimated: MetricEstimate, registry: Registry, request: Request) -> MetricEstimate:
    asked = request.asked or asked_share(registry, estimated.span)
    if asked is None:
        return estimated
    low, high = trials_interval(estimated.reports, asked, MISS)
    taking_part = TakingPart(estimated.reports / asked, None, float(low), float(high), asked=asked)
    is_whole = estimated.metric in registry.metrics
    is_bounded = request.installs is not None and is_whole and estimated.reports > 0
    among_all = among_all_of(estimated, taking_part, request.installs or 1) if is_bounded else None
    return structs.replace(estimated, taking_part=taking_part, among_all=among_all)


def among_all_of(estimated: MetricEstimate, taking_part: TakingPart, installs: int) -> AmongAll:
    """Return the bounds on the figures of all installations.

    ``estimated`` contains the figures of the participating devices.
    """
    low, high = (min(1.0, devices / installs) for devices in (taking_part.low, taking_part.high))
    return AmongAll(
        installs=installs,
        taking_part=Figure.within((low, high), (taking_part.estimate or 0.0) / installs),
        groups=tuple(
            structs.replace(group, figures=_bounds(group.figures, low, group.ends, group.about.scale))
            for group in estimated.groups
            if group.about.has_bounds and group.ends is not None
        ),
    )


def _bounds(figures: Figures, share: float, possible: Ends, scale: Scale) -> Figures:
    least, greatest = scale.inner_ends(possible)
    lows = least + share * (scale.inner(figures.lows) - least)
    highs = greatest - share * (greatest - scale.inner(figures.highs))
    return Figures(figures.labels, *(np.clip(scale.outer(bounds), *possible) for bounds in (lows, highs)))
