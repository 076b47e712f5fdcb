"""A number by group, from the registry to every form of its figures."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from client_sdk.commands.codegen import module_of
from client_sdk.labels import reported
from client_sdk.protocol import Registry
from client_sdk.protocol.kinds.cross import MeanByGroup
from client_sdk.protocol.sentences import shipped
from client_sdk.protocol.statement import statement
from estimator.analyses.group_means import ratios_of
from estimator.analyses.metric import analysis_of
from estimator.commands.cli import command
from estimator.decoders.inversions import inverse_of
from estimator.rehearsal.ground_truth import from_shares
from estimator.rehearsal.rehearsal import RehearsedFigure, rehearse
from estimator.render.rounding import size_of
from tests.support.devices.definitions import (
    BOOLEAN,
    CATEGORY,
    COUNT,
    MEAN_BY_GROUP,
    NUMBER,
    Toml,
    mistakes,
    parsed,
    registry_text,
)
from tests.support.estimates.command_line import report, run
from tests.support.estimates.documents import listed
from tests.support.estimates.tallies import tally

ASKED = {"os": CATEGORY, "startup_ms": NUMBER | {"high": 3000}, "by_os": MEAN_BY_GROUP | {"unit": "ms"}}
TEXT = registry_text(**ASKED)
METRIC = Registry.parse(TEXT).metric("by_os")
ROWS = {"a": ("500", 3000), "b": ("1500", 1500), "c": ("2700", 40)}
"""For each group the number of every device in it, and how many there are."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a registry, true answers and a tally of them."""
    folder = tmp_path_factory.mktemp("means")
    (folder / "metrics.toml").write_text(TEXT)
    lines = [f"{group},{number}\n" * many for group, (number, many) in ROWS.items()]
    (folder / "answers.csv").write_text("".join(["os,startup_ms\n", *lines]))
    population = [(float(number) / 3000, many) for number, many in ROWS.values()]
    within = np.array([[np.interp(place, [0, 0.5, 1], row) * many for row in np.eye(3)] for place, many in population])
    law = inverse_of(METRIC.channel).symbol_law((within / within.sum()).ravel())
    counts = np.random.default_rng(8).multinomial(4540, law).tolist()
    (folder / "tallies").write_bytes(tally(METRIC, counts))
    return folder


def figures(folder: Path) -> Any:
    (metric,) = json.loads(report(folder, "--format", "json"))["metrics"]
    return metric


@pytest.mark.parametrize(
    ("expression", "fired"), [("mean[a] > 100", 5), ("mean[a] > 1000", 0), ("mean[b] > 1000", 5), ("mean[b] < 1000", 0)]
)
def test_an_alert_on_the_mean_of_a_group_fires_beyond_its_interval(folder: Path, expression: str, fired: int) -> None:
    words = ["report", "--registry", f"{folder}/metrics.toml", "--tallies", f"{folder}/tallies"]
    done = CliRunner().invoke(command, [*words, "--alert", f"by_os.{expression}"])
    line = next(json.loads(line) for line in done.stderr.splitlines() if line.startswith("{"))
    mean = next(each for each in listed(figures(folder), "mean_within") if each["value"] == expression[5])
    assert (done.exit_code, line["fired"]) == (fired, fired == 5)
    assert (line["low"], line["high"]) == (mean["low"], mean["high"])


def test_the_json_has_the_share_and_the_mean_of_each_group_and_every_difference(folder: Path) -> None:
    metric = figures(folder)
    assert (metric["kind"], metric["unit"], metric["names"]) == ("mean-by-group", "ms", ["os", "startup_ms"])
    assert [share["value"] for share in listed(metric, "share")] == ["a", "b", "c"]
    (group,) = [group for group in metric["groups"] if group["statistic"] == "mean_within"]
    assert (group["unit"], group["ends"]) == ("ms", [0, 3000])
    means = listed(metric, "mean_within")
    assert [mean["value"] for mean in means] == ["a", "b", "c"]
    for mean, true in zip(means[:2], (500, 1500), strict=True):
        assert mean["low"] < true < mean["high"]
    differences = listed(metric, "difference_of_means")
    assert ["".join(difference["value"]) for difference in differences] == ["ab", "ac", "bc"]
    clearest = differences[0]
    assert clearest["low"] < -1000 < clearest["high"] < 0
    assert clearest["p_value"] == clearest["p_value_corrected"] < 0.001  # no other can be tested


