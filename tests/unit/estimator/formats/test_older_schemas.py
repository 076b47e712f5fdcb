"""Reports of older schemas are read: every figure is in its present place."""

from __future__ import annotations

import copy
import io
import json
from pathlib import Path
from typing import Any

import pytest

import estimator
from estimator.formats.to_json import document_of

OLD: dict[str, Any] = json.loads((Path(__file__).parent / "report_of_schema_2.json").read_text(encoding="utf-8"))
"""What the last version of schema 2 wrote for every kind of question, with everything that could be
requested.
"""

RENAMED = {
    "share": "estimate",
    "difference": "estimate",
    "share_ml": "maximum_likelihood",
    "estimate_ml": "maximum_likelihood",
    "share_shrunk": "shrunken",
    "impossible": "impossible",
}


JOINT = ("groups", "differences", "independence")


def loaded(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document of a report that was read."""
    written = document_of(estimator.load_report(io.StringIO(json.dumps(document))))
    decoded: dict[str, Any] = json.loads(json.dumps(written))
    return decoded


def same(old: dict[str, Any], new: dict[str, Any], *but: str) -> None:
    """Assert that each field of an old figure is in the new one; a null may be left out."""
    for name, value in old.items():
        if name not in but:
            assert new.get(RENAMED.get(name, name)) == value, name


def test_every_figure_of_schema_2_is_read() -> None:
    new = loaded(OLD)
    assert new["schema"] == 4
    assert (new["confidence"], new["skipped"], new["snapshot_at"]) == (
        OLD["confidence"],
        OLD["skipped"],
        OLD["snapshot_at"],
    )
    assert new["composed"] == OLD["composed"]
    for old_metric, metric in zip(OLD["metrics"], new["metrics"], strict=True):
        same(
            old_metric,
            metric,
            "estimates",
            "mean",
            "sum",
            "variance",
            "quantiles",
            "bins",
            "answered",
            *JOINT,
            "clusters",
        )
        for list_of in ("estimates", "answered"):
            for old, figure in zip(old_metric.get(list_of, ()), metric.get(list_of, ()), strict=True):
                same(old, figure)
        for single in ("mean", "sum"):
            assert (single in old_metric) == (single in metric)
            same(old_metric.get(single, {}), metric.get(single, {}))


def pairs(field: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return the old metrics that have a field, each with its present document."""
    both_versions = [both for both in zip(OLD["metrics"], loaded(OLD)["metrics"], strict=True) if field in both[0]]
    assert both_versions
    return both_versions


def test_distributions_of_schema_2_are_read() -> None:
    for old_metric, metric in pairs("bins"):
        distribution = metric["distribution"]
        assert "interval" not in distribution
        assert distribution["band"] == []
        same(old_metric["variance"], distribution["variance"], "interval")
        for old, quantile in zip(old_metric["quantiles"], distribution["quantiles"], strict=True):
            same(old, quantile, "interval")
        for old, share in zip(old_metric["bins"], distribution["bins"], strict=True):
            ends, figures = ("low", "high"), ("share", "share_low", "share_high", "share_ml")
            assert [share["from"], share["to"]] == [old[name] for name in ends]
            names = ("estimate", "low", "high", "maximum_likelihood")
            assert [share.get(name) for name in names] == [old[name] for name in figures]


def test_joint_tables_of_schema_2_are_read() -> None:
    for old_metric, metric in pairs("groups"):
        joint = metric["joint"]
        assert joint["independence"] == old_metric["independence"]
        for old, group in zip(old_metric["groups"], joint["groups"], strict=True):
            assert group["group"] == old["group"]
            for old_share, share in zip(old["shares"], group["estimates"], strict=True):
                same(old_share, share)
        for old, difference in zip(old_metric["differences"], joint["differences"], strict=True):
            same(old, difference)


def test_clusters_of_schema_2_are_read() -> None:
    for old_metric, metric in pairs("clusters"):
        clusters = metric["clusters"]
        assert "interval" not in clusters
        assert clusters["numbers"] == [number["found"] for number in old_metric["clusters"]["numbers"]]
        for old, cluster in zip(old_metric["clusters"]["clusters"], clusters["clusters"], strict=True):
            same(old, cluster, "share", "mean", "values")
            assert cluster.get("values", []) == old.get("values", [])
            same(old["share"], cluster["share"], "interval")


def test_windows_together_of_schema_2_are_read() -> None:
    new = loaded(OLD)
    assert new["pooled"]
    assert new["changes"]
    for name in ("pooled", "changes"):
        for old, together in zip(OLD[name], new[name], strict=True):
            same(old, together, "estimates", "mean", "changes")
            for list_of in ("estimates", "changes"):
                for old_figure, figure in zip(old.get(list_of, ()), together.get(list_of, ()), strict=True):
                    same(old_figure, figure)
            same(old.get("mean", {}), together.get("mean", {}))


def of_schema_3(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document of this schema as schema 3 wrote it.

    It is tagged as resampled, without bands and ranges.
    """
    older = copy.deepcopy(document) | {"schema": 3}
    for metric in older["metrics"]:
        for name in ("distribution", "clusters"):
            if name in metric:
                metric[name]["interval"] = "resampled"
        metric.get("distribution", {}).pop("band", None)
    return older


def test_every_figure_of_schema_3_is_read() -> None:
    new = loaded(OLD)
    assert any("distribution" in metric for metric in new["metrics"])
    assert loaded(of_schema_3(new)) == new


def test_a_schema_before_those_is_refused() -> None:
    with pytest.raises(estimator.ReportError, match="its schema is not one of those known here, 2, 3, 4"):
        loaded(OLD | {"schema": 1})


@pytest.mark.parametrize("broken", [{"metrics": 1}, {"metrics": [{"mean": 3}]}, {"pooled": [3]}, {"changes": {"a": 1}}])
def test_a_broken_report_of_an_older_schema_is_refused(broken: dict[str, Any]) -> None:
    with pytest.raises(estimator.ReportError, match="cannot be used"):
        loaded(OLD | broken)
