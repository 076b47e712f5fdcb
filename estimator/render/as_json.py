"""The report for programs: JSON (RFC 8259), never NaN or Infinity, null where there is no estimate."""

from __future__ import annotations

import json

from client_sdk.spec.epsilon import as_float
from estimator.estimate import Estimate, MetricEstimate
from estimator.report import POPULATION, Report


def as_json(report: Report) -> str:
    """Return the report as one indented JSON object."""
    document = {
        "confidence": report.confidence,
        "population": POPULATION,
        "metrics": [_metric(estimated) for estimated in report.metrics],
        "skipped": [
            {"metric": one.metric, "edition": one.edition, "window": one.window.text, "reason": one.reason}
            for one in report.skipped
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _metric(estimated: MetricEstimate) -> dict[str, object]:
    metric = estimated.metric
    document: dict[str, object] = {
        "metric": metric.name,
        "edition": metric.edition,
        "window": estimated.window.text,
        "closed": estimated.closed,
        "kind": metric.kind,
        "mechanism": metric.channel.name,
        "epsilon": as_float(metric.epsilon_nanos),
        "reports": estimated.reports,
    }
    if estimated.mean is None:
        document["estimates"] = [{"value": value} | _numbers("share", share) for value, share in estimated.shares]
    else:
        document["mean"] = _numbers("estimate", estimated.mean)
    return document


def _numbers(name: str, one: Estimate) -> dict[str, object]:
    return {
        name: one.unbiased,
        "standard_error": one.standard_error,
        "low": one.low,
        "high": one.high,
        f"{name}_ml": one.likeliest,
    }
