"""A report's JSON, read back into typed objects."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import IO

from estimator.errors import ReportError
from estimator.formats.document import ChangesDocument, PooledDocument, ReportDocument
from estimator.formats.from_json.figures import (
    CHANGE,
    INTERVAL,
    central,
    change,
    estimate,
    instant,
    labelled_change,
    window,
    within,
)
from estimator.formats.from_json.metric import QUESTION, metric, question
from estimator.formats.from_json.node import Node
from estimator.formats.row import SCHEMA
from estimator.results.report import POPULATION, Composed, Skipped


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
        metrics=tuple(map(metric, node["metrics"].items())),
        skipped=tuple(map(_skipped, node["skipped"].items())),
        composed=tuple(map(_composed, node["composed"].items())) if "composed" in node else (),
        pooled=tuple(map(_pooled, node["pooled"].items())) if "pooled" in node else (),
        changes=tuple(map(_changes, node["changes"].items())) if "changes" in node else (),
        snapshot_at=instant(node["snapshot_at"]) if "snapshot_at" in node else None,
    )


def _pooled(node: Node) -> PooledDocument:
    node.object((*QUESTION, "windows", "changes"), ("estimates", "mean"))
    mean = estimate(node["mean"].object(("estimate", *INTERVAL)), "estimate") if "mean" in node else None
    return PooledDocument(
        **question(node),
        windows=tuple(one.text() for one in node["windows"].items()),
        shares=tuple(map(within, node["estimates"].items())) if "estimates" in node else (),
        mean=mean,
        changes=tuple(within(one, "difference") for one in node["changes"].items()),
    )


def _changes(node: Node) -> ChangesDocument:
    node.object(("metric", "edition", "first", "last"), ("estimates", "mean"))
    shares = node["estimates"].items() if "estimates" in node else []
    return ChangesDocument(
        metric=node["metric"].text(),
        edition=node["edition"].text(),
        first=window(node["first"]),
        last=window(node["last"]),
        shares=tuple(labelled_change(one) for one in shares),
        mean=change(node["mean"].object(CHANGE)) if "mean" in node else None,
    )


def _skipped(node: Node) -> Skipped:
    node.object(("metric", "edition", "window", "reason"))
    return Skipped(node["metric"].text(), node["edition"].text(), window(node["window"]), node["reason"].text())


def _composed(node: Node) -> Composed:
    node.object(("window", "tallies", "central"))
    return Composed(window(node["window"]), node["tallies"].integer(), node["central"].or_none(central))
