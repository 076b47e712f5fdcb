"""Which shares an analyst may ask for: of ranges of answers, and of texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

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


MOST_CANDIDATES: Final = 10**6
"""Each takes half a kilobyte of memory, and for each window about a tenth of a millisecond."""


def check_candidates(registry: Registry, candidates: Sequence[str]) -> None:
    """Check that texts are not too many, and that each consists of the letters of some question.

    Args:
        registry: the definitions.
        candidates: the texts.

    Raises:
        RequestError: saying which text has no question, or how many are the most, and what to do.

    """
    if not candidates:
        return
    if len(candidates) > MOST_CANDIDATES:
        raise RequestError(
            f"{len(candidates):,} candidates are more than {MOST_CANDIDATES:,}; name some, and others in another report"
        )
    analyses = [each for each in map(analysis_of, registry.metrics.values()) if each.takes_candidates]
    if not analyses:
        raise RequestError('candidates are for questions of kind = "text", and the registry has none; leave them out')
    possible = {text for analysis in analyses for text in analysis.fitting(candidates)}
    for place, text in enumerate(candidates, 1):
        if text not in possible:
            letters = " or ".join(analysis.kind.alphabet for analysis in analyses)
            raise RequestError(f"candidate {place}, {text!r}, is no text of {letters}; correct or remove it")
