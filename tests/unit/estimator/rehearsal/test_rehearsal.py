"""Rehearsals: the same answers in every form, reproducible by seed, and every wrong way to give
answers.
"""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from click.testing import CliRunner, Result

from client_sdk.protocol import Registry
from estimator.commands.cli import command
from estimator.rehearsal.ground_truth import SHOWN_MISTAKES, from_shares, read_csv
from estimator.rehearsal.rehearsal import rehearse
from tests.support.devices.definitions import BOOLEAN, CATEGORY, NUMBER, registry_text
from tests.support.estimates.documents import listed, mean_of, only
from tests.support.laws.sampling import accepts, decision

ROOT = Path(__file__).parents[4]
HEALTH = ROOT / "examples" / "health"

METRICS = {"dark_mode": BOOLEAN, "os": CATEGORY, "startup_ms": NUMBER | {"mechanism": "one-bit"}}
REGISTRY = registry_text(**METRICS)

SOUND = "person,dark_mode,os,startup_ms\n1,true,a,3\n2,no,b,1.5\n3,1,a,\n4,,a,9.0\n"
WRONG_CELL = "31337"
"""A cell that is wrong everywhere, and must not be repeated."""


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    path = tmp_path / "metrics.toml"
    path.write_text(REGISTRY)
    return path


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    path = tmp_path / "answers.csv"
    path.write_text(SOUND)
    return path


def _run(*arguments: object) -> Result:
    return CliRunner().invoke(command, ["rehearse", *map(str, arguments)])


