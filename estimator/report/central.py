"""What a report's published tallies reveal about a device: each alone, and a window's together.

Of a question with public strata, the tallies of the strata are published, and a device is in one of
them. So the question counts once, and its loss is that of its smallest tally.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.window import Window
from estimator.privacy.central_epsilon import central_of, together
from estimator.report.strata import names_of_strata
from estimator.results.central import Composed
from estimator.results.metric import MetricEstimate


def with_central(
    estimated: Sequence[MetricEstimate], metrics: Mapping[str, Metric], registry: Registry, delta: float
) -> list[MetricEstimate]:
    """Return the estimates with what their tallies reveal at a delta.

    Args:
        estimated: of questions and strata.
        metrics: the definitions of questions and strata.
        registry: the definitions of the questions alone.
        delta: of each tally.

    """
    smallest = _smallest(estimated, registry)
    return [
        replace(each, central=central_of(metrics[each.metric], reports, delta, closed=each.closed))
        for each, reports in zip(estimated, smallest, strict=True)
    ]


def composed_of(estimated: Sequence[MetricEstimate], registry: Registry, delta: float) -> tuple[Composed, ...]:
    """Return what the closed tallies of each window reveal together.

    Args:
        estimated: of questions and strata.
        registry: the definitions of the questions alone.
        delta: of all tallies of a window.

    """
    windows: dict[Window, list[tuple[Metric, int]]] = {}
    for each, reports in zip(estimated, _smallest(estimated, registry), strict=True):
        if each.closed and reports > 0 and each.metric in registry.metrics:
            windows.setdefault(each.span, []).append((registry.metrics[each.metric], reports))
    ordered = sorted(windows.items(), key=lambda item: (item[0].starts_at, item[0].text))
    return tuple(Composed(window.text, len(tallies), together(tallies, delta)) for window, tallies in ordered)


def _smallest(estimated: Sequence[MetricEstimate], registry: Registry) -> list[int]:
    """Return the reports of each tally; with strata, those of the smallest tally that has any."""
    reports = {(each.metric, each.window): each.reports for each in estimated if each.reports > 0}

    def of(each: MetricEstimate) -> int:
        metric = registry.metrics.get(each.metric)
        places = [] if metric is None else [(name, each.window) for name in names_of_strata(metric)]
        return min((reports[place] for place in places if place in reports), default=each.reports)

    return [of(each) for each in estimated]
