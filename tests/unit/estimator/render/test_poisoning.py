"""Made-up reports in a report: how far each estimate could have been moved, and a test of each
tally.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from estimator.analyses.poisoning import DRAWN_AT_MOST
from estimator.commands.cli import command
from estimator.render import FORMATS
from estimator.render.text.report import as_table
from estimator.report.report import make_report
from estimator.results.report import EstimateReport, Request, Selection
from estimator.tallies import decode
from tests.support.estimates.tallies import REGISTRY, line

TALLIES = line("dark_mode", [4000, 6000]) + line("os", [5000, 0, 0, 0]) + line("os", [0, 0, 0, 0], window="2026-11-19")


def _report(fakes: float | None = 0.02) -> EstimateReport:
    return make_report(REGISTRY, decode(TALLIES.splitlines(keepends=True)), Selection(), Request(fakes=fakes))


def _json(report: EstimateReport) -> dict[tuple[str, str], Any]:
    document: dict[str, Any] = json.loads(FORMATS["json"](report))
    return {(entry["metric"], entry["window"]): entry for entry in document["metrics"]}


def test_json_has_each_move_and_the_test() -> None:
    dark_mode = _json(_report())["dark_mode", "2026-11-20"]["fakes"]
    # two coins: a report adds 3/2 or -1/2; of 10,000 reports 6,000 are yes: a share of .7
    more, less = pytest.approx(0.02 / 0.98 * 1.2), pytest.approx(0.02 / 0.98 * 0.8)
    assert dark_mode["moves"] == [
        {"statistic": "share", "down": less, "up": more, "value": False},
        {"statistic": "share", "down": more, "up": less, "value": True},
    ]
    assert dark_mode["fraction"] == 0.02
    assert dark_mode["test"] == {
        "statistic": pytest.approx(0, abs=1e-6),
        "p_value": 1.0,
        "drawn": 0,
        "impossible": False,
    }


def test_a_tally_that_no_population_makes_is_flagged_and_one_without_reports_is_not_tested() -> None:
    metrics = _json(_report())
    assert metrics["os", "2026-11-20"]["fakes"]["test"]["impossible"] is True
    assert metrics["os", "2026-11-20"]["fakes"]["test"]["p_value"] == 1 / (DRAWN_AT_MOST + 1)
    assert "fakes" not in metrics["os", "2026-11-19"]


def test_a_table_says_it_in_words_and_that_a_pass_proves_nothing() -> None:
    text = as_table(_report())
    assert "if 2% of the reports were fabricated, 2026-11-20: down, up\n" in text
    assert ["yes", "2.5", "points", "1.7", "points"] in [row.split() for row in text.splitlines()]
    assert "such a tally is very unlikely for any population (p = 0.001): do not trust it\n" in text
    assert "no sign of fabrication (p = 1), which does not rule it out\n" in text
    assert "A passed test proves nothing" in text
    assert max(len(row) for row in text.splitlines()) <= 80


@pytest.mark.parametrize("form", ["table", "json"])
def test_nothing_is_shown_unless_it_is_requested(form: str) -> None:
    text = FORMATS[form](_report(None))
    assert "fakes" not in text
    assert "made" not in text


def test_a_spreadsheet_has_no_place_for_it(tmp_path: Path) -> None:
    run = CliRunner().invoke(
        command, ["report", "--tallies", str(tmp_path), "--with", "poisoning=0.1", "--format", "csv"]
    )
    assert run.exit_code == 2
    assert "the format csv cannot show these figures; choose another --format: table, html, json" in run.output


@pytest.mark.parametrize("fraction", ["0", "1", "-0.1", "nan", "much"])
def test_a_fraction_that_is_none_is_refused(fraction: str) -> None:
    run = CliRunner().invoke(command, ["report", "--tallies", "t", f"--with=poisoning={fraction}"])
    assert run.exit_code == 2
    assert "'--with'" in run.output
