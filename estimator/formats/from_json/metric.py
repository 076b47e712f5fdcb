"""What one tally tells, and everything of it that is no single figure."""

from __future__ import annotations

from typing import Any

from client_sdk.protocol import Label
from estimator.formats.document import MetricDocument
from estimator.formats.from_json.figures import (
    CHANGE,
    central,
    change,
    estimate,
    label,
    names_of,
    resampled,
    share,
    window,
    within,
)
from estimator.formats.from_json.node import Node
from estimator.results.clusters import Cluster, Clusters
from estimator.results.distribution import Distribution
from estimator.results.estimate import Estimate
from estimator.results.joint import Difference, Group, Independence, Joint
from estimator.results.poisoning import Fakes, Move, RangeTest

QUESTION = ("metric", "edition", "kind", "mechanism", "epsilon", "delta", "reports")

_FIGURES = (
    *("estimates", "mean", "sum", "variance", "quantiles", "bins", "answered", "groups", "differences"),
    *("independence", "covariance", "central", "fakes", "clusters"),
)


def metric(node: Node) -> MetricDocument:
    """Return what one tally tells."""
    node.object((*QUESTION, "window", "closed"), _FIGURES)
    mean = estimate(node["mean"].object(names_of("estimate", "ml")), "estimate") if "mean" in node else None
    return MetricDocument(
        **question(node),
        window=window(node["window"]),
        closed=node["closed"].truth(),
        shares=tuple(map(share, node["estimates"].items())) if "estimates" in node else None,
        mean=mean,
        total=estimate(node["sum"].object(names_of("estimate", "ml")), "estimate") if "sum" in node else None,
        distribution=_distribution(node, mean) if "bins" in node else None,
        answered=tuple(within(one) for one in node["answered"].items()) if "answered" in node else (),
        joint=_joint(node) if "groups" in node else None,
        covariance=tuple(tuple(cell.number() for cell in row.items()) for row in node["covariance"].items())
        if "covariance" in node
        else None,
        central=central(node["central"]) if "central" in node else None,
        fakes=_fakes(node["fakes"]) if "fakes" in node else None,
        clusters=_clusters(node["clusters"]) if "clusters" in node else None,
    )


def question(node: Node) -> dict[str, Any]:
    """Return what a metric and windows together both say of the question."""
    return {
        **{name: node[name].text() for name in ("metric", "edition", "kind", "mechanism")},
        **{name: node[name].number() for name in ("epsilon", "delta")},
        "reports": node["reports"].integer(),
    }


def _distribution(node: Node, mean: Estimate | None) -> Distribution:
    node.object((*QUESTION, "window", "closed", "mean", "variance", "quantiles", "bins"), _FIGURES)
    variance = node["variance"].object(("estimate", "low", "high", "interval"))
    quantiles = [one.object(("quantile", "estimate", "low", "high", "interval")) for one in node["quantiles"].items()]
    names = ("low", "high", "share", "share_low", "share_high", "share_ml", "interval")
    bins = [one.object(names) for one in node["bins"].items()]
    likeliest = [one["share_ml"].or_none(Node.number) for one in bins]
    return Distribution(
        bins=tuple((one["low"].number(), one["high"].number()) for one in bins),
        shares=tuple(resampled(one, "share", "share_low", "share_high") for one in bins),
        shares_ml=tuple(one for one in likeliest if one is not None),
        mean_ml=None if mean is None else mean.likeliest,
        variance=resampled(variance),
        quantiles=tuple((one["quantile"].number(), resampled(one)) for one in quantiles),
    )


def _joint(node: Node) -> Joint:
    node.object((*QUESTION, "window", "closed", "groups", "differences", "independence"), _FIGURES)
    return Joint(
        groups=tuple(map(_group, node["groups"].items())),
        differences=tuple(map(_difference, node["differences"].items())),
        independence=node["independence"].or_none(_independence),
    )


def _group(node: Node) -> Group:
    node.object(("group", "shares"))
    return Group(label(node["group"]), tuple(map(within, node["shares"].items())))  # type: ignore[arg-type] # no pairs


def _difference(node: Node) -> Difference:
    node.object(("groups", "value", *CHANGE))
    groups = tuple(map(label, node["groups"].items()))
    found = change(node)
    return Difference(groups, label(node["value"]), found.estimate, found.p_value, found.corrected)  # type: ignore[arg-type] # no pairs


def _independence(node: Node) -> Independence:
    node.object(("statistic", "degrees_of_freedom", "p_value"))
    return Independence(node["statistic"].number(), node["degrees_of_freedom"].integer(), node["p_value"].number())


def _fakes(node: Node) -> Fakes:
    node.object(("fraction", "test"), ("estimates", "mean"))
    test = node["test"].object(("statistic", "p_value", "drawn", "impossible"))
    found = RangeTest(test["statistic"].number(), test["p_value"].number(), test["drawn"].integer())
    if test["impossible"].truth() is not found.is_impossible:
        raise test["impossible"].error("contradicts the p-value")
    shares = tuple(map(_labelled_move, node["estimates"].items())) if "estimates" in node else None
    mean = _move(node["mean"].object(("down", "up"))) if "mean" in node else None
    return Fakes(node["fraction"].number(), shares, mean, found)


def _labelled_move(node: Node) -> tuple[Label, Move]:
    node.object(("value", "down", "up"))
    return label(node["value"]), _move(node)


def _move(node: Node) -> Move:
    return Move(node["down"].number(), node["up"].number())


def _clusters(node: Node) -> Clusters:
    node.object(("clusters", "numbers"))
    numbers = [one.object(("clusters", "found")) for one in node["numbers"].items()]
    return Clusters(tuple(map(_cluster, node["clusters"].items())), tuple(one["found"].number() for one in numbers))


def _cluster(node: Node) -> Cluster:
    node.object(("share", "stability"), ("values", "from", "to", "mean"))
    ends = ("estimate", "low", "high", "interval")
    return Cluster(
        values=tuple(map(label, node["values"].items())) if "values" in node else (),
        span=(node["from"].number(), node["to"].number()) if "from" in node else None,
        share=resampled(node["share"].object(ends)),
        mean=resampled(node["mean"].object(ends)) if "mean" in node else None,
        stability=node["stability"].number(),
    )