def _json(*arguments: object) -> Any:
    result = _run(*arguments, "--format", "json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def _refused(path: Path, registry: Path, content: str | bytes) -> str:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    result = _run("--registry", registry, "--csv", path)
    assert (result.exit_code, result.stdout) == (2, "")
    assert WRONG_CELL not in result.stderr
    return result.stderr


def test_json_is_the_reports_with_the_truth_beside_each_estimate(registry: Path, answers: Path) -> None:
    document = _json("--registry", registry, "--csv", answers, "--seed", 7)
    assert document["seed"] == 7
    boolean, category, number = document["metrics"]
    assert [entry["reports"] for entry in document["metrics"]] == [3, 4, 3]
    assert [each["truth"] for each in listed(boolean, "share")] == [pytest.approx(1 / 3), pytest.approx(2 / 3)]
    assert [each["truth"] for each in listed(category, "share")] == [0.75, 0.25, 0]
    assert only(number, "mean")["truth"] == 4.5
    assert {metric["window"] for metric in document["metrics"]} == {None}
    assert [metric["coverage"] for metric in document["metrics"]] == [{}] * 3
    for each in (*listed(boolean, "share"), *listed(category, "share"), only(number, "mean")):
        assert each["holds"] == (each["low"] <= each["truth"] <= each["high"])


def test_every_form_shows_the_same_figures(registry: Path, answers: Path) -> None:
    options = ("--registry", registry, "--csv", answers, "--seed", 7, "--repeat", 1000)
    document = _json(*options)
    rows = list(csv.DictReader(io.StringIO(_run(*options, "--format", "csv").stdout)))
    shown = [each for metric in document["metrics"] for name in ("share", "mean") for each in listed(metric, name)]
    assert [row["statistic"] for row in rows] == [*["share"] * 5, "mean", "sum"]
    assert (rows[-1]["truth"], rows.pop()["holds"]) == ("", "")
    assert [float(row["truth"]) for row in rows] == [entry["truth"] for entry in shown]
    assert [row["holds"] for row in rows] == [str(entry["holds"]).lower() for entry in shown]
    assert {(row["window"], row["seed"]) for row in rows} == {("", "7")}
    table = _run(*options).stdout
    assert table.startswith("seed 7\n")
    assert max(map(len, table.splitlines())) <= 80
    for entry in shown:
        assert any(
            f"{number:.{digits}f}" in table for number in (100 * entry["truth"], entry["truth"]) for digits in (1, 2)
        )


def test_a_seed_decides_everything_and_a_fresh_seed_is_shown(registry: Path, answers: Path) -> None:
    options = ("--registry", registry, "--csv", answers, "--repeat", 10**6)
    fresh = _run(*options, "--rounds", 3)
    seed = fresh.stdout.splitlines()[0].removeprefix("seed ")
    assert _run(*options, "--rounds", 3, "--seed", seed).stdout == fresh.stdout
    assert _run(*options, "--rounds", 3, "--seed", int(seed) + 1).stdout != fresh.stdout


def test_measuring_coverage_changes_no_estimate(registry: Path, answers: Path) -> None:
    options = ("--registry", registry, "--csv", answers, "--seed", 7)
    without, measured = _json(*options), _json(*options, "--rounds", 2)
    for metric in measured["metrics"]:
        assert {coverage["rounds"] for coverage in metric["coverage"].values()} == {2}
        metric["coverage"] = {}
    assert measured == without


def test_progress_is_on_stderr_only(registry: Path, answers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    progressbar = click.progressbar
    monkeypatch.setattr(click, "progressbar", lambda **options: progressbar(**options | {"hidden": False}))
    result = _run("--registry", registry, "--csv", answers, "--rounds", 2)
    assert "rehearsing" in result.stderr
    assert "rehearsing" not in result.stdout
    assert "coverage over 2 rounds" in result.stdout


def test_a_metric_without_a_column_is_named_and_skipped(registry: Path, answers: Path) -> None:
    answers.write_text("os,color,os2\na,red,\n")
    result = _run("--registry", registry, "--csv", answers, "--format", "json")
    assert "ignored columns, which are not metrics: 'color', 'os2'" in result.stderr
    assert "skipped dark_mode, startup_ms: there is no column with this name" in result.stderr
    document = json.loads(result.stdout)
    assert [entry["metric"] for entry in document["metrics"]] == ["os"]
    assert [(entry["metric"], entry["window"]) for entry in document["skipped"]] == [
        ("dark_mode", None),
        ("startup_ms", None),
    ]


def test_texts_that_state_one_answer_are_one(answers: Path) -> None:
    answers.write_text("startup_ms,dark_mode\n1,yes\n1.0,TRUE\n 1e0 ,1\n+1,No\n")
    boolean, number = read_csv(answers, Registry.parse(REGISTRY)).populations
    assert [(answer.value, answer.law) for answer in number.answers] == [(1, ((0, 8 / 9), (1, 1 / 9)))]
    assert number.devices == 4
    assert boolean.shares_of(boolean.shares) == {False: 0.25, True: 0.75}


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ("os\na\n" + WRONG_CELL + "\n", "row 3, column os: must be one of 'a', 'b', 'c'"),
        ("dark_mode\n" + WRONG_CELL + "\n", "row 2, column dark_mode: must be true or false, yes or no, 1 or 0"),
        (
            "os,startup_ms\na,1\nb,9 ms\n",
            "must be a finite number from 0 to 9; numbers beyond that are counted up to 9",
        ),
        ("startup_ms\nnan\n", "row 2, column startup_ms"),
        ("startup_ms\n-inf\n", "row 2, column startup_ms"),
        ("startup_ms\n1_0\n", "row 2, column startup_ms"),
        ("startup_ms\n1e999999999999999999999\n", "row 2, column startup_ms"),
        ("os\nx\nx\n", "row 2, column os: must be one of 'a', 'b', 'c' (2 rows have this mistake)"),
        ("os,startup_ms\na\n", "row 2: has 1 cells, but the heading has 2"),
        (f"os,startup_ms\na,1\n\na,1,{WRONG_CELL}\n", "row 4: has 3 cells, but the heading has 2"),
        ("os,os\na,a\n", "row 1, column os: occurs more than once"),
        ("color\nred\n", "row 1: no column names a metric; the metrics are dark_mode, os, startup_ms"),
        ("", "row 1: is missing"),
        ("os\n", "row 2: is missing"),
        (f'os\n"{WRONG_CELL}\n', "row 2 is not CSV"),
        (f'os\n"a"{WRONG_CELL}\n', "row 2 is not CSV"),
        (b"os\n\xff\n", "is not UTF-8"),
    ],
)
def test_a_wrong_table_is_named_by_row_and_column(
    registry: Path, answers: Path, content: str | bytes, place: str
) -> None:
    assert place in _refused(answers, registry, content)


def test_all_mistakes_are_named_up_to_a_screenful(registry: Path, answers: Path) -> None:
    wrong = "".join(f"x{number}\n" for number in range(SHOWN_MISTAKES + 5))
    problem = _refused(answers, registry, "os\n" + wrong)
    assert problem.count("column os") == SHOWN_MISTAKES
    assert "and 5 more" in problem


