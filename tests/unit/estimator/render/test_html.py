"""The view of the HTML report, without a browser: numbers, sentences, verdicts, compact tracks, and the file itself."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
import tomllib
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from client_sdk.protocol import Registry, Window
from estimator.commands.cli import command
from estimator.estimates.metric import estimate
from estimator.render.html.document import as_html
from estimator.render.html.extras import extras_of
from estimator.render.html.figures import label_of
from estimator.render.html.filters import change_interval_text, difference_text
from estimator.render.html.joint import joint_view
from estimator.render.html.numbers import PERCENT, PLAIN, count_words
from estimator.render.html.page import page_of
from estimator.render.html.sentences import NO_REPORTS, answer_of
from estimator.render.html.sparkline import sparkline
from estimator.render.html.tracks import tracks
from estimator.render.html.verdicts import too_few, verdict_of
from estimator.render.words import p_equals
from estimator.report.changes import changes_of
from estimator.report.conclusions import SIGNIFICANT
from estimator.report.highlights import highlights_of, independence_of
from estimator.report.report import make_report
from estimator.results.clusters import Clusters
from estimator.results.estimate import Estimate
from estimator.results.highlight import TOO_FAR
from estimator.results.metric import MetricEstimate
from estimator.results.report import Report
from estimator.results.request import Request, Selection
from estimator.tallies.tally import Tally, decode
from tests.support.devices.definitions import (
    BOOLEAN,
    CATEGORY,
    COUNT,
    CROSS,
    NUMBER,
    ORDINAL,
    SET,
    Field,
    registry_text,
)
from tests.support.estimates import every_kind, pages

PAIRS = CROSS | {"mechanism": "k-ary-randomized-response"}

ASSETS = Path(__file__).parents[4] / "estimator" / "render" / "html" / "assets"
MINUS = "\N{MINUS SIGN}"


def registry(**metrics: dict[str, Field]) -> Registry:
    return Registry.parse(registry_text(**metrics))


def told(found: Registry, name: str, counts: tuple[int, ...], window: str = "2026-11-20") -> MetricEstimate:
    metric = found.metric(name)
    tally = Tally(name, metric.edition, Window.parse(window), closed=True, reports=sum(counts), counts=counts)
    return estimate(metric, tally)


def unbroken(text: str) -> str:
    """Return a text whose last space, before the unit, does not break."""
    return "\N{NO-BREAK SPACE}".join(text.rsplit(" ", 1))


def test_numbers_have_as_many_digits_as_their_interval_bears() -> None:
    assert PERCENT.about(0.3123, 0.299, 0.325) == unbroken("31 %")
    assert PERCENT.interval(0.299, 0.325) == unbroken("29.9 to 32.5 %")
    assert PERCENT.value(0.3123, 0.1, 0.5) == unbroken("31 %")
    assert PERCENT.value(-0.0001, -0.02, 0.02) == unbroken("0.0 %")
    assert PERCENT.changed(-0.032, -0.05, -0.01) == unbroken(f"{MINUS}3.2 points")
    assert PERCENT.changed(0.032, 0.01, 0.05) == unbroken("+3.2 points")
    assert PLAIN.interval(12345.6, 23456.7) == "12,346 to 23,457"
    assert PLAIN.value(5.0, 5.0, 5.0) == "5.0"
    assert PERCENT.value(1.0, 1 - 1e-15, 1.0) == unbroken("100.0 %"), "rounding is no interval"
    assert [p_equals(p) for p in (0.0009, 0.0312, 1.0)] == ["below 0.001", "= 0.031", "= 1"]
    assert [count_words(number, "report") for number in (1, 2000)] == ["1 report", "2,000 reports"]


def test_a_sentence_gives_the_answer_of_every_kind() -> None:
    found = registry(yes=BOOLEAN, os=CATEGORY, level=ORDINAL, have=SET, size=NUMBER)
    assert re.fullmatch(r"About \d+\s% \([\d.]+ to [\d.]+\s%\) say yes\.", answer_of(told(found, "yes", (6000, 4000))))
    assert answer_of(told(found, "yes", (0, 0))) == NO_REPORTS
    assert "The most common answer is “a”" in answer_of(told(found, "os", (6000, 2000, 1000)))
    assert "which answer is ahead cannot be told" in answer_of(told(found, "os", (300, 290, 280)))
    assert re.search(
        r"The mean position is about [\d.]+ \(.*\) of 3\.", answer_of(told(found, "level", (900, 900, 900)))
    )
    symbols = found.metric("have").channel.symbols
    have = answer_of(told(found, "have", (3000, *[1000] * (symbols - 1))))
    assert re.match(r"The most common value is “a”: about \d+\s% \([\d. to]+\s%\) have it\.", have)
    symbols = found.metric("size").channel.symbols
    assert answer_of(told(found, "size", (500,) * symbols)) == "The mean is about 5 (3.4 to 5.6)."


def test_the_figure_over_time_is_the_one_that_the_answer_is_about() -> None:
    found = registry(yes=BOOLEAN, os=CATEGORY, size=NUMBER)
    symbols = found.metric("size").channel.symbols
    counts = {"yes": (9000, 1000), "os": (2000, 1000, 6000), "size": (500,) * symbols}
    metrics = tuple(told(found, name, some) for name, some in counts.items())
    report = Report(0.95, metrics, (), simultaneous=False, highlights=highlights_of(metrics, found.metrics))
    data = page_of(report, found).data["questions"]
    assert [data[name]["lead"] for name in counts] == [1, 2, 0]


def test_a_sentence_names_nothing_impossible() -> None:
    found = registry(yes=BOOLEAN)
    one = told(found, "yes", (980, 20))
    assert one.estimates is not None
    assert (one.estimates[1].estimate or 0) < 0
    assert answer_of(one).startswith("About 0")


def test_a_change_is_told_from_chance_and_from_silence() -> None:
    found = registry(yes=BOOLEAN, other=BOOLEAN, os=CATEGORY)

    def verdict(first: tuple[int, int], last: tuple[int, int], *more: MetricEstimate) -> str:
        windows = [told(found, "yes", first, "2026-11-01"), told(found, "yes", last, "2026-11-09"), *more]
        return verdict_of(found.metric("yes"), next(iter(changes_of(windows))), 2).code

    still = [told(found, "other", (500, 500), window) for window in ("2026-11-01", "2026-11-02")]
    assert verdict((6000, 4000), (5000, 5000)) == "changed"
    assert verdict((600, 400), (555, 445)) == "changed"
    assert verdict((600, 400), (555, 445), *still) == "perhaps"
    days = {"2026-11-01": (500, 500, 500), "2026-11-09": (560, 490, 450)}
    of_values = next(iter(changes_of([*(told(found, "os", counts, day) for day, counts in days.items()), *still])))
    least = min(one.p_value or 0 for one in of_values.estimates)
    assert least <= SIGNIFICANT < 3 * least, "one of three values is so far off by chance more often than it may be"
    assert verdict_of(found.metric("os"), of_values, 2).code == "same"
    assert "of 3 comparisons one is often as clear by chance" in verdict_of(found.metric("os"), of_values, 2).words
    assert verdict((600, 400), (601, 399)) == "same"
    assert verdict((20, 20), (6000, 4000)) == "unknown"
    assert verdict_of(found.metric("yes"), None, 1).brief == "only one window so far"
    assert verdict_of(found.metric("yes"), None, 0).brief == "no data"


def test_a_warning_says_how_many_reports_it_takes_and_so_many_are_enough() -> None:
    found = registry(yes=BOOLEAN, size=NUMBER)

    def warning(estimated: MetricEstimate) -> str | None:
        (highlight,) = highlights_of([estimated], found.metrics)
        return too_few(estimated, highlight.precision)

    words = warning(told(found, "yes", (60, 40)))
    assert words is not None
    needed = int(re.findall(r"takes about ([\d,]+) reports", words)[0].replace(",", ""))
    enough = told(found, "yes", (needed // 2, needed - needed // 2))
    assert warning(enough) is None
    assert enough.estimates is not None
    assert TOO_FAR * 0.95 <= float((enough.estimates.highs - enough.estimates.lows).max()) / 2 <= TOO_FAR
    symbols = found.metric("size").channel.symbols
    assert "with 0 reports" in (warning(told(found, "size", (0,) * symbols)) or "")


def test_tracks_are_as_exact_as_a_hundredth_of_the_narrowest_interval() -> None:
    rows = [
        [Estimate(0.31234, 0.01, 0.29, 0.33, 0.3123), None, Estimate(-0.02, 0.1, 0.0, 0.2, 0.0)],
        [Estimate(None, None, 0.0, 1.0, None), Estimate(0.5, 0.02, 0.46, 0.54, None), None],
    ]
    found = tracks(rows)
    narrowest = 0.04
    assert narrowest / 1000 <= found["step"] <= narrowest / 100
    for place, row in enumerate(rows):
        for slot, one in enumerate(row):
            if one is None or one.estimate is None:
                assert found["e"][place][slot] is None
                continue
            steps = {name: found[name][place][slot] for name in "edu"}
            assert steps["e"] * found["step"] == pytest.approx(one.estimate, abs=found["step"])
            assert (steps["e"] - steps["d"]) * found["step"] == pytest.approx(one.low, abs=found["step"])
            assert (steps["e"] + steps["u"]) * found["step"] == pytest.approx(one.high, abs=found["step"])
    assert "m" not in tracks([[Estimate(0.5, 0.1, 0.4, 0.6, None)]])


def test_the_data_of_a_distribution_are_its_bins_and_its_band() -> None:
    wave: dict[str, Field] = {"statistic": "distribution", "epsilon": 2}
    found = registry(startup_ms=NUMBER | wave, steps=COUNT | wave | {"max": 40})
    report = make_report(found, decode(pages.tallies(found, range(2)).splitlines()))
    questions = page_of(report, found).data["questions"]
    first = {estimated.metric: estimated.distribution for estimated in reversed(report.metrics)}
    for name, data in questions.items():
        distribution, band = first[name], data["band"]
        assert distribution is not None
        assert band["at"] == [point.at for point in distribution.band]
        for place, point in enumerate(distribution.band):
            steps = [band[letter][place][0] for letter in "edu"]
            shown = [steps[0], steps[0] - steps[1], steps[0] + steps[2]]
            assert [step * band["step"] for step in shown] == pytest.approx(
                [point.estimate, point.low, point.high], abs=band["step"]
            )
    assert "d" not in questions["startup_ms"]["bins"], "all its lower limits are 0"


def test_bins_have_lower_limits_where_any_is_above_0() -> None:
    found = registry(steps=COUNT | {"statistic": "distribution", "max": 40, "mechanism": "square-wave"})
    report = make_report(found, decode(pages.tallies(found, range(1)).splitlines()))
    (estimated,) = report.metrics
    assert estimated.distribution is not None
    first, *others = estimated.distribution.bins
    raised = replace(estimated.distribution, bins=(replace(first, low=first.estimate), *others))
    report = replace(report, metrics=(replace(estimated, distribution=raised),))
    report = replace(report, highlights=highlights_of(report.metrics, found.metrics))
    assert page_of(report, found).data["questions"]["steps"]["bins"]["d"][0] == [0]


def test_a_distribution_of_an_older_schema_has_no_band_to_draw() -> None:
    found = registry(startup_ms=NUMBER | {"statistic": "distribution", "epsilon": 2})
    report = make_report(found, decode(pages.tallies(found, range(1)).splitlines()))
    (estimated,) = report.metrics
    assert estimated.distribution is not None
    older = replace(report, metrics=(replace(estimated, distribution=replace(estimated.distribution, band=())),))
    older = replace(older, highlights=highlights_of(older.metrics, found.metrics))
    assert "<strong>Distribution function</strong>" in as_html(report, found)
    assert "<strong>Distribution function</strong>" not in as_html(older, found)
    assert "band" not in page_of(older, found).data["questions"]["startup_ms"]


def test_a_spark_is_broken_where_there_is_nothing() -> None:
    one = Estimate(0.5, 0.1, 0.4, 0.6, None)
    assert sparkline([one, None, one, one]).count("M") == 2
    assert sparkline([one]) == ""


def test_a_page_names_what_is_not_there() -> None:
    found = every_kind.REGISTRY
    lines = pages.tallies(found, range(2)).splitlines()
    report = make_report(
        found,
        decode([line for line in lines if b'"os"' not in line] + every_kind.tallies().splitlines()[-1:]),
    )
    page = page_of(report, found)
    assert [one.metric.name for one in page.questions] == list(found.metrics)
    assert next(one for one in page.questions if one.metric.name == "os").answer.startswith("There is no tally")
    assert [one.metric for one in page.skipped] == ["gone"]
    assert page.nothing is None
    assert page_of(make_report(found, []), found).nothing is not None
    calendar = [window.text for windows in page.calendars.values() for window in windows]
    assert calendar == [pages.day(0), pages.day(1)]


def test_a_preliminary_window_is_shown_first_only_where_there_is_no_closed_one() -> None:
    found = registry(yes=BOOLEAN)
    metric = found.metric("yes")
    tallies = [
        Tally("yes", metric.edition, Window.parse(window), closed, 1000, (600, 400))
        for window, closed in (("2026-11-20", True), ("2026-11-21", False))
    ]
    (both,) = page_of(make_report(found, tallies, Selection(preliminary=True)), found).questions
    (alone,) = page_of(make_report(found, tallies[1:], Selection(preliminary=True)), found).questions
    assert (both.window, both.preliminary) == ("2026-11-20", False)
    assert (alone.window, alone.preliminary) == ("2026-11-21", True)
    seen = replace(
        make_report(found, tallies, Selection(preliminary=True)), snapshot_at=datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
    )
    assert "Preliminary figures are those of 2026-11-21 09:30 UTC." in as_html(seen, found)
    assert page_of(replace(seen, metrics=seen.metrics[:1]), found).snapshot is None


def test_the_policy_names_the_hash_of_every_script_and_style_of_the_file() -> None:
    text = as_html(make_report(every_kind.REGISTRY, []), every_kind.REGISTRY)
    policy = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)[0].replace("&#39;", "'")
    for content in re.findall(r"<(?:script|style)>(.*?)</(?:script|style)>", text, re.DOTALL):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    assert "http" not in policy


def test_the_libraries_are_byte_by_byte_what_was_looked_at() -> None:
    libraries = tomllib.loads((ASSETS / "vendored.toml").read_text(encoding="utf-8"))
    recorded = {name: one["sha256"] for library in libraries.values() for name, one in library["files"].items()}
    ours = {"numbers.js", "charts.js", "tables.js", "report.js", "report.css", "vendored.toml"}
    assert {path.name for path in ASSETS.iterdir()} == recorded.keys() | ours
    for name, sha256 in recorded.items():
        assert hashlib.sha256((ASSETS / name).read_bytes()).hexdigest() == sha256, name


@pytest.fixture
def arguments(tmp_path: Path) -> list[str]:
    (tmp_path / "metrics.toml").write_text(registry_text(yes=BOOLEAN), encoding="utf-8")
    metric = registry(yes=BOOLEAN).metric("yes")
    line = {"metric": "yes", "edition": metric.edition, "window": "2026-11-20", "closed": True, "reports": 1000}
    (tmp_path / "tallies.ndjson").write_text(json.dumps(line | {"counts": [600, 400]}), encoding="utf-8")
    return ["report", "--registry", f"{tmp_path / 'metrics.toml'}", "--tallies", f"{tmp_path / 'tallies.ndjson'}"]


def test_html_alone_prints_nothing_and_with_a_format_that_too(arguments: list[str], tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    alone = CliRunner().invoke(command, [*arguments, "--html", str(page)])
    assert (alone.exit_code, alone.stdout) == (0, "")
    assert "report.html is written" in alone.stderr
    written = page.read_text(encoding="utf-8")
    assert written.startswith("<!doctype html>")
    both = CliRunner().invoke(command, [*arguments, "--html", str(page), "--format", "json"])
    assert json.loads(both.stdout)["metrics"][0]["reports"] == 1000
    assert page.read_text(encoding="utf-8") == written, "the same tallies give the same page"


def test_a_page_that_cannot_be_written_leaves_the_old_one_and_says_what_to_do(
    arguments: list[str], tmp_path: Path
) -> None:
    missing = CliRunner().invoke(command, [*arguments, "--html", str(tmp_path / "absent" / "report.html")])
    assert missing.exit_code == 1
    assert "name a file in a folder that may be written to" in missing.stderr
    folder = CliRunner().invoke(command, [*arguments, "--html", str(tmp_path)])
    assert folder.exit_code == 1
    assert "name a file that may be replaced" in folder.stderr
    long = CliRunner().invoke(command, [*arguments, "--html", "x" * 10_000])
    assert (long.exit_code, "cannot be written: File name too long" in long.stderr) == (1, True)
    page = tmp_path / "report.html"
    page.write_text("the old one", encoding="utf-8")
    broken = [*arguments[:-1], str(tmp_path / "absent.ndjson")]
    assert CliRunner().invoke(command, [*broken, "--html", str(page)]).exit_code == 1
    assert page.read_text(encoding="utf-8") == "the old one"
    assert not list(tmp_path.glob("*.part")) + list(tmp_path.glob(".*.part"))


@pytest.mark.parametrize(
    ("into", "sentence"),
    [
        (("--html", "one.html", "--output", "./one.html"), "name the same file"),
        (("--html", "-"), "- is no file here"),
        (("--output", "-"), "- is no file here"),
    ],
)
def test_a_target_that_would_be_lost_or_a_surprise_is_refused(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, into: tuple[str, ...], sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    refused = CliRunner().invoke(command, [*arguments, *into])
    assert (refused.exit_code, sentence in refused.stderr) == (2, True)
    assert sorted(tmp_path.iterdir()) == before


def test_what_is_wanted_beside_stands_in_tables_of_its_own() -> None:
    found = every_kind.REGISTRY
    report = make_report(
        found,
        decode(pages.tallies(found, range(1)).splitlines()),
        request=Request(fakes=0.01, clusters=True, central_delta=1e-6),
    )
    questions = {one.metric.name: one for one in page_of(report, found).questions}
    estimates = {one.metric: one for one in report.metrics}
    fakes = questions["os"].extras[-1]
    assert fakes.title == f"If {unbroken('1 %')} of the reports were made up"
    assert [row[0] for row in fakes.rows] == ["a", "b", "c"]
    told_fakes = estimates["os"].fakes
    assert told_fakes is not None
    assert told_fakes.estimates is not None
    assert float(fakes.rows[0][2].split()[0]) == pytest.approx(100 * told_fakes.estimates[0].up, rel=0.05)
    clusters = estimates["crashes"].clusters
    assert clusters is not None
    (one,) = clusters.clusters
    assert questions["crashes"].extras[0].rows == (), "of one cluster there is nothing to say"
    two = replace(estimates["crashes"], clusters=Clusters((one, one), (0.1, 0.9)))
    assert len(next(extras_of(two, ())).rows) == 2
    assert "If only tallies are published" in dict(questions["os"].facts)
    text = as_html(report, found)
    assert all(extra.title in text for one in questions.values() for extra in one.extras)
    assert "Copyright 2010-2023 Mike Bostock" in text.partition("<footer>")[2]


def test_a_difference_is_told_from_the_group_in_which_the_answer_is_more_common() -> None:
    found = registry(dark_mode=BOOLEAN, os=CATEGORY, both=PAIRS, too=PAIRS)
    one = told(found, "both", (9000, 3000, 3000, 3000, 3000, 9000))
    view = joint_view(one, 1.0)
    assert view is not None
    differences = [difference for difference, *_ in view.differences]
    groups = {tuple(map(label_of, difference.groups)) for difference in differences}
    assert groups == {("no", "yes"), ("yes", "no")}
    assert all((difference.estimate or 0) >= 0 for difference in differences)
    assert not any(difference_text(difference).startswith(MINUS) for difference in differences)
    assert not change_interval_text(differences[0]).startswith(MINUS)


def test_whether_questions_go_together_is_corrected_for_the_number_of_pairs() -> None:
    found = registry(dark_mode=BOOLEAN, os=CATEGORY, both=PAIRS, too=PAIRS)
    one, other = told(found, "both", (900, 800, 800, 800, 800, 900)), told(found, "too", (900, 800, 800, 800, 800, 800))
    tests = [each.joint.independence for each in (one, other) if each.joint is not None]
    by_itself = [test.p_value for test in tests if test is not None]
    corrected = independence_of([one, other])
    assert min(corrected.values()) == pytest.approx(2 * min(by_itself))
    assert max(corrected.values()) == pytest.approx(max(*by_itself, 2 * min(by_itself)))
    assert independence_of([told(found, "dark_mode", (5, 5))]) == {}
    words = answer_of(one, corrected[one.metric])
    assert f"p {p_equals(corrected[one.metric])}" in words


def test_the_page_claims_one_epsilon_for_all_reports_only_of_an_answer_that_never_changes() -> None:
    once = registry(theme=CATEGORY | {"permanent_epsilon": 1, "protects": "pattern", "max_values": 3})
    (question,) = page_of(make_report(once, []), once).questions
    labels = [label for label, _ in question.facts if "psilon" in label]
    assert labels == ["Epsilon of a report", "Epsilon of all reports of an answer that never changes"]


def test_odds_are_rounded_up() -> None:
    (question,) = page_of(make_report(registry(yes=BOOLEAN), []), registry(yes=BOOLEAN)).questions
    words = dict(question.facts)["Epsilon of a report"]
    odds = float(re.findall(r"at most ([\d.]+) to 1", words)[0])
    assert math.e <= odds <= math.e + 0.1