def test_a_group_of_too_few_has_no_mean_in_any_form(folder: Path) -> None:
    unknown = listed(figures(folder), "mean_within")[2]
    assert (unknown["estimate"], unknown["low"], unknown["high"]) == (None, 0, 3000)
    assert re.search(r"^  c +too few to tell", report(folder, "--verbose"), re.MULTILINE)
    (row,) = [each for each in rows(folder) if (each["statistic"], each["value"]) == ("mean_within", "c")]
    assert row["estimate"] == ""


def rows(folder: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(report(folder, "--format", "csv"))))


def test_the_csv_has_shares_means_and_differences_in_the_numbers_unit(folder: Path) -> None:
    labels = [(row["statistic"], row["value"], row["unit"]) for row in rows(folder)]
    shares = [("share", group, "") for group in "abc"]
    means = [("mean_within", group, "ms") for group in "abc"]
    devices = [("devices_taking_part", "", "")]
    differences = [("difference_of_means", f"{group} less {other}", "ms") for group, other in ("ab", "ac", "bc")]
    assert labels == shares + means + differences + devices


def test_the_page_shows_the_means_as_figures_and_says_which_group_is_higher(folder: Path) -> None:
    report(folder, "--output", str(folder / "report.html"))
    page = (folder / "report.html").read_text()
    assert "Mean of startup_ms by os" in page
    assert "Groups differ: startup_ms is higher in os “b” than in os “a”, by" in page
    assert "Higher in" in page
    assert "More common in" not in page
    assert "startup_ms higher for “b” than for “a”" in page
    assert "nothing to do with each other" not in page


def test_intervals_that_hold_together_are_wider(folder: Path) -> None:
    single, together = (
        listed(json.loads(report(folder, "--format", "json", *flags))["metrics"][0], "mean_within")[0]
        for flags in ((), ("--with", "simultaneous"))
    )
    assert together["low"] < single["low"] < single["high"] < together["high"]


def test_made_up_reports_are_bounded_for_each_group(folder: Path) -> None:
    (metric,) = json.loads(report(folder, "--format", "json", "--with", "poisoning=0.01"))["metrics"]
    assert [(move["statistic"], move["value"]) for move in metric["fakes"]["moves"]] == [("share", at) for at in "abc"]
    inverse = inverse_of(METRIC.channel)
    scores = inverse.contrast(np.repeat([1.0, 0.0, 0.0], 3))
    moved, share = metric["fakes"]["moves"][0], listed(metric, "share")[0]["estimate"]
    assert moved["up"] == pytest.approx(0.01 / 0.99 * (scores.max() - share))


def test_points_to_which_numbers_were_rounded_form_no_clusters(folder: Path) -> None:
    (metric,) = json.loads(report(folder, "--format", "json", "--with", "clusters"))["metrics"]
    assert "clusters" not in metric


@pytest.mark.slow
def test_a_rehearsal_compares_means_with_the_truth_in_every_form(folder: Path) -> None:
    words = ("rehearse", "--csv", str(folder / "answers.csv"), "--seed", "4", "--rounds", "3", "--format")
    metric = json.loads(run(folder, *words, "json").stdout)["metrics"][-1]
    means = listed(metric, "mean_within")
    assert [mean["truth"] for mean in means] == pytest.approx([500, 1500, 2700])
    assert all(mean["holds"] for mean in means)
    assert metric["coverage"]["mean_within"]["rounds"] == 3
    table = run(folder, *words, "table").stdout
    assert re.search(r"^  mean, b +1,500  ", table, re.MULTILINE)
    assert "    mean_within " in table
    truths = [
        row["truth"]
        for row in csv.DictReader(io.StringIO(run(folder, *words, "csv").stdout))
        if row["metric"] == "by_os"
    ]
    assert [float(truth) for truth in truths[3:6]] == pytest.approx([500, 1500, 2700])
    assert truths[6:] == [""] * 3


def test_a_group_without_any_device_has_no_truth(tmp_path: Path) -> None:
    (tmp_path / "shares.toml").write_text('by_os = { "a|1000" = 0.5, "b|2000" = 0.5 }\n')
    registry = Registry.parse(TEXT)
    rehearsed = rehearse(from_shares(registry, 1000, tmp_path / "shares.toml"), seed=1, rounds=1).metrics[-1]
    truths = [figure.truth for figure in rehearsed.figures("mean_within") if isinstance(figure, RehearsedFigure)]
    assert truths == [1000, 2000, None]
    assert {round(coverage.population, 6) for coverage in rehearsed.coverage.values()} <= {
        0,
        0.333333,
        0.5,
        0.666667,
        1,
    }


