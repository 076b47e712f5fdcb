"""The rules for publishing metrics and tallies, and the rounding of tallies.

A publication is computed only from rounded tallies. A tally of fewer than 100 reports is left out.
In all other tallies, the number of reports n is rounded down to a number k of two significant
digits. For example, 1,099 reports become 1,000. The frequencies of the symbols hardly change. If
c(y) of the n reports have a symbol of at most y, the rounded tally has round(c(y)·k/n) reports with
such symbols.

Estimates, errors, intervals and p-values are computed from the rounded tally. Even with all digits,
these figures reveal no more about n than k reveals. The reason is that for each n that is rounded
to k, every tally of k reports is the rounded form of some tally of n reports.
`tests/exact/test_rounded_tallies.py` checks this claim for all small tallies. The rounded tally has
fewer reports and wider intervals than the original tally. The wider intervals contain the true
value at least as often as the intervals of the original tally.

Further rules:

* The tally of each stratum is rounded separately.
* A stratum of fewer than 100 reports is also left out of the metric's total. Otherwise, the
  difference between the total and the other strata would reveal the stratum's tally.
* For a pair of metrics, figures about a group are unknown if the published estimates imply fewer
  than 100 devices in the group.
* Of the texts that were found for a metric, only texts that the registry approves are published.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import Final

from msgspec import structs

from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.registry import Registry
from estimator.results.estimate import Figure, FigureLabel, Figures
from estimator.results.group import SHARES, FigureGroup
from estimator.results.metric import MetricEstimate, TextFindings
from estimator.tallies import INT64, Tally

LEAST_REPORTS: Final = 100
"""The minimum number of reports in a published tally or stratum, and the minimum number of devices
in a group with published figures.
"""

COUNT_DIGITS: Final = 2
"""The number of significant digits of published counts."""


def publishable(registry: Registry) -> Registry:
    """Return a registry with only the public metrics, and without the operator's notes."""
    metrics = {name: replace(metric, owner="") for name, metric in registry.metrics.items() if may_publish(metric)}
    return replace(
        registry,
        owner="",
        budget=registry.budget._replace(accept=""),
        metrics=metrics,
        former=tuple(each for each in registry.former if each.metric.name in metrics and may_publish(each.metric)),
        newcomers=registry.newcomers & metrics.keys(),
        events=(),
    )


def may_publish(metric: Metric) -> bool:
    """Return whether the registry marks a metric as public, and not as sensitive."""
    return metric.is_public and not metric.is_sensitive


def rounded_down(count: int) -> int:
    """Return a count rounded down to two significant digits.

    >>> [rounded_down(count) for count in (7, 119, 1_099, 98_765)]
    [7, 110, 1000, 98000]
    """
    place: int = 10 ** max(0, len(str(count)) - COUNT_DIGITS)
    return count - count % place


def rounded_tallies(tallies: Iterable[Tally]) -> Iterator[Tally]:
    """Yield the rounded form of each closed tally that has enough reports."""
    return (rounded_tally(tally) for tally in tallies if tally.closed and tally.reports >= LEAST_REPORTS)


def rounded_tally(tally: Tally) -> Tally:
    """Round a tally down to a number of reports that may be published.

    The frequency of each symbol changes by less than 1/k, where k is the number of remaining
    reports.
    """
    kept = rounded_down(tally.reports)
    ends = [0, *((2 * end * kept + tally.reports) // (2 * tally.reports) for end in accumulate(tally.counts))]
    counts = [end - start for start, end in pairwise(ends)]
    if tally.symbols is None:
        return replace(tally, reports=kept, counts=array(INT64, counts))
    reported = [(symbol, count) for symbol, count in zip(tally.symbols, counts, strict=True) if count]
    symbols, counts = ([each[place] for each in reported] for place in range(2))
    return replace(tally, reports=kept, counts=array(INT64, counts), symbols=array(INT64, symbols))


def published(estimated: MetricEstimate, metric: Metric) -> MetricEstimate | None:
    """Return the publishable part of a rounded tally's estimates, or None if nothing remains.

    The function may be applied to its own result.
    """
    groups = tuple(_with_unknown(group, estimated) for group in estimated.groups)
    texts = estimated.texts
    if texts is not None:
        groups = tuple(_approved(group, metric) for group in groups if group.statistic in FOUND)
        texts = TextFindings(max_length=texts.max_length)
        if not any(len(group.figures) for group in groups):
            return None
    taking_part = estimated.taking_part
    if taking_part is not None:
        ends = {name: float(rounded_down(int(getattr(taking_part, name)))) for name in ("low", "high", "estimate")}
        taking_part = structs.replace(taking_part, **ends)
    return structs.replace(
        estimated,
        groups=groups,
        texts=texts,
        reports=rounded_down(estimated.reports),
        taking_part=taking_part,
        learned=None,
    )


FOUND: Final = ("found_text", "approved_text")
"""The statistics of found texts. Only ``approved_text`` is published."""


def _approved(group: FigureGroup, metric: Metric) -> FigureGroup:
    """Return the figures of the found texts that the registry approves for publication."""
    figures = [figure for figure in group.figures if figure.value in metric.kind.approved]
    return structs.replace(group, statistic="approved_text", figures=Figures.from_rows(figures))


def _with_unknown(group: FigureGroup, estimated: MetricEstimate) -> FigureGroup:
    """Return a statistic's figures, with unknown figures for groups of too few devices."""
    within = group.about.within
    if within is None:
        return group
    many = _given_by_many(estimated)
    least, most = group.ends or SHARES
    figures = (
        figure if many.issuperset(within(figure.value)) else Figure(None, None, least, most, value=figure.value)
        for figure in group.figures
    )
    return structs.replace(group, figures=Figures.from_rows(figures))


def _given_by_many(estimated: MetricEstimate) -> set[tuple[int, FigureLabel]]:
    """Return the answers that at least `LEAST_REPORTS` devices gave to either metric of a pair."""
    devices: dict[tuple[int, FigureLabel], float] = {}
    for share in estimated.estimates or ():
        answers = share.value if isinstance(share.value, tuple) else (share.value,)
        for answer in enumerate(answers):
            devices[answer] = devices.get(answer, 0.0) + (share.estimate or 0.0) * estimated.reports
    return {answer for answer, number in devices.items() if number >= LEAST_REPORTS}
