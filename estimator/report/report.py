"""The report: estimates of the selected tallies, and the reasons why other tallies were skipped.

On request, the report states the privacy loss from publishing its tallies, for each tally and for
all tallies of a window together. The loss is larger for a tally of few reports than for a tally of
many reports. A metric with public strata has one tally per stratum, and each device is counted in
only one stratum. The metric's loss is therefore the loss of its smallest stratum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

from msgspec.structs import replace

from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.registry import Registry, in_trial
from client_sdk.protocol.window import Window
from estimator.analyses.metric import analysis_of
from estimator.analyses.ratios import MOST_VALUES
from estimator.errors import RequestError, TalliesError, UnfitTallyError, metric_named
from estimator.plan.amplification import central_of, together
from estimator.report.changes import changes_of
from estimator.report.conclusions import corrected_differences, highlights_of
from estimator.report.same_people import pooled
from estimator.report.strata import (
    apart,
    check_installs,
    counted_apart,
    effects_of,
    former_metrics,
    names_of_strata,
    with_participation,
)
from estimator.results.metric import Composed, MetricEstimate
from estimator.results.report import (
    EVERYTHING_CLOSED,
    PLAIN,
    Changes,
    Effect,
    EstimateReport,
    Request,
    Selection,
    Skipped,
)
from estimator.statistics.confidence import CONFIDENCE
from estimator.tallies import FEWER, Tally

MOST_CANDIDATES: Final = 10**6
"""The maximum number of candidate texts. Each text takes 0.5 kB of memory and 0.1 ms per window."""

NUMBERS_A_SHARE: Final = 8
"""The approximate number of numbers that a report contains for each share, such as its estimate and
its error.
"""

MOST_NUMBERS: Final = 2**25
"""The maximum number of numbers in a report. As text, a report of this size takes a few gigabytes.

