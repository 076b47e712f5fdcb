"""Small strata are folded into the others before anybody reads tallies. Pure.

Nobody sees a stratum of fewer than `LEAST_REPORTS` reports, neither by itself nor as the difference
of two readings:

* While a window is open, all its strata are one tally. What a small stratum has cannot be told from
  a look before and a look after it grows beyond the floor.
* When a window has closed, its tallies change no more, and so they are always folded alike.
* What is folded has as many reports as the floor, unless the whole question has fewer: the next
  smallest strata join it. So a single small stratum is never what the others are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby
from typing import Final

from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.registry import Registry
from collector.store.store_protocol import StoredTally

LEAST_REPORTS: Final = 100
"""The least reports of a stratum that is shown.

Of fewer, no interval says anything, and who is in it stands out.
"""


def folded(tallies: Iterable[StoredTally], registry: Registry) -> Iterator[StoredTally]:
    """Yield tallies as they may be read.

    Args:
        tallies: in any order, each once.
        registry: says which editions are strata of a question; all others stay as they are.

    """
    apart: list[StoredTally] = []
    for tally in tallies:
        metric = registry.metrics.get(tally.metric)
        if metric is not None and metric.strata and tally.edition in metric.editions:
            apart.append(tally)
        else:
            yield tally
    apart.sort(key=_place)
    for (name, _), of_window in groupby(apart, key=_place):
        yield from _folded(list(of_window), registry.metrics[name])


def _place(tally: StoredTally) -> tuple[str, str]:
    return tally.metric, tally.window


def _folded(tallies: list[StoredTally], metric: Metric) -> Iterator[StoredTally]:
    """Yield a question's others in a window, then large enough strata, in the registry's order."""
    others = [tally for tally in tallies if tally.edition == metric.editions[0]]
    strata = sorted((tally for tally in tallies if tally not in others), key=_reports)
    while strata and not (strata[0].closed and _reports(strata[0]) >= LEAST_REPORTS and _are_enough(others)):
        others.append(strata.pop(0))
    if others:
        yield replace(others[0], edition=metric.editions[0], counts=_sum(others))
    yield from sorted(strata, key=lambda tally: metric.editions.index(tally.edition))


def _are_enough(others: list[StoredTally]) -> bool:
    """Whether there are no others, or enough that no stratum stands out among them."""
    reports = sum(map(_reports, others))
    return reports == 0 or reports >= LEAST_REPORTS


def _reports(tally: StoredTally) -> int:
    return sum(tally.counts)


def _sum(tallies: list[StoredTally]) -> tuple[int, ...]:
    return tuple(map(sum, zip(*(tally.counts for tally in tallies), strict=True)))
