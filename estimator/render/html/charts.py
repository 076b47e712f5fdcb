"""What the charts of a question are drawn from: compact, so that ninety windows of fifty questions stay small."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from client_sdk.protocol import Cross, Window
from estimator.render.html.figures import SHARES, Group, groups_of, label_of, mean_title, plain_estimate
from estimator.render.html.numbers import PERCENT
from estimator.render.html.sentences import leader
from estimator.render.html.tracks import Known, tracks
from estimator.results.changes import Pooled
from estimator.results.estimate import Estimate
from estimator.results.metric import MetricEstimate

Found = Sequence[MetricEstimate | None]


def data_of(
    windows: Sequence[MetricEstimate],
    positions: Sequence[int],
    calendar: Sequence[Window],
    shown: MetricEstimate,
    pooled: Pooled | None,
) -> dict[str, Any]:
    """Return everything that the page's script draws of a question; arrays have an entry a window of the calendar.

    One entry more is that of all windows together, where they are pooled.

    Args:
        windows: what the tallies tell, one at least with reports.
        positions: of the values that are shown.
        calendar: all windows of the kind.
        shown: the window that is shown first.
        pooled: all windows together, or none.

    """
    by_window = {one.window: one for one in windows}
    found = [by_window.get(window) for window in calendar]
    told = [one if one is not None and one.reports else None for one in found]
    data: dict[str, Any] = {
        "kind": str(shown.metric.window),
        "at": calendar.index(shown.window),
        "lead": _lead(shown, positions),
        "n": [None if one is None else one.reports for one in found],
        "open": [slot for slot, one in enumerate(found) if one is not None and not one.closed],
        "groups": list(_groups(told, positions, pooled)),
    }
    if pooled is not None:
        data["pooled"] = pooled.reports
    return data | _bins(told) | _joint(told)


def _lead(shown: MetricEstimate, positions: Sequence[int]) -> int:
    """Return the line of the figure that the answer is about; of a large category it may be one that is not shown."""
    position = leader(shown)
    return list(positions).index(position) if position in positions else 0


def _groups(told: Found, positions: Sequence[int], pooled: Pooled | None) -> Any:  # noqa: ANN401 what JSON holds
    """Yield the tracks of each group, one row a figure."""
    by_window = [None if one is None else tuple(groups_of(one, positions)) for one in told]
    first = next(groups for groups in by_window if groups is not None)
    together = {} if pooled is None else _pooled_groups(pooled, positions)
    for place, group in enumerate(first):
        rows: list[list[Known]] = [
            [None if groups is None else groups[place].figures[row][1] for groups in by_window]
            for row in range(len(group.figures))
        ]
        if pooled is not None:
            of_all = together.get(group.title, (None,) * len(rows))
            rows = [[*row, one] for row, one in zip(rows, of_all, strict=True)]
        yield {"title": group.title, "percent": group.unit is PERCENT, "labels": _labels(group), **tracks(rows)}


def _pooled_groups(pooled: Pooled, positions: Sequence[int]) -> Mapping[str, tuple[Known, ...]]:
    """Return the pooled figures by the titles of their groups."""
    found: dict[str, tuple[Known, ...]] = {}
    if pooled.shares:
        found[SHARES] = tuple(pooled.shares[position][1] for position in positions)
    if pooled.mean is not None:
        found[mean_title(pooled.metric)] = (pooled.mean,)
    return found


def _labels(group: Group) -> list[str]:
    return [label for label, _ in group.figures]


def _bins(told: Found) -> dict[str, Any]:
    """Return the histograms, one a window."""
    distributions = [None if one is None else one.distribution for one in told]
    known = next((one for one in distributions if one is not None), None)
    if known is None:
        return {}
    rows: list[list[Known]] = [
        [None if one is None else plain_estimate(one.shares[place]) for one in distributions]
        for place in range(len(known.bins))
    ]
    return {"bins": {"edges": known.bins, **tracks(rows)}}


def _joint(told: Found) -> dict[str, Any]:
    """Return the shares within groups, one a window."""
    joints = [None if one is None else one.joint for one in told]
    known = next((one for one in joints if one is not None), None)
    domain = next(one.metric.domain for one in told if one is not None)
    if known is None or not isinstance(domain, Cross):
        return {}
    by_window: list[list[Estimate] | None] = [
        None if joint is None else [*chain.from_iterable([one for _, one in group.outcomes] for group in joint.groups)]
        for joint in joints
    ]
    cells = domain.size
    rows: list[list[Known]] = [[None if some is None else some[cell] for some in by_window] for cell in range(cells)]
    return {
        "joint": {
            "names": domain.names,
            "groups": [label_of(value) for value in domain.first.labels],
            "outcomes": [label_of(value) for value in domain.second.labels],
            **tracks(rows),
        }
    }