@pytest.mark.slow
def test_a_plan_says_which_difference_would_be_seen(folder: Path) -> None:
    words = ("plan", "--population", "4540", "--format")
    (planned,) = [
        each for each in json.loads(run(folder, *words, "json").stdout)["metrics"] if each["metric"] == "by_os"
    ]
    least = planned["least_difference_of_means"]
    assert f" {size_of(least)} ms\n" in run(folder, *words, "table").stdout
    assert analysis_of(METRIC).least_difference(49) is None
    assert analysis_of(METRIC).least_difference(10**8) == pytest.approx(least * (4540 / 10**8) ** 0.5)
    assert analysis_of(Registry.parse(TEXT).metric("os")).least_difference(10**6) is None


def test_the_planned_difference_is_seen_four_times_in_five() -> None:
    """Two groups of three, all at the ends, differ by exactly what the plan says."""
    reports, domain = 20_000, METRIC.kind
    assert isinstance(domain, MeanByGroup)
    least = (analysis_of(METRIC).least_difference(reports) or 0.0) / 3000
    high = 0.5 + np.array([least / 2, -least / 2, 0.0])
    within = np.zeros((3, domain.points))
    within[:, 0], within[:, -1] = 1 - high, high
    inverse = inverse_of(METRIC.channel)
    law = inverse.symbol_law((within / 3).ravel())
    seen = 0
    for counts in np.random.default_rng(5).multinomial(reports, law, size=600):
        table, _ = ratios_of(domain, inverse, counts)
        seen += table.difference(0, 1, 1, 1.959963984540054).low > 0
    assert 0.8 - 4 * (0.16 / 600) ** 0.5 < seen / 600 < 0.8 + 4 * (0.16 / 600) ** 0.5


@pytest.mark.slow
def test_the_exact_audit_proves_its_epsilon(folder: Path) -> None:
    assert "by_os" in run(folder, "audit", "--exact").stdout


def test_the_statement_says_what_is_rounded_and_that_other_texts_stay() -> None:
    text = registry_text(**ASKED | {"os": CATEGORY | {"other": "c"}})
    said = statement(Registry.parse(text))
    assert "os and startup\\_ms together; startup\\_ms is first rounded at random to 3 points of its range\n" in said
    assert said.count("is not on the list counts as “c”") == 2
    at_ends = registry_text(**ASKED | {"by_os": MEAN_BY_GROUP | {"epsilon": 1}})
    ends = statement(Registry.parse(at_ends))
    assert "rounded at random to the ends of its range" in ends


def test_a_report_is_shown_as_a_group_with_a_point() -> None:
    assert METRIC.channel.name == "k-ary-randomized-response"
    assert [reported(METRIC, symbol, shipped()) for symbol in (0, 4, 8)] == ["a, 0", "b, 1,500", "c, 3,000"]


def test_typed_code_takes_a_pair() -> None:
    assert 'self.by_os: Metric[tuple[Literal["a", "b", "c"], float | Decimal | Fraction]]' in module_of(
        Registry.parse(TEXT)
    )


def test_what_a_number_by_group_may_not_be_is_named() -> None:
    crossed = {name: ASKED[name] for name in ("os", "startup_ms")} | {"dark_mode": BOOLEAN}
    by_os = MEAN_BY_GROUP
    assert list(mistakes(by_os=by_os | {"fill_in": True}, **crossed)) == ["metric.by_os.fill_in"]
    assert list(mistakes(by_os=by_os | {"cross": ["startup_ms", "os"]}, **crossed)) == ["metric.by_os.cross"]
    many = CATEGORY | {"values": [f"v{place}" for place in range(129)]}
    said = mistakes(by_os=by_os, **crossed | {"os": many})["metric.by_os.cross"]
    assert said == "has 129 groups; the means of at most 128 can be told apart"
    permanent = {"permanent_epsilon": Toml("4")}
    assert list(mistakes(by_os=by_os | permanent, **crossed)) == ["metric.by_os.permanent_epsilon"]
    counted = parsed(
        by_os=by_os | {"cross": ["dark_mode", "crashes"]}, crashes=COUNT | {"statistic": "mean"}, **crossed
    )
    assert counted["by_os"].kind.name == "mean-by-group"