def test_a_table_that_begins_with_a_byte_order_mark_is_read(registry: Path, answers: Path) -> None:
    answers.write_bytes(b"\xef\xbb\xbfos\r\na\r\n")
    assert _json("--registry", registry, "--csv", answers)["metrics"][0]["reports"] == 1


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((), "either --csv FILE or --population N"),
        (("--csv", "a", "--population", 5), "either --csv FILE or --population N"),
        (("--csv", "a", "--shares", "b"), "--shares requires --population"),
        (("--population", 5, "--repeat", 2), "--repeat requires --csv"),
        (("--population", 0), "'0' must be a whole number from 1"),
        (("--population", 10**16), "must be a whole number from 1"),
        (("--population", 5, "--seed", -1), "'-1' must be a whole number at least 0"),
        (("--population", 5, "--rounds", -1), "'-1' must be a whole number at least 0"),
        (("--csv", "gone.csv"), "gone.csv cannot be read"),
        (("--population", 5, "--shares", "gone.toml"), "gone.toml cannot be read"),
    ],
)
def test_wrong_usage_is_explained(registry: Path, arguments: tuple[object, ...], problem: str) -> None:
    result = _run("--registry", registry, *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert problem in " ".join(result.stderr.split())


def test_too_many_devices_are_refused(registry: Path, answers: Path) -> None:
    result = _run("--registry", registry, "--csv", answers, "--repeat", 10**15)
    assert result.exit_code == 2
    assert "are too many" in result.stderr


def test_a_broken_registry_is_named(registry: Path, answers: Path) -> None:
    registry.write_text("schema = 1")
    assert "the registry cannot be used" in _run("--registry", registry, "--csv", answers).stderr


SHARES_TOML = '[os]\na = 0.5\nc = 0.5\n[startup_ms]\n"0" = 0.25\n"8" = 0.75\n'
SHARES_JSON = '{"os": {"a": 0.5, "c": 0.5}, "startup_ms": {"0": 0.25, "8.0": 0.75}}'


@pytest.mark.parametrize(("name", "content"), [("shares.toml", SHARES_TOML), ("shares.json", SHARES_JSON)])
def test_a_population_has_the_given_shares_and_is_uniform_where_none_are_given(
    registry: Path, tmp_path: Path, name: str, content: str
) -> None:
    (tmp_path / name).write_text(content)
    given = _json("--registry", registry, "--population", 50, "--shares", tmp_path / name)["metrics"]
    assert [each["truth"] for each in listed(given[0], "share")] == [0.5, 0.5]
    assert [each["truth"] for each in listed(given[1], "share")] == [0.5, 0, 0.5]
    assert only(given[2], "mean")["truth"] == 6
    assert {metric["reports"] for metric in given} == {50}
    uniform = _json("--registry", registry, "--population", 50)["metrics"]
    assert [each["truth"] for each in listed(uniform[1], "share")] == [pytest.approx(1 / 3)] * 3
    # the sum of 1,024 shares and answers is rounded a few times
    assert only(uniform[2], "mean")["truth"] == pytest.approx(4.5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("s.toml", "[os]\na = 0.5\n", "os: its shares must add up to 1, not 0.5"),
        ("s.toml", "[os]\na = 1.5\n", "os, entry 1: a share must be a number from 0 to 1"),
        ("s.toml", "[os]\na = nan\n", "os, entry 1: a share must be a number from 0 to 1"),
        ("s.toml", "[os]\na = true\n", "os, entry 1: a share must be a number from 0 to 1"),
        ("s.toml", f"[os]\na = 0.5\n{WRONG_CELL} = 0.5\n", "os, entry 2: the answer must be one of 'a', 'b', 'c'"),
        ("s.toml", '[startup_ms]\n"inf" = 1\n', "startup_ms, entry 1: the answer must be a finite number"),
        ("s.toml", "os = 1\n", "os: must be a table that maps each answer to its share"),
        ("s.toml", "[gone]\na = 1\n", "the registry has no metric 'gone'"),
        ("s.toml", "[os\n", "is not TOML"),
        ("s.json", "{", "is not JSON"),
        ("s.json", "[]", "must be an object"),
        ("s.toml", "", "contains no metric; add a table of shares"),
        ("s.json", '{"os": {"a": NaN}}', "os, entry 1: a share must be a number from 0 to 1"),
    ],
)
def test_wrong_shares_are_named_by_metric_and_entry(
    registry: Path, tmp_path: Path, name: str, content: str, problem: str
) -> None:
    (tmp_path / name).write_text(content)
    result = _run("--registry", registry, "--population", 50, "--shares", tmp_path / name)
    assert (result.exit_code, result.stdout) == (2, "")
    assert problem in result.stderr
    assert WRONG_CELL not in result.stderr


def test_a_population_is_drawn_by_its_shares() -> None:
    population = from_shares(Registry.parse(REGISTRY), 10**6).populations[1]
    decided = decision(1 / 3, 1 / 3 * 1.02)
    drawn = population.draw(np.random.default_rng(5))
    assert drawn.sum() == 10**6 > decided.draws
    assert accepts(decided._replace(draws=10**6), 1 / 3, int(drawn[0]))


