"""Upgrades reports of older schemas, one schema at a time.

Schema 2 had three names for one figure. Schema 3 has one name for each figure, nests distributions
and joint tables, and leaves out absent fields. In both, the intervals of distributions and clusters
were found by resampling. Schema 4 has intervals that hold for every population, and the band.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from estimator.results.report import POPULATION

Document = dict[str, Any]


def _from_2(document: Document) -> Document:
    return document | {
        "metrics": [_nested(metric) for metric in document["metrics"]],
        "pooled": [_renamed_all(_renamed_all(pooled, "estimates"), "changes") for pooled in document.get("pooled", ())],
        "changes": [_changes(changes) for changes in document.get("changes", ())],
    }


def _from_3(document: Document) -> Document:
    return document | {
        "population": POPULATION,
        "metrics": [_without_resampling(metric) for metric in document["metrics"]],
    }


def _without_resampling(metric: Document) -> Document:
    upgraded = {name: _without_interval(metric[name]) for name in ("distribution", "clusters") if name in metric}
    if "distribution" in upgraded:
        upgraded["distribution"]["band"] = []
    return metric | upgraded


def _nested(metric: Document) -> Document:
    metric = _renamed_all(_renamed_all(metric, "estimates"), "answered")
    for name in ("mean", "sum"):
        if name in metric:
            metric[name] = _renamed(metric[name])
    if "bins" in metric:
        parts = {name: metric.pop(name) for name in ("variance", "quantiles", "bins")}
        metric["distribution"] = {
            "interval": "resampled",
            "variance": _without_interval(parts["variance"]),
            "quantiles": [_without_interval(quantile) for quantile in parts["quantiles"]],
            "bins": [_bin(share) for share in parts["bins"]],
        }
    if "groups" in metric:
        metric["joint"] = {
            "groups": [_group(group) for group in metric.pop("groups")],
            "differences": [_renamed(difference) for difference in metric.pop("differences")],
            "independence": metric.pop("independence"),
        }
    if "clusters" in metric:
        metric["clusters"] = _clusters(metric["clusters"])
    return metric


def _changes(changes: Document) -> Document:
    changes = _renamed_all(changes, "estimates")
    return changes | {"mean": _renamed(changes["mean"])} if "mean" in changes else changes


def _group(group: Document) -> Document:
    return {"group": group["group"], "estimates": [_renamed(share) for share in group["shares"]]}


def _bin(share: Document) -> Document:
    renamed = {"low": "from", "high": "to", "share": "estimate", "share_low": "low", "share_high": "high"}
    renamed |= {"share_ml": "maximum_likelihood"}
    return {renamed.get(name, name): value for name, value in share.items() if name != "interval"}


def _clusters(clusters: Document) -> Document:
    members = [
        cluster | {name: _without_interval(cluster[name]) for name in ("share", "mean") if name in cluster}
        for cluster in clusters["clusters"]
    ]
    return {
        "interval": "resampled",
        "clusters": members,
        "numbers": [number["found"] for number in clusters["numbers"]],
    }


def _without_interval(figure: Document) -> Document:
    return {name: value for name, value in figure.items() if name != "interval"}


def _renamed_all(of: Document, name: str) -> Document:
    return of | {name: [_renamed(figure) for figure in of[name]]} if name in of else of


def _renamed(figure: Document) -> Document:
    return {_NAMES.get(name, name): value for name, value in figure.items()}


_NAMES: Final = {
    "share": "estimate",
    "difference": "estimate",
    "share_ml": "maximum_likelihood",
    "estimate_ml": "maximum_likelihood",
    "share_shrunk": "shrunken",
}

UPGRADES: Final[dict[int, Callable[[Document], Document]]] = {2: _from_2, 3: _from_3}
"""For each older schema, a function that turns a report of it into one of the next schema."""
