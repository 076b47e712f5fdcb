"""The report for programs: JSON (RFC 8259), never NaN or Infinity, null where there is no estimate."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

from client_sdk.spec.epsilon import as_float
from estimator.distribution import Distribution, Resampled
from estimator.estimate import Estimate, MetricEstimate
from estimator.report import POPULATION, Report

RESAMPLED = "resampled"
"""How an interval was found for which no theorem promises a coverage."""


def as_json(report: Report) -> str:
    """Return the report as one indented JSON object."""
    return json_text(document_of(report))


def document_of(report: Report) -> dict[str, Any]:
    """Return the report as what JSON can hold."""
    return {
        "confidence": report.confidence,
        "population": POPULATION,
        "metrics": [_metric(estimated) for estimated in report.metrics],
        "skipped": [
            {"metric": one.metric, "edition": one.edition, "window": one.window.text, "reason": one.reason}
            for one in report.skipped
        ],
    }


def json_text(document: dict[str, Any]) -> str:
    """Return a document as JSON that people can read, too."""
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
    if estimated.distribution is not None:
        document |= _distribution(estimated.distribution)
    return document


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
            for (low, high), one, share_ml in zip(pairwise(found.edges), found.shares, likeliest, strict=True)
        ],
    }


def _resampled(one: Resampled) -> dict[str, object]:
    return {"estimate": one.estimate, "low": one.low, "high": one.high, "interval": RESAMPLED}


def _numbers(name: str, one: Estimate) -> dict[str, object]:
    return {
        name: one.unbiased,
        "standard_error": one.standard_error,
        "low": one.low,
        "high": one.high,
        f"{name}_ml": one.likeliest,
    }