@pytest.mark.long
def test_coverage_is_what_intervals_promise_and_more_for_the_noise_alone() -> None:
    """At epsilon 4 and a share of one half, who reports is most of the randomness: 93% of the
    variance is not noise.
    """
    fields = BOOLEAN | {"epsilon": 4}
    source = from_shares(Registry.parse(registry_text(dark_mode=fields)), 10**4)
    decided = decision(0.95, 0.90)
    (rehearsed,) = rehearse(source, seed=3, rounds=decided.draws).metrics
    coverage = rehearsed.coverage["share"]
    assert accepts(decided, 0.95, round(coverage.population * decided.draws))
    assert coverage.noise_alone == 1


WAVE = registry_text(x=NUMBER | {"high": 8, "statistic": "distribution", "epsilon": 2})


STATISTICS = ["mean", "variance", "quantile", "range", "at_most", "bin"]
"""Of a number with a distribution."""


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [0, 2])
def test_every_form_shows_a_distribution_beside_its_truth(registry: Path, answers: Path, rounds: int) -> None:
    registry.write_text(WAVE)
    answers.write_text("x\n2\n2\n6\n6.5\n")
    ranges = ("--with", "range=x:2:6", "--with", "range=x:0:1.5")
    options = ("--registry", registry, "--csv", answers, "--seed", 7, "--repeat", 1000, "--rounds", rounds, *ranges)
    (metric,) = _json(*options)["metrics"]
    assert only(metric, "mean")["truth"] == 4.125
    band = listed(metric, "at_most")
    assert [entry["truth"] for entry in listed(metric, "quantile")] == [2, 2, 2, 6, 6.5]
    assert [entry["truth"] for entry in band] == [
        sum(answer <= entry["value"] for answer in (2, 2, 6, 6.5)) / 4 for entry in band
    ]
    assert metric["band_holds"] == all(entry["holds"] for entry in band)
    assert sum(entry["truth"] for entry in listed(metric, "bin")) == 1
    assert [entry["truth"] for entry in listed(metric, "range")] == [0.75, 0]
    assert list(metric["coverage"]) == ([*STATISTICS, "band"] if rounds else [])
    rows = list(csv.DictReader(io.StringIO(_run(*options, "--format", "csv").stdout)))
    in_json = [entry for statistic in STATISTICS for entry in listed(metric, statistic)]
    assert rows.pop(1)["statistic"] == "sum"
    assert [float(row["truth"]) for row in rows] == [entry["truth"] for entry in in_json]
    table = _run(*options).stdout
    assert re.search(r"^  from 2 to 6 +75 ", table, re.MULTILINE)
    missed = sum(not entry["holds"] for entry in band)
    outcome = f"misses the truth at {missed} of" if missed else "contains the truth at all"
    assert f"  the band of the distribution function {outcome} {len(band)} points\n" in table
    covered = re.findall(r"\n    (\w+) +[\d.]+% \([\d.]+%\)", table)
    assert covered == list(metric["coverage"])
    assert max(map(len, table.splitlines())) <= 80


def test_a_range_that_cannot_be_had_is_refused(registry: Path, answers: Path) -> None:
    registry.write_text(WAVE)
    result = _run("--registry", registry, "--csv", answers, "--with", "range=x:2:9")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "the range of x from 2 to 9 exceeds the possible answers, 0 to 8" in " ".join(result.stderr.split())


def test_a_distribution_without_reports_has_no_truth(registry: Path, answers: Path) -> None:
    registry.write_text(WAVE)
    answers.write_text("x,y\n,1\n")
    for form in ("table", "json", "csv"):
        assert _run("--registry", registry, "--csv", answers, "--format", form).exit_code == 0


@pytest.mark.slow
def test_real_answers_of_the_health_example_are_rehearsed() -> None:
    result = _run(
        "--registry", HEALTH / "metrics.toml", "--csv", HEALTH / "health.csv", "--seed", 1, "--format", "json"
    )
    assert result.exit_code == 0, result.output
    assert "'person', 'year', 'age', 'sex'" in result.stderr
    with (HEALTH / "health.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    by_name = {entry["metric"]: entry for entry in json.loads(result.stdout)["metrics"]}
    limited = [row["physical_limitation"] for row in rows if row["physical_limitation"]]
    assert by_name["physical_limitation"]["reports"] == len(limited)
    assert listed(by_name["physical_limitation"], "share")[1]["truth"] == limited.count("yes") / len(limited)
    visits = [min(15, int(row["doctor_visits"])) for row in rows]  # more count as 15
    # both are sums of floats with a few roundings
    assert only(by_name["doctor_visits"], "mean")["truth"] == pytest.approx(sum(visits) / len(visits))
    # farther off than 6.2 standard errors is one in 10**9
    for metric in by_name.values():
        for entry in listed(metric, "share") or [mean_of(metric)]:
            assert abs(entry["estimate"] - entry["truth"]) < 6.2 * entry["standard_error"]
