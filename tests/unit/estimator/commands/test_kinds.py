"""Each kind of question in every form: the same numbers, with all reports, one and none; and both
flags.
"""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from client_sdk.protocol import Registry
from estimator.commands.cli import command
from tests.support.devices.definitions import BOOLEAN, CATEGORY, NUMBER, Field, Toml, registry_text
from tests.support.estimates.documents import has_mean, listed
from tests.support.estimates.tallies import tally

COUNT: dict[str, Field] = {"purpose": "Why?", "kind": "count", "max": 6, "statistic": "distribution", "epsilon": 1}
KINDS: dict[str, dict[str, Field]] = {
    "flag": BOOLEAN,
    "system": CATEGORY,
    "step": CATEGORY | {"kind": "ordinal", "mechanism": "exponential"},
    "tools": CATEGORY | {"kind": "set", "max_items": 2},
    "visits": COUNT,
    "many": COUNT | {"max": 10**6, "statistic": "mean", "mechanism": "laplace"},
    "length": NUMBER | {"mechanism": "gaussian", "delta": Toml("1e-6"), "epsilon": 2},
    "spread": COUNT | {"mechanism": "laplace", "max": 20},
    "both": {"purpose": "Why?", "cross": ["flag", "system"], "epsilon": 2},
    "grouped": {"purpose": "Why?", "cross": ["system", "length"], "epsilon": 3},
}
WIDE: dict[str, Field] = {"purpose": "Why?", "kind": "category", "values": [f"v{i}" for i in range(300)], "epsilon": 1}
REGISTRY = Registry.parse(registry_text(**KINDS))


def even(name: str, reports: int) -> bytes:
    metric = REGISTRY.metric(name)
    law = np.full(metric.channel.symbols, 1 / metric.channel.symbols)
    return tally(metric, np.random.default_rng(1).multinomial(reports, law).tolist())


def run(folder: Path, content: bytes, *flags: str, registry: str = registry_text(**KINDS)) -> Result:
    (folder / "metrics.toml").write_text(registry)
    (folder / "tallies").write_bytes(content)
    places = ["--registry", str(folder / "metrics.toml"), "--tallies", str(folder / "tallies")]
    return CliRunner().invoke(command, ["report", *places, *flags])


def only_metric(folder: Path, content: bytes, *flags: str) -> Any:
    (metric,) = json.loads(run(folder, content, "--format", "json", *flags).stdout)["metrics"]
    return metric


def figures(metric: Any) -> list[float | None]:
    """Return every estimate in JSON, in the order of the CSV's rows."""
    entries = [entry for group in metric["groups"] for entry in group["figures"]]
    entries += [metric["taking_part"]] if "taking_part" in metric else []
    return [entry["estimate"] for entry in entries]


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("reports", [0, 1, 10**4])
def test_every_kind_has_the_same_numbers_in_every_form(tmp_path: Path, name: str, reports: int) -> None:
    content = even(name, reports)
    metric = only_metric(tmp_path, content)
    rows = list(csv.DictReader(io.StringIO(run(tmp_path, content, "--format", "csv").stdout)))
    assert [float(row["estimate"]) if row["estimate"] else None for row in rows] == figures(metric)
    assert {float(row["delta"]) for row in rows} == {metric["delta"]}
    assert (metric["delta"] > 0) == (name == "length")
    assert (len(listed(metric, "sum")) == 1) == (reports > 0 and name in {"visits", "many", "length", "spread"})
    table = run(tmp_path, content, "--verbose").stdout
    assert max(map(len, table.splitlines())) <= 80
    if reports == 0:
        assert "no reports" in table
        return
    assert table.count("±") >= len(listed(metric, "share")) + has_mean(metric)  # what is shown: test_shown_figures.py


def test_two_metrics_have_groups_differences_and_a_test(tmp_path: Path) -> None:
    metric = only_metric(tmp_path, even("both", 10**4))
    within = listed(metric, "share_within")
    assert [*dict.fromkeys(share["value"][0] for share in within)] == [False, True]
    assert list(metric["independence"]) == ["statistic", "degrees_of_freedom", "p_value"]
    first, second = ([share["estimate"] for share in within if share["value"][0] is group] for group in (False, True))
    differences = [entry["estimate"] for entry in listed(metric, "difference")]
    assert differences == [a - b for a, b in zip(first, second, strict=True)]
    assert f"p = {metric['independence']['p_value']:.2g}" in run(tmp_path, even("both", 10**4), "--verbose").stdout
    assert "independence" not in only_metric(tmp_path, even("both", 1))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["system", "step", "tools", "visits", "both"])
def test_intervals_together_are_wider_and_labeled(tmp_path: Path, name: str) -> None:
    content = even(name, 10**4)
    alone, together = only_metric(tmp_path, content), only_metric(tmp_path, content, "--with", "simultaneous")
    for single, joint in zip(listed(alone, "share"), listed(together, "share"), strict=True):
        assert joint["low"] <= single["low"] <= single["high"] <= joint["high"]
        assert joint["estimate"] == single["estimate"]
    assert (
        json.loads(run(tmp_path, content, "--format", "json", "--with", "simultaneous").stdout)["simultaneous"] is True
    )
    assert "contain their true values" in run(tmp_path, content, "--with", "simultaneous", "--verbose").stdout
    assert "contain their true values" not in run(tmp_path, content, "--verbose").stdout


def test_a_covariance_is_in_json_and_only_there(tmp_path: Path) -> None:
    content = even("system", 10**4)
    metric = only_metric(tmp_path, content, "--with", "covariance")
    variances = [row[place] for place, row in enumerate(metric["covariance"])]
    assert variances == pytest.approx([entry["standard_error"] ** 2 for entry in listed(metric, "share")], rel=0.01)
    assert "covariance" not in only_metric(tmp_path, content)
    for form in ("table", "csv"):
        result = run(tmp_path, content, "--with", "covariance", "--format", form)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "choose another --format: json" in result.stderr


def test_of_many_values_a_table_shows_fifty_and_the_covariance_is_left_out(tmp_path: Path) -> None:
    text = registry_text(wide=WIDE)
    metric = Registry.parse(text).metric("wide")
    counts = np.random.default_rng(1).multinomial(10**4, np.full(metric.channel.symbols, 1 / metric.channel.symbols))
    content = tally(metric, counts.tolist())
    table = run(tmp_path, content, "--verbose", registry=text).stdout
    assert sum(line.startswith("  v") for line in table.splitlines()) == 50
    assert "… and 250 more values" in table
    without = run(tmp_path, content, "--with", "covariance", "--format", "json", registry=text)
    assert "no covariance for more than 256 shares" in without.stderr
    (metric_of_json,) = json.loads(without.stdout)["metrics"]
    assert len(listed(metric_of_json, "share")) == 300
    assert "covariance" not in metric_of_json
