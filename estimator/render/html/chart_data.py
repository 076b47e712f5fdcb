"""The data of a question's charts, so compact that ninety windows of fifty questions stay small."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final

from client_sdk.protocol.window import Window
from estimator.render.html.figure_groups import (
    AUC,
    COORDINATES,
    ROC_OF_STEPS,
    SHARES,
    groups_of,
    mean_title,
    plain_estimate,
)
from estimator.render.html.numbers import PERCENT
from estimator.render.html.steps import ranges_of
from estimator.render.html.tracks import KnownEstimate, tracks
from estimator.render.sentences import leader
from estimator.render.words import label_of
from estimator.results.distribution import Figure
from estimator.results.estimate import Share
from estimator.results.metric import MetricEstimate
from estimator.results.pooled import Pooled

DRAWN: Final = {AUC: "scores", ROC_OF_STEPS: "steps"}
"""Groups that are drawn as a curve of their own, by their titles."""

WithReports = Sequence[MetricEstimate | None]
"""An entry for each window of the calendar. None where nobody reported."""


def data_of(
    windows: Sequence[MetricEstimate],
    positions: Sequence[int],
    calendar: Sequence[Window],
    shown: MetricEstimate,
    pooled: Pooled | None,
) -> dict[str, Any]:
    """Return everything that the page's script draws of a question.

    Arrays have an entry for each window of the calendar. Where windows are pooled, a last entry
    holds them all.

    Args:
        windows: the estimates, of which at least one has reports.
        positions: which values are shown.
        calendar: all windows of the kind.
        shown: the window that is shown first.
        pooled: all windows together, or None.

    """
    by_window = {estimated.window: estimated for estimated in windows}
    track = [by_window.get(window.text) for window in calendar]
    with_reports = [estimated if estimated is not None and estimated.reports else None for estimated in track]
    data: dict[str, Any] = {
        "kind": str(shown.span.kind),
        "at": calendar.index(shown.span),
        "lead": _lead(shown, positions),
        "n": [None if estimated is None else estimated.reports for estimated in track],
        "open": [slot for slot, estimated in enumerate(track) if estimated is not None and not estimated.closed],
        "groups": list(_groups(with_reports, shown, positions, pooled)),
    }
    if shown.at_least:
        data["days"] = True  # the first group has a share for each number of days
    if pooled is not None:
        data["pooled"] = pooled.reports
    return data | _distribution(with_reports) | _joint(with_reports)


def _lead(shown: MetricEstimate, positions: Sequence[int]) -> int:
    """Return the row of the answer's figure; 0 if that value is not shown."""
    position = leader(shown)
    return list(positions).index(position) if position in positions else 0


def _groups(
    with_reports: WithReports, shown: MetricEstimate, positions: Sequence[int], pooled: Pooled | None
) -> Iterator[dict[str, Any]]:
    """Yield the tracks of each group that the window shown first has, a row for each figure."""
    by_window = [
        {} if estimated is None else {group.title: group for group in groups_of(estimated, positions)}
        for estimated in with_reports
    ]
    pooled_groups = {} if pooled is None else _pooled_groups(pooled, positions)
    for group in groups_of(shown, positions):
        rows: list[list[KnownEstimate]] = [
            [groups[group.title].figures[row][1] if group.title in groups else None for groups in by_window]
            for row in range(len(group.figures))
        ]
        if pooled is not None:
            last = pooled_groups.get(group.title, (None,) * len(rows))
            rows = [[*row, estimate] for row, estimate in zip(rows, last, strict=True)]
        labels = [label for label, _ in group.figures]
        drawn = {"drawn": DRAWN[group.title]} if group.title in DRAWN else {}
        about = {"title": group.title, "percent": group.unit is PERCENT, "labels": labels}
        yield about | drawn | tracks(rows, group.unit)


def _pooled_groups(pooled: Pooled, positions: Sequence[int]) -> Mapping[str, tuple[KnownEstimate, ...]]:
    """Return the pooled figures by the titles of their groups."""
    groups: dict[str, tuple[KnownEstimate, ...]] = {}
    if pooled.estimates:
        groups[SHARES] = tuple(pooled.estimates[position] for position in positions)
    if pooled.mean is not None:
        groups[mean_title(pooled.kind)] = (pooled.mean,)
    if pooled.coordinates is not None:
        groups[COORDINATES] = tuple(pooled.coordinates[position] for position in positions)
    return groups


def _distribution(with_reports: WithReports) -> dict[str, Any]:
    """Return the histogram and the distribution function of each window.

    Nothing for a question without them.
    """
    distributions = [None if estimated is None else estimated.distribution for estimated in with_reports]
    first = next((distribution for distribution in distributions if distribution is not None), None)
    if first is None:
        return {}
    bins = tracks(_rows([None if each is None else each.bins for each in distributions]), PERCENT)
    if not any(share.low for each in distributions if each is not None for share in each.bins):
        del bins["d"]  # every lower limit is 0
    data: dict[str, Any] = {"bins": {"edges": [(share.start, share.end) for share in first.bins], **bins}}
    band = tracks(_rows([None if each is None else each.band for each in distributions]), PERCENT)
    data["band"] = {"at": [point.at for point in first.band], **band}
    return data


def _rows(by_window: Sequence[Sequence[Figure] | None]) -> list[list[KnownEstimate]]:
    """Return a row for each figure, with an estimate for each window."""
    figures = len(next(each for each in by_window if each is not None))
    return [[None if each is None else plain_estimate(each[place]) for each in by_window] for place in range(figures)]


def _joint(with_reports: WithReports) -> dict[str, Any]:
    """Return the shares within groups of each window, or nothing for a question without groups."""
    joints = [None if estimated is None else estimated.joint for estimated in with_reports]
    first = next((joint for joint in joints if joint is not None), None)
    if first is None or first.is_of_means:  # means are figures like any other
        return {}
    by_window: list[list[Share] | None] = [
        None if joint is None else [*chain.from_iterable(group.estimates for group in joint.groups)] for joint in joints
    ]
    cells = sum(len(group.estimates) for group in first.groups)
    rows: list[list[KnownEstimate]] = [
        [None if shares is None else shares[cell] for shares in by_window] for cell in range(cells)
    ]
    groups = [label_of(group.group) for group in first.groups]
    outcomes = [label_of(share.value) for share in first.groups[0].estimates]
    steps = {"steps": ranges_of(groups)} if first.roc else {}
    return {"joint": {"names": first.names, "groups": groups, "outcomes": outcomes, **steps, **tracks(rows, PERCENT)}}
