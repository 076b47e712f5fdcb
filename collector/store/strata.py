"""Merges ("folds") small strata into a metric's "others" before anybody reads tallies.

A *stratum* is a group of devices, such as those with one platform, whose reports have their own
edition. The "others" of a metric are the reports of its own edition, and of all folded strata. A
stratum with fewer than `LEAST_REPORTS` reports is small. Nobody can read the tally of a small
stratum, or compute it as the difference between two readings:

* While a window is open, all strata of a metric are folded. Otherwise, a stratum would get its own
  tally when it reaches `LEAST_REPORTS`. The snapshots before and after would reveal the tally of
  the small stratum.
* When a window has closed, its tallies no longer change. They are always folded the same way.
* If the others have reports, but fewer than `LEAST_REPORTS`, the next smallest strata are also
  folded, until the others have enough reports. Otherwise, the others could consist of one small
  stratum.
* Before the first report is counted, the store remembers which editions are strata of one metric.
  These editions are folded even if the registry no longer lists them.
* An edition that neither the store nor the registry lists may be a small stratum. If a window has a
  tally of such an edition, readers get no tally of the metric in this window.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.window import Window
from collector.judge import is_due_to_close
from collector.store.redis_store import RedisStore
from collector.store.store_protocol import OwnEditions, StoredTally

LEAST_REPORTS: Final = 100
"""The minimum number of reports of a stratum that is shown.

With fewer reports, confidence intervals would be useless, and people in the stratum could be
recognized.
"""


def own_editions(registry: Registry) -> OwnEditions:
    """Map each edition in a registry to its metric's own edition (see `OwnEditions`)."""
    return {
        f"{metric.name}:{edition}": metric.editions[0] for metric in registry.counted for edition in metric.editions
    }


def lost_editions(store: RedisStore, registry: Registry, *, now_s: float, grace_s: int) -> list[str]:
    """Return the editions that have tallies in open windows but are not defined in a registry.

    Each edition is written METRIC:EDITION. Devices may still send reports for these editions.
    """
    known, closed = own_editions(registry), store.closed_windows()
    names = {name.rpartition(":")[::2] for name in store.index()}
    return sorted(
        {
            edition
            for edition, window in names
            if edition not in known
            and window not in closed
            and not is_due_to_close(Window.parse(window), now_s=now_s, grace_s=grace_s)
        }
    )


def lost_words(lost: Iterable[str]) -> str:
    """Return the error message about editions that devices report, but the registry lacks."""
    return (
        f"devices report {', '.join(lost)} (METRIC:EDITION), which neither the registry nor its history defines, "
        "so these reports would be refused. Add the registry of their release to the history: "
        "`hearsay-client release --registry OLD --history FILE --day DAY`"
    )


def folded(tallies: Iterable[StoredTally], known: OwnEditions) -> Iterator[StoredTally]:
    """Yield the tallies that readers may get, with small strata merged ("folded").

    ``known`` contains the editions that the store remembers, and those of the registry.
    """
    windows: dict[tuple[str, str], list[StoredTally]] = defaultdict(list)
    for tally in tallies:
        windows[tally.metric, tally.window].append(tally)
    for of_window in windows.values():
        if all(f"{tally.metric}:{tally.edition}" in known for tally in of_window):
            yield from _folded_by_metric(of_window, known)


def _folded_by_metric(tallies: list[StoredTally], known: OwnEditions) -> Iterator[StoredTally]:
    """Merge the small strata of one metric in a window, separately for each metric definition.

    If a metric was changed, the old and the new definition have the same name.
    """
    metrics: dict[str, list[StoredTally]] = defaultdict(list)
    for tally in tallies:
        metrics[known[f"{tally.metric}:{tally.edition}"]].append(tally)
    for own_edition, of_metric in metrics.items():
        yield from _folded(of_metric, own_edition)


def _folded(tallies: list[StoredTally], own_edition: str) -> Iterator[StoredTally]:
    """Yield the tally of a metric's "others", then those of its large strata, sorted by edition."""
    others = [tally for tally in tallies if tally.edition == own_edition]
    strata = sorted((tally for tally in tallies if tally.edition != own_edition), key=_size)
    while strata and not (_is_shown(strata[0]) and _are_enough(others)):
        others.append(strata.pop(0))
    if others:
        yield replace(others[0], edition=own_edition, counts=_sum(others))
    yield from sorted(strata, key=lambda tally: tally.edition)


def _is_shown(stratum: StoredTally) -> bool:
    """Return whether the window is closed, and the stratum has enough reports to be shown."""
    return stratum.closed and _reports(stratum) >= LEAST_REPORTS


def _are_enough(others: list[StoredTally]) -> bool:
    """Return whether ``others`` has no reports, or enough to hide each stratum in it."""
    reports = sum(map(_reports, others))
    return reports == 0 or reports >= LEAST_REPORTS


def _size(tally: StoredTally) -> tuple[int, str]:
    """Return the sort key of a stratum: its number of reports, then its edition."""
    return _reports(tally), tally.edition


def _reports(tally: StoredTally) -> int:
    return sum(tally.counts)


def _sum(tallies: list[StoredTally]) -> tuple[int, ...]:
    return tuple(map(sum, zip(*(tally.counts for tally in tallies), strict=True)))
