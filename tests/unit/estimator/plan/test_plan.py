"""The command ``plan``: its forms, its exit codes, and every wrong use."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from datetime import date
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
from click.testing import CliRunner, Result

from client_sdk.commands.registry_commands import STARTER
from client_sdk.protocol import Registry, Window
from estimator.commands.cli import command
from estimator.plan.amplification import sampled, shuffled_epsilon
from estimator.plan.blanket import Blanket
from estimator.plan.plan import DELTA, PlanRequest, make_plan
from estimator.rehearsal.population import Population, encode
from tests.support.devices.definitions import (
    BOOLEAN,
    CATEGORY,
    CROSSED_MODEL,
    MODEL,
    NUMBER,
    Toml,
    registry_text,
)
from tests.support.estimates.tallies import REGISTRY_TEXT

DAY = ("--today", "2026-11-21")


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    path = tmp_path / "metrics.toml"
    path.write_text(REGISTRY_TEXT)
    return path


def _run(registry: Path, *arguments: object) -> Result:
    words = ["plan", "--registry", str(registry), *DAY, *(str(argument) for argument in arguments)]
    return CliRunner().invoke(command, words)


def _refuse_constant(text: str) -> NoReturn:
    raise AssertionError(text)


def _json(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout, parse_constant=_refuse_constant)


def test_json_is_what_programs_are_promised(registry: Path) -> None:
    document = _json(_run(registry, "--population", 10_000, "--format", "json"))
    assert list(document) == ["population", "day", "answering", "metrics", "device", "year", "notes"]
    boolean, category, number = document["metrics"]
    assert (boolean["epsilon"], boolean["reports"], boolean["mean"]) == (1.098612289, 10_000, None)
    assert list(category["share"]) == ["standard_error_uniform", "standard_error_worst", "smallest_seen"]
    assert number["share"] is None
    assert number["wanted_error"] == 50
    assert [entry["within"] for entry in document["device"]] == ["window", "month", "year", "life"]
    life = document["device"][-1]
    assert life["any_two_histories"] == 60
    assert life["any_two_histories_at_delta"] < 60
    assert life["delta"] == 1e-6


@pytest.mark.slow
def test_a_boolean_of_two_coins_has_the_error_of_the_formula(registry: Path) -> None:
    boolean, *_ = _json(_run(registry, "--population", 10_000, "--format", "json"))["metrics"]
    assert boolean["share"]["standard_error_worst"] == pytest.approx(2 * 0.5 / 100)
    assert (boolean["reports_needed"], boolean["devices_needed"]) == (10_000, 10_000)


@pytest.mark.slow
def test_the_table_has_eighty_columns_and_the_figures(registry: Path) -> None:
    result = _run(registry, "--population", 10_000)
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= 82
    for words in ("smallest detectable share", "error of the mean, worst", "any two histories", "note: "):
        assert words in result.stdout


@pytest.mark.slow
def test_a_plan_judges_in_words_whether_the_devices_are_enough(registry: Path) -> None:
    error_options = ("--wanted-error", "dark_mode=0.01", "--wanted-error", "startup_ms=500")
    enough = _run(registry, "--population", 10_000, *error_options).stdout
    assert "  enough to estimate a share to within 2.0 points (95%)\n" in enough
    too_few = " ".join(_run(registry, "--population", 9_000, *error_options).stdout.split())
    assert "too few to estimate a share to within 2.0 points (95%): needs about 10,000 devices" in too_few
    assert "enough to estimate the mean to within " in too_few


@pytest.mark.slow
def test_wanted_errors_are_those_that_reports_are_counted_for(registry: Path) -> None:
    arguments = ("--population", 100, "--format", "json", "--wanted-error", "dark_mode=0.1", "--wanted-error")
    boolean, *_, number = _json(_run(registry, *arguments, "startup_ms=500"))["metrics"]
    assert boolean["reports_needed"] == 100
    assert (number["wanted_error"], number["reports_needed"]) == (500, number["devices_needed"])


def test_an_expired_metric_is_expected_to_get_nothing(tmp_path: Path) -> None:
    path = tmp_path / "metrics.toml"
    path.write_text(registry_text(a=BOOLEAN | {"expires": Toml("2026-01-01")}, b=CATEGORY))
    expired, _ = _json(_run(path, "--population", 100, "--format", "json"))["metrics"]
    assert (expired["reports"], expired["share"]) == (0, None)
    allocated = _json(_run(path, "--population", 100, "--format", "json", "--allocate", 2))
    assert [entry["metric"] for entry in allocated["metrics"]] == ["b"]
    assert "reports expected" in _run(path, "--population", 100).stdout


def test_the_patch_of_an_allocation_applies(registry: Path) -> None:
    shown = _run(registry, "--population", 10_000, "--allocate", 3, "--weight", "os=2")
    assert shown.exit_code == 0, shown.output
    patch = shutil.which("patch")
    assert patch is not None
    subprocess.run([patch, str(registry)], input=shown.stdout, text=True, check=True, cwd=registry.parent)
    document = _json(_run(registry, "--population", 10_000, "--allocate", 3, "--weight", "os=2", "--format", "json"))
    after = Registry.load(registry)
    before = Registry.parse(REGISTRY_TEXT)
    assert after != before
    assert [entry["before"]["epsilon"] for entry in document["metrics"]] == [
        pytest.approx(metric.epsilon_nanos / 1e9, rel=2**-50) for metric in after.metrics.values()
    ]
    assert document["largest"]["after"] <= document["largest"]["before"]


def test_what_is_best_already_is_said(tmp_path: Path) -> None:
    path = tmp_path / "metrics.toml"
    path.write_text(registry_text(a=BOOLEAN))
    assert "+epsilon = 2" in _run(path, "--population", 10, "--allocate", 2).stdout
    path.write_text(registry_text(a=BOOLEAN | {"epsilon": 2}))
    assert "nothing to change" in _run(path, "--population", 10, "--allocate", 2).stdout


YEAR = "Within a year, all answers of a device reveal at most epsilon {}: even odds can become {}.\n"

LASTS = (
    "note: the lifetime ceiling may be reached on 2026-12-14 or later, after 23 windows (day) with "
    "answers to all questions; from then on, a device answers fewer questions or none\n"
)

UNCHECKED = "note: [app] states no population, so there was no check for questions that would show nothing\n"
ACCEPTED = "note: limits are exceeded by budget; the reason given is: It exists in tests only.\n"


@pytest.mark.slow
def test_a_plan_says_in_every_form_until_when_reports_come(registry: Path) -> None:
    document = _json(_run(registry, "--population", 100, "--format", "json"))
    paid = {"paid": 23, "windows": 3654, "until": "2026-12-13"}
    assert [metric["paid_windows"] for metric in document["metrics"]] == [paid] * 3
    assert document["notes"] == [note.removeprefix("note: ").rstrip() for note in (ACCEPTED, LASTS)]
    table = _run(registry, "--population", 100).stdout
    assert table.count("windows that are paid for                      23 of 3,654, until 2026-12-13\n") == 3
    registry.write_text(REGISTRY_TEXT.replace("lifetime = 60", "lifetime = 60000"))
    document = _json(_run(registry, "--population", 100, "--format", "json"))
    assert [metric["paid_windows"] for metric in document["metrics"]] == [None] * 3
    assert "paid for" not in _run(registry, "--population", 100).stdout


def test_the_gate_says_the_year_and_passes_or_warns_a_line_each_and_fails(registry: Path, tmp_path: Path) -> None:
    old = tmp_path / "old.toml"
    old.write_text(REGISTRY_TEXT.replace("[app]\n", '[app]\nowner = "me"\n'))
    passed = _run(old, "--check", "--against", old)
    year = YEAR.format(60, "more than a million to 1, which is as good as knowing") + ACCEPTED + LASTS + UNCHECKED
    assert (passed.exit_code, passed.stdout, passed.stderr) == (0, year, "")
    registry.write_text(old.read_text().replace("lifetime = 60", "lifetime = 61"))
    failed = _run(registry, "--check", "--against", old)
    page = _run(registry, "--statement", "--against", old).stdout
    assert "(at most 122)" in page
    assert (failed.exit_code, failed.stdout) == (1, year.replace(" 60:", " 61:") + page)
    assert failed.stderr == "budget.lifetime: was raised to 61 (previously 60)\n"
    registry.write_text(REGISTRY_TEXT)
    assert len(_run(registry, "--check").stderr.splitlines()) == 3


def test_the_gate_fails_for_a_year_that_reveals_more_than_is_allowed() -> None:
    allowed = _run(STARTER, "--check", "--at-most", 5, "--today", "2026-11-22")
    year = YEAR.format(5, "at most 149 to 1") + UNCHECKED
    assert (allowed.exit_code, allowed.stdout, allowed.stderr) == (0, year, "")
    refused = _run(STARTER, "--check", "--at-most", 4.99, "--today", "2026-11-22")
    assert (refused.exit_code, refused.stdout) == (1, year)
    assert refused.stderr.startswith("within a year, a device reveals up to 5, but --at-most allows only 4.99; ")
    assert refused.stderr.endswith("; lower lifetime or per_month, or ask less often\n")


def test_the_gate_names_for_browsers_what_lowers_their_year(tmp_path: Path) -> None:
    """A browser that wipes its ledger begins lifetime and month anew.

    Only the ceiling of a window holds.
    """
    path, text = tmp_path / "web.toml", STARTER.read_text(encoding="utf-8")
    web = re.sub(r"^strategy = .*$", "web_year = 200", text, flags=re.MULTILINE)
    advice = "; lower per_window, or ask less often\n"

    def year(most: float, **ceilings: float) -> Result:
        changed = web
        for key, ceiling in ceilings.items():
            changed, count = re.subn(rf"^{key} = .*$", f"{key} = {ceiling}", changed, flags=re.MULTILINE)
            assert count == 1
        path.write_text(changed, encoding="utf-8")
        return _run(path, "--check", "--at-most", most, "--today", "2026-11-22")

    refused = year(120)
    assert refused.stderr.endswith(advice)
    assert year(120, lifetime=2.5).stderr.count(advice) == 1  # no advice: it is no ceiling of the year
    assert year(120, per_window=2).stderr.count(advice) == 0


@pytest.mark.slow
def test_a_plan_says_the_year_in_a_sentence_and_errors_in_their_unit() -> None:
    shown = _run(STARTER, "--population", 50_000, "--today", "2026-11-22").stdout
    assert YEAR.format(5, "at most 149 to 1").rstrip() in " ".join(shown.split())
    assert " ms\n" in shown
    assert "reports for an error of 50 ms " in shown


def test_the_gate_fails_for_a_registry_that_cannot_work(tmp_path: Path) -> None:
    path = tmp_path / "short.toml"
    path.write_text(STARTER.read_text(encoding="utf-8").replace("per_window = 2.5", "per_window = 2"), encoding="utf-8")
    failed = _run(path, "--check", "--today", "2026-11-22")
    assert failed.exit_code == 1
    (sentence,) = failed.stderr.splitlines()
    assert sentence.startswith("budget.per_window: the first week of a device may cost ")
    assert "= 2.5, but the ceiling is 2; some questions are never asked" in sentence


def test_the_gate_fails_where_a_metric_would_show_nothing(tmp_path: Path) -> None:
    """The number of devices changes no edition."""
    path, text = tmp_path / "few.toml", STARTER.read_text(encoding="utf-8")
    for population, failing in ((200, 3), (100_000, 0)):
        path.write_text(text.replace("[app]\n", f"[app]\npopulation = {population}\n"), encoding="utf-8")
        checked = _run(path, "--check", "--today", "2026-11-22")
        assert UNCHECKED not in checked.stdout
        assert checked.exit_code == (failing > 0)
        assert checked.stderr.count(f"would show nothing with {population:,} devices: ") == failing
    assert Registry.read(path).metric("os").edition == Registry.read(STARTER).metric("os").edition
    assert _run(path, "--check", "--today", "2026-11-22", "--population", 200).exit_code == 1
    assert _run(path, "--today", "2026-11-22").stdout.startswith("100,000 devices")


@pytest.mark.slow
def test_a_plan_suggests_a_range_from_shares_and_from_a_pilot(tmp_path: Path) -> None:
    asked = registry_text(times=NUMBER | {"high": 1000, "statistic": "quantiles", "epsilon": 1, "unit": "ms"})
    shares, pilot, path = tmp_path / "shares.toml", tmp_path / "pilot", tmp_path / "metrics.toml"
    path.write_text(asked, encoding="utf-8")
    declared = [f"{20 * each} = {0.5**each}" for each in range(1, 12)]
    shares.write_text("\n".join(["[times]", *declared, f"2000 = {0.5**11}"]), encoding="utf-8")
    metric = Registry.parse(asked).metric("times")
    drawn = Population.counted(metric, {encode(metric, 20 * each): 2 ** (13 - each) for each in range(1, 13)})
    assert drawn.at_hand is not None
    counts = drawn.draws()(drawn.at_hand, Window.parse("2026-11-20"), np.random.default_rng(1)).tolist()
    line = {"metric": "times", "edition": metric.edition, "window": "2026-11-20", "closed": True}
    pilot.write_text(json.dumps(line | {"reports": sum(counts), "counts": counts}) + "\n", encoding="utf-8")
    for source in (("--shares", shares), ("--pilot", pilot)):
        planned = json.loads(_run(path, "--population", 8000, *source, "--format", "json").stdout)
        clips = planned["metrics"][0]["clips"]
        (best,) = (clip for clip in clips if clip.get("is_best"))
        assert best["error"] == min(clip["error"] for clip in clips)
        assert 50 < best["high"] < 400
        assert clips[-1]["high"] == 1000
        shown = " ".join(_run(path, "--population", 8000, *source).stdout.split())
        assert f"recommended: count up to {best['high']:,.0f} ms; the estimated mean is about " in shown
    path.write_text(registry_text(times=NUMBER), encoding="utf-8")
    assert "has no tally of a number whose distribution" in _run(path, "--population", 8000, "--pilot", pilot).stderr


@pytest.mark.slow
def test_a_range_that_suits_the_answers_is_said_to(tmp_path: Path) -> None:
    shares, path = tmp_path / "shares.toml", tmp_path / "metrics.toml"
    path.write_text(registry_text(times=NUMBER | {"low": 0, "high": 1000, "statistic": "mean"}), encoding="utf-8")
    shares.write_text("[times]\n0 = 0.25\n300 = 0.25\n700 = 0.25\n1000 = 0.25\n", encoding="utf-8")
    shown = " ".join(_run(path, "--population", 8000, "--shares", shares).stdout.split())
    assert "note: keep the range of times: according to the answers of --shares or" in shown


def test_the_statement_needs_no_population(registry: Path) -> None:
    result = _run(registry, "--statement")
    assert result.exit_code == 0
    assert result.stdout.startswith("# What acme asks")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "--population N"),
        (("--population", 0), "must be a whole number from 1"),
        (("--population", 10, "--wanted-error", "nothing=1"), "defines no metric 'nothing'"),
        (("--population", 10, "--wanted-error", "os=-1"), "METRIC=NUMBER"),
        (("--population", 10, "--wanted-error", "os"), "METRIC=NUMBER"),
        (("--population", 10, "--wanted-error", "os=nan"), "METRIC=NUMBER"),
        (("--population", 10, "--wanted-error", "os=1e-300"), "from 1e-102 to 1e+100"),
        (("--population", 10, "--allocate", 2, "--weight", "os=1e300"), "from 1e-09 to 1e+09"),
        (("--population", 10, "--allocate", "nan"), "'nan' must be a number"),
        (("--population", 10, "--allocate", 1e-9), "no epsilon can be below 0.000001; allocate a larger total"),
        (("--population", 10, "--delta", "nan"), "'nan' must be a number"),
        (("--population", 10, "--weight", "os=1"), "--weight requires --allocate"),
        (("--population", 10, "--allocate", 2, "--weight", "nothing=1"), "defines no metric 'nothing'"),
        (("--population", 10, "--allocate", 21), "allocate no more"),
        (("--population", 10, "--allocate", 0), "'0' must be a number"),
        (("--population", 10, "--delta", 0), "'0' must be a number"),
        (("--check", "--statement"), "use only one of --allocate"),
        (("--check", "--pilot", "tallies"), "--shares, --pilot and --windows cannot be"),
        (("--check", "--record"), "use only one of --allocate"),
        (("--population", 10, "--shares", "nowhere"), "cannot be read"),
        (("--population", 10, "--against", "old.toml"), "--against requires --check or --statement"),
        (("--statement", "--at-most", 5), "--at-most requires --check"),
        (("--check", "--at-most", 0), "'0' must be a number"),
        (("--check", "--against", "nowhere.toml"), "cannot be read"),
        (("--check", "--against", "nowhere:metrics.toml"), "is neither a file nor a revision in git"),
        (("--statement", "--today", "yesterday"), "yesterday"),
        (("--check", "--today", "9999-12-31"), "--today must not be after the year 9998"),
    ],
)
def test_bad_usage_is_said_in_a_sentence(registry: Path, arguments: tuple[object, ...], sentence: str) -> None:
    words = ["plan", "--registry", str(registry), *map(str, arguments)]
    result = CliRunner().invoke(command, words)
    assert result.exit_code == 2
    assert sentence in " ".join(result.stderr.split())


def test_where_every_metric_has_expired_nothing_can_be_allocated(tmp_path: Path) -> None:
    path = tmp_path / "metrics.toml"
    path.write_text(registry_text(a=BOOLEAN | {"expires": Toml("2026-01-01")}))
    result = _run(path, "--population", 10, "--allocate", 2)
    assert result.exit_code == 2
    assert "nothing can be allocated" in " ".join(result.stderr.split())


def test_a_registry_that_cannot_be_used_is_said(tmp_path: Path) -> None:
    path = tmp_path / "metrics.toml"
    path.write_text("schema = 1\n")
    result = _run(path, "--population", 10)
    assert result.exit_code == 2
    assert "the registry cannot be used" in result.stderr


@pytest.mark.slow
def test_the_tally_of_a_window_reveals_less_the_more_report_and_the_fewer_are_drawn() -> None:
    def central(population: int, **budget: object) -> float:
        lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in budget.items())
        text = registry_text(m=BOOLEAN, n=BOOLEAN).replace("delta = 0.5\n", f"delta = 0.5\n{lines}")
        plan = make_plan(Registry.parse(text), PlanRequest(population, date(2026, 11, 20)))
        bound = plan.metrics[0].central
        assert bound is not None
        return bound.epsilon

    assert central(10**4) == shuffled_epsilon(10**4, Blanket.of_epsilon(1.0), DELTA)
    assert central(10**6) < central(10**4)
    drawn = central(10**6, strategy="sample", answers=1)
    assert (
        drawn
        == sampled(shuffled_epsilon(5 * 10**5, Blanket.of_epsilon(1.0), DELTA), DELTA, 0.5)[0]
        < central(5 * 10**5)
    )


@pytest.mark.slow
def test_of_a_model_the_plan_names_the_command_that_knows_people() -> None:
    of_number = MODEL | {"label": Toml("{ low = 0, high = 10 }")}
    registry = Registry.parse(registry_text(limited=CROSSED_MODEL, height=of_number))
    plan = make_plan(registry, PlanRequest(10, date(2026, 11, 21)))
    (note,) = [note for note in plan.notes if "rehearse-model" in note]
    assert note.startswith("how well limited predicts")


def test_no_more_windows_are_judged_than_the_budget_pays_for(registry: Path) -> None:
    registry.write_text(REGISTRY_TEXT.replace("lifetime = 60", "lifetime = 6"))
    asked, paid = (
        _json(_run(registry, "--population", 10_000, "--windows", windows, "--format", "json"))["metrics"]
        for windows in (13, 2)
    )
    assert [metric["paid_windows"]["paid"] for metric in asked] == [2] * 3
    assert [metric["together"] for metric in asked] == [metric["together"] for metric in paid]
    assert [metric["changes"] for metric in asked] == [[]] * 3, "a week of days, and as many before, are not paid for"
