"""Rehearsals of every kind: answers from a table and from shares; every bad cell is named and not
repeated.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from estimator.commands.cli import command
from tests.support.devices.definitions import BOOLEAN, CATEGORY, CROSSED_MODEL, VECTOR, Field, registry_text
from tests.support.estimates.documents import has_mean, listed, mean_of

COUNT: dict[str, Field] = {"purpose": "Why?", "kind": "count", "max": 6, "statistic": "distribution", "epsilon": 1}
KINDS: dict[str, dict[str, Field]] = {
    "flag": BOOLEAN,
    "system": CATEGORY,
    "step": CATEGORY | {"kind": "ordinal"},
    "tools": CATEGORY | {"kind": "set", "max_items": 2},
    "visits": COUNT,
    "both": {"purpose": "Why?", "cross": ["flag", "system"], "epsilon": 2},
}
VECTOR_TEXT = registry_text(place=VECTOR | {"length": 3, "norm": 2, "epsilon": 4})
HEADING = "flag,system,step,tools,visits\n"
SOUND = HEADING + "yes,a,a,a|b,0\nno,b,c,|,6\nyes,a,c,b,3\nno,c,b, c | a ,3\n"
WRONG_CELL = "31337"


def run(folder: Path, *arguments: str, registry: str | None = None, **files: str) -> Result:
    (folder / "metrics.toml").write_text(registry or registry_text(**KINDS))
    for name, content in files.items():
        (folder / name).write_text(content)
    return CliRunner().invoke(command, ["rehearse", "--registry", str(folder / "metrics.toml"), *arguments])


def truths(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.output
    metrics = json.loads(result.stdout)["metrics"]
    return {
        metric["metric"]: (
            [entry["truth"] for entry in listed(metric, "share")],
            mean_of(metric)["truth"] if has_mean(metric) else None,
        )
        for metric in metrics
    }


def test_answers_of_every_kind_are_read_from_a_table(tmp_path: Path) -> None:
    options = ("--csv", str(tmp_path / "answers"), "--seed", "1", "--format", "json", "--rounds", "2")
    assert truths(run(tmp_path, *options, answers=SOUND)) == {
        "flag": ([0.5, 0.5], None),
        "system": ([0.5, 0.25, 0.25], None),
        "step": ([0.25, 0.25, 0.5], 2.25),
        "tools": ([0.5, 0.5, 0.25], 1.25),
        "visits": ([0.25, 0, 0, 0.5, 0, 0, 0.25], 3),
        "both": ([0, 0.25, 0.25, 0.5, 0, 0], None),
    }
    for form in ("table", "csv"):
        assert run(tmp_path, "--csv", str(tmp_path / "answers"), "--format", form).exit_code == 0


def test_answers_of_every_kind_are_read_from_shares(tmp_path: Path) -> None:
    shares = '[tools]\n"|" = 0.5\n"a|b" = 0.5\n[visits]\n2 = 1\n[both]\n"yes|a" = 0.25\n"no|c" = 0.75\n[step]\nb = 1\n'
    options = ("--population", "1000", "--shares", str(tmp_path / "shares.toml"), "--seed", "1", "--format", "json")
    (tmp_path / "shares.toml").write_text(shares)
    truth_of = truths(run(tmp_path, *options))
    assert truth_of["tools"] == ([0.5, 0.5, 0], 1)
    assert truth_of["visits"] == ([0, 0, 1, 0, 0, 0, 0], 2)
    assert truth_of["both"] == ([0, 0, 0.75, 0.25, 0, 0], None)
    assert truth_of["step"] == ([0, 1, 0], 2)


@pytest.mark.parametrize("column", ["step", "tools"])
def test_a_wrong_cell_is_named_by_row_and_column_and_not_repeated(tmp_path: Path, column: str) -> None:
    cells = dict(zip(HEADING.strip().split(","), ["yes", "a", "a", "a|b", "0"], strict=True)) | {column: WRONG_CELL}
    wrong = HEADING + "no,b,c,|,6\n" + ",".join(cells.values()) + "\n"
    result = run(tmp_path, "--csv", str(tmp_path / "answers"), answers=wrong)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"row 3, column {column}: must be" in result.stderr
    assert WRONG_CELL not in result.stderr


@pytest.mark.parametrize(
    ("column", "cell"),
    [
        ("tools", "a|b|c"),
        ("tools", "a|a"),
        ("tools", f"a|{WRONG_CELL}"),
        ("visits", "1.5"),
        ("visits", "many"),
        ("both", "yes"),
        ("both", f"yes|{WRONG_CELL}"),
        ("both", "yes|a|b"),
    ],
)
def test_every_way_to_miss_a_kind_is_named(tmp_path: Path, column: str, cell: str) -> None:
    result = run(tmp_path, "--csv", str(tmp_path / "answers"), answers=f"{column}\n{cell}\n")
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"row 2, column {column}: must be" in result.stderr
    assert WRONG_CELL not in result.stderr


def test_a_wrong_cell_of_one_of_two_crossed_columns_is_named(tmp_path: Path) -> None:
    result = run(tmp_path, "--csv", str(tmp_path / "answers"), answers=f"flag,system\nyes,{WRONG_CELL}\n")
    assert "row 2, column system: must be" in result.stderr
    assert "row 2, column both: must be" in result.stderr
    assert WRONG_CELL not in result.stderr


def coordinates(result: Result) -> list[dict[str, Any]]:
    assert result.exit_code == 0, result.output
    (metric,) = json.loads(result.stdout)["metrics"]
    entries: list[dict[str, Any]] = listed(metric, "coordinate")
    return entries


IN_CELLS = "place,other\n0.5|-1|0,a\n1|1e-1| 0,b\n"
IN_COLUMNS = "place.2,place.0,place.1\n0,0.5,-1\n0,1,0.1\n,1,1\n"
AS_JSON = ("--seed", "3", "--format", "json")


@pytest.mark.slow
@pytest.mark.parametrize("table", [IN_CELLS, IN_COLUMNS])
def test_vectors_are_read_from_cells_or_from_a_column_for_each_coordinate(tmp_path: Path, table: str) -> None:
    options = ("--csv", str(tmp_path / "table.csv"), "--repeat", "4000", *AS_JSON)
    result = run(tmp_path, *options, registry=VECTOR_TEXT, **{"table.csv": table})
    entries = coordinates(result)
    assert [entry["truth"] for entry in entries] == pytest.approx([0.75, -0.45, 0])
    assert all(abs(entry["estimate"] - entry["truth"]) < 5 * entry["standard_error"] < 0.3 for entry in entries)
    assert ("'other'" in result.stderr) == (table is IN_CELLS)
    assert "place." not in result.stderr


def test_a_vector_beyond_its_norm_is_rehearsed_as_shortened_beside_the_truth(tmp_path: Path) -> None:
    options = ("--csv", str(tmp_path / "table.csv"), "--repeat", "20000", *AS_JSON)
    entries = coordinates(run(tmp_path, *options, registry=VECTOR_TEXT, **{"table.csv": "place\n4|0|0\n"}))
    assert (entries[0]["truth"], entries[0]["holds"]) == (4, False)
    assert abs(entries[0]["estimate"] - 2) < 0.1


@pytest.mark.parametrize("cell", ["1|2", f"1|2|{WRONG_CELL}x", "1|2|nan", "1||2", "1|2|1e999"])
def test_what_is_no_vector_is_named_and_not_repeated(tmp_path: Path, cell: str) -> None:
    options = ("--csv", str(tmp_path / "table.csv"))
    result = run(tmp_path, *options, registry=VECTOR_TEXT, **{"table.csv": f"place\n{cell}\n"})
    assert (result.exit_code, result.stdout) == (2, "")
    assert "row 2, column place: must be 3 numbers from -1,000,000 to 1,000,000, separated by '|'" in result.stderr
    assert WRONG_CELL not in result.stderr


def test_why_a_metric_is_not_rehearsed_is_said(tmp_path: Path) -> None:
    registry = registry_text(flag=BOOLEAN, place=VECTOR, limitation=CROSSED_MODEL)
    drawn = run(tmp_path, "--population", "9", registry=registry).stderr
    assert "skipped place: its answers cannot be drawn uniformly; pass their shares as --shares" in drawn
    assert "skipped limitation: a model is not rehearsed here; use rehearse-model" in drawn
    table = {"answers": "flag,limitation\nyes,no\n"}
    read = run(tmp_path, "--csv", str(tmp_path / "answers"), registry=registry, **table).stderr
    assert "skipped place: there is no column with this name" in read
    assert "skipped limitation: a model is not rehearsed here; use rehearse-model" in read
