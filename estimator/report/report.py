"""The report: which tallies are estimated, in which order, and why others are not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from client_sdk.protocol import Metric, Registry, Window
from estimator.errors import TalliesError, UnfitTallyError
from estimator.estimates.covariance import MOST_VALUES
from estimator.estimates.metric import estimates
from estimator.privacy.central import together
from estimator.report.changes import changes_of
from estimator.report.group_differences import corrected_differences
from estimator.report.pooling import pooled
from estimator.results.metric import MetricEstimate
from estimator.results.report import Composed, Report, Skipped
from estimator.results.request import EVERYTHING_CLOSED, PLAIN, Selection, Wanted
from estimator.statistics.confidence import CONFIDENCE
from estimator.tallies.bounds import FEWER
from estimator.tallies.tally import Tally

NUMBERS_A_SHARE: Final = 8
"""Estimate, standard error, interval, likeliest and shrunken share, and what they are called."""

MOST_NUMBERS: Final = 2**25
"""Of all estimates of a report: as text some gigabytes. One window of every question is always estimated."""


def make_report(
    registry: Registry,
    tallies: Iterable[Tally],
    selection: Selection = EVERYTHING_CLOSED,
    wanted: Wanted = PLAIN,
    advance: Callable[[int], object] = lambda _: None,
) -> Report:
    """Estimate every wanted tally whose edition the registry defines; name the others with the reason.

    Args:
        registry: the definitions.
        tallies: in any order.
        selection: which windows are wanted.
        wanted: what is wanted of each tally.
        advance: called with the number of tallies that are done.

    Raises:
        TalliesError: if they are too many to be estimated at once.

    """
    of_metrics: dict[str, list[Tally]] = {}
    skipped: list[Skipped] = []
    for tally in tallies:
        if not selection.spans(tally.window):
            continue
        try:
            _check(registry, tally, preliminary=selection.preliminary)
        except UnfitTallyError as error:
            skipped.append(Skipped(tally.metric, tally.edition, tally.window, str(error)))
            advance(1)
        else:
            of_metrics.setdefault(tally.metric, []).append(tally)
    _check_numbers(registry, of_metrics, wanted)
    estimated: list[MetricEstimate] = []
    for name, of_metric in of_metrics.items():
        for found in estimates(registry.metrics[name], of_metric, wanted):
            estimated.append(found)
            advance(1)
    order = {name: position for position, name in enumerate(registry.metrics)}
    estimated.sort(key=lambda one: (order[one.metric.name], one.window.starts_at))
    composed = _composed(estimated, wanted.central_delta)
    together = (pooled(estimated), changes_of(estimated)) if wanted.pool else ()
    return Report(
        CONFIDENCE, corrected_differences(estimated), tuple(skipped), wanted.simultaneous, composed, *together
    )


def _composed(estimated: Iterable[MetricEstimate], delta: float | None) -> tuple[Composed, ...]:
    """Return what the closed tallies of each window reveal together; nothing, where no delta is wanted."""
    if delta is None:
        return ()
    windows: dict[Window, list[tuple[Metric, int]]] = {}
    for one in estimated:
        if one.closed and one.reports > 0:
            windows.setdefault(one.window, []).append((one.metric, one.reports))
    ordered = sorted(windows.items(), key=lambda item: (item[0].starts_at, item[0].text))
    return tuple(Composed(window, len(tallies), together(tallies, delta)) for window, tallies in ordered)


def _check_numbers(registry: Registry, of_metrics: Mapping[str, Sequence[Tally]], wanted: Wanted) -> None:
    """Refuse tallies whose estimates would take more memory than is bounded: a short line may stand for many shares.

    Raises:
        TalliesError: saying what would help.

    """
    numbers = {name: _numbers(registry.metrics[name], wanted) for name in of_metrics}
    every = sum(len(tallies) * numbers[name] for name, tallies in of_metrics.items())
    if every > max(MOST_NUMBERS, sum(numbers.values())):
        raise TalliesError(f"the estimates of these tallies would be {every:,} numbers, too many at once; {FEWER}")


def _numbers(metric: Metric, wanted: Wanted) -> int:
    inputs = metric.channel.inputs
    is_squared = wanted.covariance and inputs <= MOST_VALUES
    return NUMBERS_A_SHARE * inputs + (inputs**2 if is_squared else 0)


def _check(registry: Registry, tally: Tally, *, preliminary: bool) -> None:
    """Refuse a tally that cannot be estimated.

    Raises:
        UnfitTallyError: saying why, and what would help.

    """
    metric = registry.metrics.get(tally.metric)
    if metric is None:
        raise UnfitTallyError("the registry defines no such metric; take the one that the app was shipped with")
    if metric.edition != tally.edition:
        raise UnfitTallyError(
            f"the registry defines edition {metric.edition}; use the registry that the app was shipped with"
        )
    if metric.window is not tally.window.kind:
        raise UnfitTallyError(f"the registry asks it once a {metric.window}; this is a {tally.window.kind}")
    if not tally.closed and not preliminary:
        raise UnfitTallyError("its window is still open; use --preliminary to see it nevertheless")
    tally.check(metric.channel.symbols)
