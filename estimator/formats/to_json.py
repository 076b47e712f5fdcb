"""The report for programs: JSON (RFC 8259), never NaN or Infinity, null where there is no estimate."""

from __future__ import annotations

import json
from typing import Any

from estimator.formats.document import ChangesDocument, MetricDocument, PooledDocument, ReportDocument
from estimator.formats.row import SCHEMA
from estimator.render.text import central, poisoning
from estimator.results.changes import Change
from estimator.results.clusters import Clusters
from estimator.results.distribution import Distribution, Resampled
from estimator.results.estimate import Estimate
from estimator.results.joint import Difference, Joint
from estimator.results.report import POPULATION, Report

INSTANT = "%Y-%m-%dT%H:%M:%SZ"
"""RFC 3339, in UTC."""

RESAMPLED = "resampled"
"""How an interval was found for which no theorem promises a coverage."""

_line = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def as_json(report: Report) -> str:
    """Return the report as one JSON object, a line a metric and window."""
    return json_text(document_of(report))


def document_of(report: Report) -> dict[str, Any]:
    """Return the report as what JSON can hold."""
    return _report(ReportDocument.of(report))


def _report(report: ReportDocument) -> dict[str, Any]:
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "confidence": report.confidence,
        "simultaneous": report.simultaneous,
        "population": POPULATION,
        "metrics": [_metric(estimated) for estimated in report.metrics],
        "skipped": [
            {"metric": one.metric, "edition": one.edition, "window": one.window.text, "reason": one.reason}
            for one in report.skipped
        ],
    }
    if report.composed:
        document["composed"] = [
            {"window": one.window.text, "tallies": one.tallies, "central": central.document_of(one.central)}
            for one in report.composed
        ]
    if report.pooled:
        document["pooled"] = [_pooled(one) for one in report.pooled]
    if report.changes:
        document["changes"] = [_changes(one) for one in report.changes]
    if report.snapshot_at:
        document["snapshot_at"] = f"{report.snapshot_at:{INSTANT}}"
    return document


def json_text(document: dict[str, Any]) -> str:
    """Return a document as JSON that people can read, too: a line a field, and in a list a line a member.

    Deeper indentation would take three times as long: what encodes quickly in the standard library knows none.
    """
    fields = (f"  {_line(name)}: {_lines(value)}" for name, value in document.items())
    return "{\n" + ",\n".join(fields) + "\n}\n"


def _lines(value: object) -> str:
    if not isinstance(value, list) or not value:
        return _line(value)
    return "[\n" + ",\n".join(f"    {_line(member)}" for member in value) + "\n  ]"


def _about(found: MetricDocument | PooledDocument) -> dict[str, object]:
    return {
        "kind": found.kind,
        "mechanism": found.mechanism,
        "epsilon": found.epsilon,
        "delta": found.delta,
        "reports": found.reports,
    }


def _metric(estimated: MetricDocument) -> dict[str, object]:
    document: dict[str, object] = {
        "metric": estimated.metric,
        "edition": estimated.edition,
        "window": estimated.window.text,
        "closed": estimated.closed,
        **_about(estimated),
    }
    if estimated.shares is not None:
        document["estimates"] = [
            {"value": value, **_numbers("share", share), "share_shrunk": share.shrunken}
            for value, share in estimated.shares
        ]
    if estimated.mean is not None:
        document["mean"] = _numbers("estimate", estimated.mean)
    if estimated.total is not None:
        document["sum"] = _numbers("estimate", estimated.total)
    if estimated.distribution is not None:
        document |= _distribution(estimated.distribution)
    if estimated.answered:
        document["answered"] = [{"value": value, **_within(one)} for value, one in estimated.answered]
    if estimated.joint is not None:
        document |= _joint(estimated.joint)
    return document | _on_request(estimated)


def _on_request(estimated: MetricDocument) -> dict[str, object]:
    """Return what stands in a report only where it is wanted."""
    document: dict[str, object] = {}
    if estimated.covariance is not None:
        document["covariance"] = estimated.covariance
    if estimated.central is not None:
        document["central"] = central.document_of(estimated.central)
    if estimated.fakes is not None:
        document["fakes"] = poisoning.document_of(estimated.fakes)
    if estimated.clusters is not None:
        document["clusters"] = _clusters(estimated.clusters)
    return document


def _pooled(one: PooledDocument) -> dict[str, object]:
    shares = [{"value": value, **_within(share)} for value, share in one.shares]
    mean = {} if one.mean is None else {"mean": _within(one.mean, "estimate")}
    changes = [{"value": value, **_within(change, "difference")} for value, change in one.changes]
    about = {"metric": one.metric, "edition": one.edition, "windows": one.windows, **_about(one)}
    return {**about, **({"estimates": shares} if shares else {}), **mean, "changes": changes}


def _changes(one: ChangesDocument) -> dict[str, object]:
    shares = [{"value": value, **_change(change)} for value, change in one.shares]
    return {
        "metric": one.metric,
        "edition": one.edition,
        "first": one.first.text,
        "last": one.last.text,
        **({"estimates": shares} if shares else {}),
        **({} if one.mean is None else {"mean": _change(one.mean)}),
    }


def _change(one: Change | Difference) -> dict[str, object]:
    return {**_within(one.estimate, "difference"), "p_value": one.p_value, "p_value_corrected": one.corrected}


def _distribution(found: Distribution) -> dict[str, object]:
    likeliest = found.shares_ml or [None] * len(found.shares)
    return {
        "variance": _resampled(found.variance),
        "quantiles": [{"quantile": probability, **_resampled(one)} for probability, one in found.quantiles],
        "bins": [
            {
                "low": low,
                "high": high,
                "share": one.estimate,
                "share_low": one.low,
                "share_high": one.high,
                "share_ml": share_ml,
                "interval": RESAMPLED,
            }
            for (low, high), one, share_ml in zip(found.bins, found.shares, likeliest, strict=True)
        ],
    }


def _resampled(one: Resampled) -> dict[str, object]:
    return {"estimate": one.estimate, "low": one.low, "high": one.high, "interval": RESAMPLED}


def _clusters(found: Clusters) -> dict[str, object]:
    return {
        "clusters": [
            {
                **({"values": one.values} if one.span is None else {"from": one.span[0], "to": one.span[1]}),
                "share": _resampled(one.share),
                **({} if one.mean is None else {"mean": _resampled(one.mean)}),
                "stability": one.stability,
            }
            for one in found.clusters
        ],
        "numbers": [{"clusters": number, "found": part} for number, part in enumerate(found.numbers, start=1)],
    }


def _joint(joint: Joint) -> dict[str, object]:
    test = joint.independence
    return {
        "groups": [
            {"group": group.label, "shares": [{"value": value, **_within(one)} for value, one in group.outcomes]}
            for group in joint.groups
        ],
        "differences": [{"groups": list(one.groups), "value": one.label, **_change(one)} for one in joint.differences],
        "independence": None
        if test is None
        else {
            "statistic": test.statistic,
            "degrees_of_freedom": test.degrees_of_freedom,
            "p_value": test.p_value,
        },
    }


def _within(one: Estimate, name: str = "share") -> dict[str, object]:
    return {name: one.unbiased, "standard_error": one.standard_error, "low": one.low, "high": one.high}


def _numbers(name: str, one: Estimate) -> dict[str, object]:
    return {**_within(one, name), f"{name}_ml": one.likeliest}
