"""Which ranges of answers a report can have the share of."""

from __future__ import annotations

from collections.abc import Sequence

from client_sdk.protocol.registry.registry import Registry
from estimator.analyses.metric import analysis_of
from estimator.errors import RequestError


def check_ranges(registry: Registry, ranges: Sequence[tuple[str, float, float]]) -> None:
    """Check that each metric has a distribution and each range lies within its answers.

    Args:
        registry: the definitions.
        ranges: the metric, the start and the end of each.

    Raises:
        UnknownMetricError: if the registry defines no such metric.
        RequestError: saying which range cannot be had, and what to do.

    """
    for name, start, end in ranges:
        metric = registry.metric(name)
        analysis = analysis_of(metric)
        requested = f"the range of {name} from {start:.12g} to {end:.12g}"
        if metric.kind.statistic in {"", "mean"}:
            raise RequestError(
                f"{requested} cannot be estimated; "
                'only numbers and counts of statistic = "distribution" or "quantiles" can'
            )
        if not analysis.has_distribution or analysis.ends is None:
            raise RequestError(
                f"{requested} needs no estimate of its own: the report has the share of each count; add them"
            )
        low, high = analysis.ends
        if not low <= start <= high or not low <= end <= high:
            raise RequestError(
                f"{requested} leaves its answers, which go from {low:.12g} to {high:.12g}; choose other ends"
            )
        if start > end:
            raise RequestError(f"{requested} ends before it begins; exchange its ends")
        if start == end and not analysis.is_whole:
            raise RequestError(f"{requested} is a single number, which has no share of its own; make it longer")
