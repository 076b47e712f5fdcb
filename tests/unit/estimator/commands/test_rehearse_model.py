"""The command that says whether a model is worth it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from jsonschema import Draft202012Validator

from estimator.commands import rehearse
from estimator.commands.cli import command
from tests.support.devices.definitions import BOOLEAN, CROSSED_MODEL, registry_text
from tools.schema_page import schema

HEAD = "person,age,sex,health,m,other\n"
ROWS = [
    f"{n // 2},{18 + n},{'fm'[n % 2]},{'good' if n < 40 else 'poor'},{'yes' if n > 30 else 'no'},x" for n in range(70)
]


def run(folder: Path, rows: list[str], *options: str, head: str = HEAD, epsilon: int = 4) -> Result:
    registry, table = folder / "metrics.toml", folder / "people.csv"
    registry.write_text(registry_text(m=CROSSED_MODEL | {"epsilon": epsilon}, b=BOOLEAN), encoding="utf-8")
    table.write_text(head + "\n".join(rows), encoding="utf-8")
    chosen = options or ("--metric", "m")
    arguments = ["--registry", str(registry), "--csv", str(table), "--seed", "1", "--rounds", "2", "--devices", "3000"]
    return CliRunner().invoke(command, ["rehearse-model", *arguments, *chosen])


@pytest.mark.slow
def test_the_auc_is_told_without_privacy_and_at_three_epsilons(tmp_path: Path) -> None:
    result = run(tmp_path, [*ROWS, "99,,f,good,no,x"])
    assert result.exit_code == 0, result.output
    title, plain, *lines = result.output.splitlines()
    assert title == "m: crosses, mean AUC over 2 draws of 70 rows, seed 1"
    assert float(plain.split()[-1]) > 0.9
    assert [line.split()[1] for line in lines] == ["2", "4", "8"]
    assert all(0.6 < float(line.split()[3]) <= 1 for line in lines)
    assert run(tmp_path, ROWS).output == run(tmp_path, ROWS).output


def test_twice_an_epsilon_that_no_registry_may_have_is_not_tried(tmp_path: Path) -> None:
    _, _, *lines = run(tmp_path, ROWS, epsilon=15).output.splitlines()
    assert [line.split()[1] for line in lines] == ["7.5", "15"]


def test_the_fewest_devices_for_a_loss_are_searched_at_the_epsilon_of_the_registry_or_others(tmp_path: Path) -> None:
    result = run(tmp_path, ROWS, "--metric", "m", "--loss", "0.1")
    assert result.exit_code == 0, result.output
    _, plain, line = result.output.splitlines()
    _, epsilon, devices, auc, _, loss, _, error = line.split()
    assert epsilon == "4"
    assert float(loss) + float(error) <= 0.101
    assert float(auc.rstrip(":")) == pytest.approx(float(plain.split()[-1]) - float(loss), abs=0.002)
    assert 0 <= float(error) < 0.1
    private = run(tmp_path, ROWS, "--metric", "m", "--loss", "0.1", "--epsilon", "0.5", "--epsilon", "4").output
    assert private.splitlines()[3] == line
    assert int(private.splitlines()[2].split()[2].replace(",", "")) > int(devices.replace(",", ""))


def test_json_has_the_lines_of_the_table(tmp_path: Path) -> None:
    document = json.loads(run(tmp_path, ROWS, "--metric", "m", "--format", "json").output)
    Draft202012Validator(schema("model-rehearsal")).validate(document)
    _, plain, *lines = run(tmp_path, ROWS).output.splitlines()
    assert f"{document['auc_without_privacy']:.3f}" == plain.split()[-1]
    shown = [[f"{each['epsilon']:g}", f"{each['devices']:,}", f"{each['auc']:.3f}"] for each in document["tried"]]
    assert shown == [line.split()[1:4] for line in lines]
    searched = json.loads(run(tmp_path, ROWS, "--metric", "m", "--loss", "0.1", "--format", "json").output)
    Draft202012Validator(schema("model-rehearsal")).validate(searched)
    assert searched["tried"][0]["loss"] <= searched["most_loss"] == 0.1


def test_a_loss_that_no_number_of_devices_reaches_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearse, "devices_for", lambda *_, **__: None)
    line = run(tmp_path, ROWS, "--metric", "m", "--loss", "0.003").output.splitlines()[-1]
    assert line.split() == ["epsilon", "4", "10,000,000", "devices", "lose", "more", "than", "0.003"]


@pytest.mark.parametrize(
    ("rows", "options", "head", "said"),
    [
        (ROWS, ("--metric", "x"), HEAD, "no metric 'x'"),
        (ROWS, ("--metric", "b"), HEAD, "b is not a model with a yes-or-no label"),
        (ROWS, (), HEAD.replace("sex", "gender"), "has no column sex"),
        ([*ROWS, "1,31415926,q,good,no,x"], (), HEAD, "line 72: must have as sex one of 'f', 'm'"),
        ([*ROWS, "1,3,f,good,31415926,x"], (), HEAD, "line 72: must have as label True or False"),
        ([*ROWS, "1,3,f,good"], (), HEAD, "line 72 does not have as many cells as the heading"),
        ([*ROWS, "1,3,f,good,yes,x,31415926"], (), HEAD, "line 72 does not have as many cells as the heading"),
        (ROWS, (), HEAD.replace("sex", "age"), "has no column sex"),
        (ROWS, (), HEAD.replace("person", "age"), "has the column age twice"),
        ([*ROWS, '"1"3,1,f,good,yes,x'], (), HEAD, "is not a CSV file in UTF-8"),
        (ROWS, ("--metric", "m", "--csv", "nowhere.csv"), HEAD, "nowhere.csv cannot be read: No such file"),
        (ROWS[:5], (), HEAD, "has 5 complete rows"),
        (ROWS, ("--metric", "m", "--epsilon", "0"), HEAD, "'0' must be a number above 0"),
        (ROWS, ("--metric", "m", "--loss", "0.1", "--rounds", "1"), HEAD, "requires at least 2 rounds"),
        (ROWS[:25], (), HEAD, "must contain at least 2 people with yes"),
        ([*ROWS[:25], ROWS[-1]], (), HEAD, "must contain at least 2 people with yes"),
        (["7" + row[row.index(",") :] for row in ROWS], (), HEAD, "must contain at least 2 people with yes"),
    ],
)
def test_a_mistake_is_told_without_the_content_of_a_cell(
    tmp_path: Path, rows: list[str], options: tuple[str, ...], head: str, said: str
) -> None:
    result = run(tmp_path, rows, *options, head=head)
    assert result.exit_code != 0
    assert said in result.output
    assert "31415926" not in result.output


def test_a_loss_that_is_no_number_is_refused(tmp_path: Path) -> None:
    result = run(tmp_path, ROWS, "--metric", "m", "--loss", "nan")
    assert result.exit_code == 2
    assert "Invalid value for '--loss': 'nan' must be a number above 0 and at most 0.5" in result.output
