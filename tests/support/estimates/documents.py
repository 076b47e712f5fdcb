"""The figures of a report's JSON."""

from __future__ import annotations

from typing import Any

MEANS = ("mean", "geometric_mean", "mean_position", "mean_size")


def listed(metric: dict[str, Any], statistic: str) -> list[dict[str, Any]]:
    """Return the figures of a statistic in an entry of a report; an empty list if it has none."""
    groups = [group for group in metric.get("groups", ()) if group["statistic"] == statistic]
    return [figure for group in groups for figure in group["figures"]]


def has_mean(metric: dict[str, Any]) -> bool:
    """Return whether an entry of a report has a mean of all answers."""
    return any(group["statistic"] in MEANS for group in metric.get("groups", ()))


def mean_of(metric: dict[str, Any]) -> dict[str, Any]:
    """Return the mean of all answers."""
    (figure,) = (figure for statistic in MEANS for figure in listed(metric, statistic))
    return figure


def only(metric: dict[str, Any], statistic: str) -> dict[str, Any]:
    """Return the only figure of a statistic."""
    (figure,) = listed(metric, statistic)
    return figure
