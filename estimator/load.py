"""A report's JSON, read back into typed objects."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import IO, Any

from client_sdk.spec import Label, Window, WindowError
from estimator.central import ASSUMPTION, Central
from estimator.changes import Change
from estimator.clustering import Cluster, Clusters
from estimator.decoding import Node
from estimator.distribution import Distribution, Resampled
from estimator.document import SCHEMA, ChangesDocument, MetricDocument, PooledDocument, ReportDocument
from estimator.errors import ReportError
from estimator.figure import Estimate
from estimator.joint import Difference, Group, Independence, Joint
from estimator.poisoning import Fakes, Move, RangeTest
from estimator.render.as_json import INSTANT, RESAMPLED
from estimator.report import POPULATION, Composed, Skipped

_INTERVAL = ("standard_error", "low", "high")
_QUESTION = ("metric", "edition", "kind", "mechanism", "epsilon", "delta", "reports")
_CHANGE = ("difference", *_INTERVAL, "p_value", "p_value_corrected")
_FIGURES = (
    *("estimates", "mean", "sum", "variance", "quantiles", "bins", "answered", "groups", "differences"),
    *("independence", "covariance", "central", "fakes", "clusters"),
)


def load_report(source: str | PathLike[str] | IO[str] | IO[bytes]) -> ReportDocument:
    """Read the JSON of a report.

    Args:
        source: a path, or an open file.

    Raises:
        ReportError: if it cannot be read, is no report, or follows a schema that is not known here.

    """
    name = str(source) if isinstance(source, str | PathLike) else "the report"
    try:
        content = source.read() if hasattr(source, "read") else Path(source).read_bytes()
    except OSError as error:
        raise ReportError(f"{name} cannot be read: {error.strerror}; name a readable report") from error
    try:
        return decode(json.loads(content))
    except (ValueError, RecursionError):
        raise ReportError(f"{name} is not JSON; make it with report --format json") from None
    except ReportError as error:
        raise ReportError(f"{name} cannot be used: {error}") from None


def decode(document: object) -> ReportDocument:
    """Return a report from what its JSON holds.

    Raises:
        ReportError: naming the first mistake by its place.

    """
    if type(document) is not dict or "schema" not in document:
        raise ReportError("it is no report, or of a version before schema numbers; make it with report --format json")
    if document["schema"] != SCHEMA or type(document["schema"]) is not int:
        raise ReportError(f"it follows another schema than {SCHEMA}, the one known here; use the version that made it")
    if "seed" in document:
        raise ReportError("it is a rehearsal; take the JSON of report")
    node = Node(document).object(
        ("schema", "confidence", "simultaneous", "population", "metrics", "skipped"),
        ("composed", "pooled", "changes", "snapshot_at"),
    )
    if node["population"].text() != POPULATION:
        raise node["population"].error(f"must be {POPULATION}")
    return ReportDocument(
        confidence=node["confidence"].number(),
        simultaneous=node["simultaneous"].truth(),
        metrics=tuple(map(_metric, node["metrics"].items())),
        skipped=tuple(map(_skipped, node["skipped"].items())),
        composed=tuple(map(_composed, node["composed"].items())) if "composed" in node else (),
        pooled=tuple(map(_pooled, node["pooled"].items())) if "pooled" in node else (),
        changes=tuple(map(_changes, node["changes"].items())) if "changes" in node else (),
        snapshot_at=_instant(node["snapshot_at"]) if "snapshot_at" in node else None,
    )


def _metric(node: Node) -> MetricDocument:
    node.object((*_QUESTION, "window", "closed"), _FIGURES)
    mean = _estimate(node["mean"].object(_names("estimate", "ml")), "estimate") if "mean" in node else None
    return MetricDocument(
        **_question(node),
        window=_window(node["window"]),
        closed=node["closed"].truth(),
        shares=tuple(map(_share, node["estimates"].items())) if "estimates" in node else None,
        mean=mean,
        total=_estimate(node["sum"].object(_names("estimate", "ml")), "estimate") if "sum" in node else None,
        distribution=_distribution(node, mean) if "bins" in node else None,
        answered=tuple(_within(one) for one in node["answered"].items()) if "answered" in node else (),
        joint=_joint(node) if "groups" in node else None,
        covariance=tuple(tuple(cell.number() for cell in row.items()) for row in node["covariance"].items())
        if "covariance" in node
        else None,
        central=_central(node["central"]) if "central" in node else None,
        fakes=_fakes(node["fakes"]) if "fakes" in node else None,
        clusters=_clusters(node["clusters"]) if "clusters" in node else None,
    )


def _question(node: Node) -> dict[str, Any]:
    """Return what a metric and windows together both say of the question."""
    return {
        **{name: node[name].text() for name in ("metric", "edition", "kind", "mechanism")},
        **{name: node[name].number() for name in ("epsilon", "delta")},
        "reports": node["reports"].integer(),
    }


def _pooled(node: Node) -> PooledDocument:
    node.object((*_QUESTION, "windows", "changes"), ("estimates", "mean"))
    mean = _estimate(node["mean"].object(("estimate", *_INTERVAL)), "estimate") if "mean" in node else None
    return PooledDocument(
        **_question(node),
        windows=tuple(one.text() for one in node["windows"].items()),
        shares=tuple(map(_within, node["estimates"].items())) if "estimates" in node else (),
        mean=mean,
        changes=tuple(_within(one, "difference") for one in node["changes"].items()),
    )


def _changes(node: Node) -> ChangesDocument:
    node.object(("metric", "edition", "first", "last"), ("estimates", "mean"))
    shares = node["estimates"].items() if "estimates" in node else []
    return ChangesDocument(
        metric=node["metric"].text(),
        edition=node["edition"].text(),
        first=_window(node["first"]),
        last=_window(node["last"]),
        shares=tuple(_labelled_change(one) for one in shares),
        mean=_change(node["mean"].object(_CHANGE)) if "mean" in node else None,
    )


def _labelled_change(node: Node) -> tuple[Label, Change]:
    node.object(("value", *_CHANGE))
    return _label(node["value"]), _change(node)


def _change(node: Node) -> Change:
    p_values = (node[name].or_none(Node.number) for name in ("p_value", "p_value_corrected"))
    return Change(_estimate(node, "difference"), *p_values)


def _skipped(node: Node) -> Skipped:
    node.object(("metric", "edition", "window", "reason"))
    return Skipped(node["metric"].text(), node["edition"].text(), _window(node["window"]), node["reason"].text())


def _composed(node: Node) -> Composed:
    node.object(("window", "tallies", "central"))
    return Composed(_window(node["window"]), node["tallies"].integer(), node["central"].or_none(_central))


def _central(node: Node) -> Central:
    node.object(("delta", "epsilon", "assumes"))
    if node["assumes"].text() != ASSUMPTION:
        raise node["assumes"].error(f"must be {ASSUMPTION}")
    return Central(node["delta"].number(), node["epsilon"].number())


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
    return _label(node["value"]), _move(node)


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
        values=tuple(map(_label, node["values"].items())) if "values" in node else (),
        span=(node["from"].number(), node["to"].number()) if "from" in node else None,
        share=_resampled(node["share"].object(ends)),
        mean=_resampled(node["mean"].object(ends)) if "mean" in node else None,
        stability=node["stability"].number(),
    )


def _instant(node: Node) -> datetime:
    try:
        return datetime.strptime(node.text(), INSTANT).replace(tzinfo=UTC)
    except ValueError:
        raise node.error("must be an instant such as 2026-11-20T12:00:00Z") from None


def _window(node: Node) -> Window:
    try:
        return Window.parse(node.text())
    except WindowError as error:
        raise node.error(f"is no window: {error}") from None


def _label(node: Node) -> Label:
    """Return a value: a text, a truth value, a whole number, none for nothing recorded, or a pair of such."""
    if type(node.raw) is list:
        return tuple(map(_label, node.items()))  # type: ignore[return-value] # of as many parts as questions
    if node.raw is not None and type(node.raw) not in (str, bool, int):
        raise node.error("must be a text, a whole number, a truth value, null or a list of such")
    label: Label = node.raw
    return label


def _names(name: str, *more: str) -> tuple[str, ...]:
    return (name, *_INTERVAL, *(f"{name}_{one}" for one in more))


def _share(node: Node) -> tuple[Label, Estimate]:
    node.object(("value", *_names("share", "ml", "shrunk")))
    return _label(node["value"]), _estimate(node, "share")


def _within(node: Node, name: str = "share") -> tuple[Label, Estimate]:
    node.object(("value", name, *_INTERVAL))
    return _label(node["value"]), _estimate(node, name)


def _estimate(node: Node, name: str) -> Estimate:
    likeliest, shrunken = f"{name}_ml", f"{name}_shrunk"
    return Estimate(
        unbiased=node[name].or_none(Node.number),
        standard_error=node["standard_error"].or_none(Node.number),
        low=node["low"].number(),
        high=node["high"].number(),
        likeliest=node[likeliest].or_none(Node.number) if likeliest in node else None,
        shrunken=node[shrunken].or_none(Node.number) if shrunken in node else None,
    )


def _distribution(node: Node, mean: Estimate | None) -> Distribution:
    node.object((*_QUESTION, "window", "closed", "mean", "variance", "quantiles", "bins"), _FIGURES)
    variance = node["variance"].object(("estimate", "low", "high", "interval"))
    quantiles = [one.object(("quantile", "estimate", "low", "high", "interval")) for one in node["quantiles"].items()]
    names = ("low", "high", "share", "share_low", "share_high", "share_ml", "interval")
    bins = [one.object(names) for one in node["bins"].items()]
    likeliest = [one["share_ml"].or_none(Node.number) for one in bins]
    return Distribution(
        bins=tuple((one["low"].number(), one["high"].number()) for one in bins),
        shares=tuple(_resampled(one, "share", "share_low", "share_high") for one in bins),
        shares_ml=tuple(one for one in likeliest if one is not None),
        mean_ml=None if mean is None else mean.likeliest,
        variance=_resampled(variance),
        quantiles=tuple((one["quantile"].number(), _resampled(one)) for one in quantiles),
    )


def _resampled(node: Node, name: str = "estimate", low: str = "low", high: str = "high") -> Resampled:
    if node["interval"].text() != RESAMPLED:
        raise node["interval"].error(f"must be {RESAMPLED}")
    return Resampled(node[name].or_none(Node.number), node[low].number(), node[high].number())


def _joint(node: Node) -> Joint:
    node.object((*_QUESTION, "window", "closed", "groups", "differences", "independence"), _FIGURES)
    return Joint(
        groups=tuple(map(_group, node["groups"].items())),
        differences=tuple(map(_difference, node["differences"].items())),
        independence=node["independence"].or_none(_independence),
    )


def _group(node: Node) -> Group:
    node.object(("group", "shares"))
    return Group(_label(node["group"]), tuple(map(_within, node["shares"].items())))  # type: ignore[arg-type] # no pairs


def _difference(node: Node) -> Difference:
    node.object(("groups", "value", "difference", *_INTERVAL))
    groups = tuple(map(_label, node["groups"].items()))
    return Difference(groups, _label(node["value"]), _estimate(node, "difference"))  # type: ignore[arg-type] # no pairs


def _independence(node: Node) -> Independence:
    node.object(("statistic", "degrees_of_freedom", "p_value"))
    return Independence(node["statistic"].number(), node["degrees_of_freedom"].integer(), node["p_value"].number())