A report with only one window of each metric may exceed this limit.
"""


def definitions_of(registry: Registry, tallies: Sequence[Tally]) -> Registry:
    """Return the registry that defines the tallies' metrics.

    If the tallies come from a trial by the developers, the result is a variant of ``registry`` for
    trials. Otherwise, the result is ``registry``.

    Raise `TalliesError` if some tallies are from a trial and others are not.
    """
    of_trial = in_trial(registry)
    real, tried = (
        any(definitions.asked_as(tally.metric, tally.edition) is not None for tally in tallies)
        for definitions in (registry, of_trial)
    )
    if real and tried:
        raise TalliesError("some tallies are from a trial and others are not; report them separately")
    return of_trial if tried else registry


def make_report(
    registry: Registry,
    tallies: Iterable[Tally],
    selection: Selection = EVERYTHING_CLOSED,
    request: Request = PLAIN,
    advance: Callable[[int], object] = lambda _: None,
) -> EstimateReport:
    """Estimate the selected tallies that the registry defines, and list the skipped tallies.

    ``request`` contains the figures to compute. ``advance`` is called with the number of tallies
    completed since the last call.

    Raises:
        RequestError: if a requested range or text, or a requested bound on the figures of all
            installations, cannot be estimated, or if no windows can be compared for
            ``request.since``.
        TalliesError: if there are too many tallies to estimate at once.
        UnknownMetricError: if the registry does not define the metric of a range.

    """
    undivided, registry = registry, apart(registry)
    check_ranges(registry, request.ranges)
    check_candidates(registry, request.candidates)
    check_installs(undivided, request)
    of_metrics, skipped = _sorted_out(registry, counted_apart(undivided, tallies), selection, advance)
    _check_numbers(registry, of_metrics, request)
    estimated: list[MetricEstimate] = []
    for name, of_metric in of_metrics.items():
        is_shown = selection.shows(name)
        analysis = analysis_of(registry.metrics[name])
        if analysis.takes_candidates and not is_shown and not request.candidates:
            continue
        # finding texts takes seconds, and p-values do not depend on the found texts
        hidden = Request(candidates=request.candidates, finds_texts=False)
        for estimate in analysis.estimates(of_metric, request if is_shown else hidden):
            estimated.append(estimate)
            advance(1)
    order = {name: position for position, name in enumerate(registry.metrics)}
    estimated.sort(key=lambda estimate: (order[estimate.metric], estimate.span.starts_at))
    relations = {each.metric.name: each.relation for each in former_metrics(undivided).values()}
    estimated = [replace(each, relation=relations.get(each.metric, "")) for each in estimated]
    estimated = with_participation(estimated, undivided, request)
    delta = request.central_delta
    if delta is not None:
        estimated = with_central(estimated, registry.metrics, undivided, delta)
    every_change = changes_of(estimated, registry.metrics, request.since)
    if request.since is not None and not every_change:
        raise RequestError(
            f"nothing can be compared since {request.since}: no question has reports in closed windows both before "
            "this window and from it onward; choose a window after the first one and not after the "
            f"last{_named_events(undivided)}"
        )
    changes = _shown(selection, every_change)
    shown = _shown(selection, corrected_differences(estimated))
    return EstimateReport(
        confidence=CONFIDENCE,
        metrics=shown,
        skipped=_shown(selection, skipped),
        simultaneous=request.simultaneous,
        composed=() if delta is None else composed_of(shown, undivided, delta),
        pooled=pooled(shown, registry.metrics) if request.pool else (),
        changes=changes,
        effects=_shown(selection, effects_of(estimated, undivided)),
        highlights=highlights_of(shown, registry.metrics, changes) if request.highlights else (),
        is_trial=any(metric.is_trial for metric in undivided.metrics.values()),
    )


def _named_events(registry: Registry) -> str:
    events = ", ".join(f"{event.day} ({event.title})" for event in registry.events)
    return f", or the day of an event: {events}" if events else ""


Shown = TypeVar("Shown", MetricEstimate, Changes, Effect, Skipped)


def _shown(selection: Selection, of_metrics: Iterable[Shown]) -> tuple[Shown, ...]:
    return tuple(each for each in of_metrics if selection.shows(each.metric))


def over_windows(estimates: Iterable[MetricEstimate], registry: Registry) -> EstimateReport:
    """Return a report on the estimates of single windows, with the changes between windows.

    The estimates may be in any order.
    """
    metrics = apart(registry).metrics
    windows = corrected_differences(in_order(estimates, metrics))
    changes = changes_of(windows, metrics)
    return EstimateReport(
        confidence=CONFIDENCE,
        metrics=windows,
        skipped=(),
        simultaneous=False,
        changes=changes,
        effects=effects_of(windows, registry),
        highlights=highlights_of(windows, metrics, changes),
    )


def in_order(estimates: Iterable[MetricEstimate], metrics: Iterable[str]) -> list[MetricEstimate]:
    """Return estimates sorted by metric, in the order of ``metrics``, and then by window."""
    order = {name: position for position, name in enumerate(metrics)}
    return sorted(estimates, key=lambda each: (order[each.metric], each.span.starts_at))


def of_known_editions(estimates: Iterable[MetricEstimate], registry: Registry) -> Iterator[MetricEstimate]:
    """Yield the estimates whose metric and edition the registry defines."""
    editions = {name: metric.edition for name, metric in apart(registry).metrics.items()}
    return (each for each in estimates if editions.get(each.metric) == each.edition)


def _sorted_out(
    registry: Registry, tallies: Iterable[Tally], selection: Selection, advance: Callable[[int], object]
) -> tuple[dict[str, list[Tally]], list[Skipped]]:
    of_metrics: dict[str, list[Tally]] = {}
    skipped: list[Skipped] = []
    for tally in tallies:
        if not selection.spans(tally.window):
            continue
        try:
            _check(registry, tally, preliminary=selection.preliminary)
        except UnfitTallyError as error:
            skipped.append(Skipped(tally.metric, tally.edition, tally.window.text, str(error)))
            advance(1)
        else:
            of_metrics.setdefault(tally.metric, []).append(tally)
    return of_metrics, skipped


def _check_numbers(registry: Registry, of_metrics: Mapping[str, Sequence[Tally]], request: Request) -> None:
    """Raise `TalliesError` if a report on the tallies would contain too many numbers.

    Even a small file of tallies can lead to a report that does not fit into memory.
    """
    numbers = {name: _numbers(registry.metrics[name], request) for name in of_metrics}
    every = sum(len(tallies) * numbers[name] for name, tallies in of_metrics.items())
    if every > max(MOST_NUMBERS, sum(numbers.values())):
        raise TalliesError(
            f"the estimates of these tallies would consist of {every:,} numbers, too many at once; {FEWER}"
        )


def _numbers(metric: Metric, request: Request) -> int:
    shares = analysis_of(metric).share_limit(request)
    is_squared = request.covariance and shares <= MOST_VALUES
    return NUMBERS_A_SHARE * shares + (shares**2 if is_squared else 0)


RELEASE: Final = "use the same registry and history as the collector"
"""The advice if the collector counted reports of an edition that the registry does not define."""


def _check(registry: Registry, tally: Tally, *, preliminary: bool) -> None:
    """Raise `UnfitTallyError` if a tally cannot be estimated."""
    metric = registry.metrics.get(tally.metric)
    if metric is None:
        raise UnfitTallyError(f"the registry defines no such metric; {RELEASE}")
    if metric.edition != tally.edition:
        raise UnfitTallyError(f"the registry defines edition {metric.edition}; {RELEASE}")
    if metric.window is not tally.window.kind:
        raise UnfitTallyError(
            f"the question is asked once a {metric.window}, but this tally covers a {tally.window.kind}"
        )
    if not tally.closed and not preliminary:
        raise UnfitTallyError("the window is still open; add --preliminary to include it")
    analysis_of(metric).check(tally)


def with_central(
    estimated: Sequence[MetricEstimate], metrics: Mapping[str, Metric], registry: Registry, delta: float
) -> list[MetricEstimate]:
    """Return the estimates, each with the privacy loss from publishing its tally.

    Each stratum is a separate metric in ``metrics``, but not in ``registry``. Each privacy loss is
    an epsilon with the given ``delta``.
    """
    smallest = _smallest(estimated, registry)
    return [
        replace(each, central=central_of(metrics[each.metric], reports, delta, closed=each.closed))
        for each, reports in zip(estimated, smallest, strict=True)
    ]


def composed_of(estimated: Sequence[MetricEstimate], registry: Registry, delta: float) -> tuple[Composed, ...]:
    """Return, for each window, the privacy loss from publishing all its closed tallies.

    Each stratum is a separate metric in ``estimated``, but not in ``registry``. Each privacy loss
    is an epsilon with the given ``delta``.
    """
    former = former_metrics(registry).values()
    metrics = dict(registry.metrics) | {each.metric.name: each.metric for each in former}
    windows: dict[Window, list[tuple[Metric, int]]] = {}
    for each, reports in zip(estimated, _smallest(estimated, registry), strict=True):
        if each.closed and reports > 0 and each.metric in metrics:
            windows.setdefault(each.span, []).append((metrics[each.metric], reports))
    ordered = sorted(windows.items(), key=lambda item: (item[0].starts_at, item[0].text))
    return tuple(Composed(window.text, len(tallies), together(tallies, delta)) for window, tallies in ordered)


def _smallest(estimated: Sequence[MetricEstimate], registry: Registry) -> list[int]:
    """Return, for each estimate, the number of reports in the metric's smallest nonempty stratum.

    If the metric has no strata, the result is the number of the metric's reports.
    """
    reports = {(each.metric, each.window): each.reports for each in estimated if each.reports > 0}

    def smallest(each: MetricEstimate) -> int:
        metric = registry.metrics.get(each.metric)
        places = [] if metric is None else [(name, each.window) for name in names_of_strata(metric)]
        return min((reports[place] for place in places if place in reports), default=each.reports)

    return [smallest(each) for each in estimated]


def check_ranges(registry: Registry, ranges: Sequence[tuple[str, float, float]]) -> None:
    """Check that the share of answers in each range can be estimated.

    Each range consists of a metric's name, a start and an end. Raise `UnknownMetricError` if the
    registry does not define the metric of a range. Raise `RequestError` if no distribution is
    estimated for the metric, or if the range exceeds the metric's possible answers.
    """
    for name, start, end in ranges:
        metric = metric_named(registry, name)
        analysis = analysis_of(metric)
        requested = f"the range of {name} from {start:.12g} to {end:.12g}"
        if metric.kind.statistic in {"", "mean"}:
            raise RequestError(
                f"{requested} cannot be estimated; "
                'only numbers and counts with statistic = "distribution" or "quantiles" can'
            )
        if not analysis.has_distribution or analysis.ends is None:
            raise RequestError(
                f"{requested} cannot be requested, because the report already contains all that is known: the share "
                "of each count, or the share above each threshold"
            )
        low, high = analysis.ends
        if not low <= start <= high or not low <= end <= high:
            raise RequestError(
                f"{requested} exceeds the possible answers, {low:.12g} to {high:.12g}; choose other ends"
            )
        if start > end:
            raise RequestError(f"{requested} ends before it begins; swap its ends")
        if start == end and not analysis.is_whole:
            raise RequestError(f"{requested} is a single number, whose share cannot be estimated; use a longer range")


def check_candidates(registry: Registry, candidates: Sequence[str]) -> None:
    """Check the texts whose shares are requested.

    Raise `RequestError` if there are too many texts, or if no metric allows a text.
    """
    if not candidates:
        return
    if len(candidates) > MOST_CANDIDATES:
        raise RequestError(
            f"{len(candidates):,} candidates exceed the limit of {MOST_CANDIDATES:,}; divide them among several reports"
        )
    analyses = [each for each in map(analysis_of, registry.metrics.values()) if each.takes_candidates]
    if not analyses:
        raise RequestError(
            'candidates are only for questions of kind = "text", and the registry has no such question; omit them'
        )
    possible = {text for analysis in analyses for text in analysis.fitting(candidates)}
    for place, text in enumerate(candidates, 1):
        if text not in possible:
            letters = " or ".join(analysis.kind.alphabet for analysis in analyses)
            raise RequestError(f"candidate {place}, {text!r}, is not a text of {letters}; correct or remove it")
