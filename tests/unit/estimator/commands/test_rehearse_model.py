"""The command that says whether a model is worth it."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from estimator.commands.cli import command
from tests.support.devices.definitions import BOOLEAN, CROSSED_MODEL, registry_text

HEAD = "person,age,sex,health,m,other\n"
ROWS = [
    f"{n // 2},{18 + n},{'fm'[n % 2]},{'good' if n < 40 else 'poor'},{'yes' if n > 30 else 'no'},x" for n in range(70)
]


def run(folder: Path, rows: list[str], *options: str, head: str = HEAD) -> Result:
    registry, table = folder / "metrics.toml", folder / "people.csv"
    registry.write_text(registry_text(m=CROSSED_MODEL, b=BOOLEAN), encoding="utf-8")
    table.write_text(head + "\n".join(rows), encoding="utf-8")
    chosen = options or ("--metric", "m")
    arguments = ["--registry", str(registry), "--csv", str(table), "--seed", "1", "--rounds", "2", "--devices", "3000"]
    return CliRunner().invoke(command, ["rehearse-model", *arguments, *chosen])


def test_the_auc_is_told_without_privacy_and_at_three_epsilons(tmp_path: Path) -> None:
    result = run(tmp_path, [*ROWS, "99,,f,good,no,x"])
    assert result.exit_code == 0, result.output
    title, plain, *lines = result.output.splitlines()
    assert title == "m: crosses, mean AUC over 2 draws of 70 rows, seed 1"
    assert float(plain.split()[-1]) > 0.9
    assert [line.split()[1] for line in lines] == ["2", "4", "8"]
    assert all(0.6 < float(line.split()[3]) <= 1 for line in lines)
    assert run(tmp_path, ROWS).output == run(tmp_path, ROWS).output


@pytest.mark.parametrize(
    ("rows", "options", "head", "said"),
    [
        (ROWS, ("--metric", "x"), HEAD, "no metric 'x'"),
        (ROWS, ("--metric", "b"), HEAD, "b is no model of yes and no"),
        (ROWS, (), HEAD.replace("sex", "gender"), "has no column sex"),
        ([*ROWS, "1,31415926,q,good,no,x"], (), HEAD, "line 72: must have as sex one of 'f', 'm'"),
        ([*ROWS, "1,3,f,good,31415926,x"], (), HEAD, "line 72: must have as label True or False"),
        (ROWS[:5], (), HEAD, "has 5 rows"),
    ],
)
def test_a_mistake_is_told_without_the_content_of_a_cell(
    tmp_path: Path, rows: list[str], options: tuple[str, ...], head: str, said: str
) -> None:
    result = run(tmp_path, rows, *options, head=head)
    assert result.exit_code != 0
    assert said in result.output
    assert "31415926" not in result.output
