"""The view of the HTML report, without a browser: numbers, sentences, verdicts, compact tracks, and
the file itself.
"""

from __future__ import annotations

import base64
import hashlib
import math
import re
import tomllib
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from client_sdk.protocol import Registry, Window
from estimator.analyses.metric import estimate
from estimator.commands.cli import command
from estimator.formats.json_documents import builtins_of, document_of
from estimator.render.html.chart_data import tracks
from estimator.render.html.metric_view import NO_TALLY, sparkline
from estimator.render.html.page import as_html, page_of
from estimator.render.html.tables import extras_of, joint_view
from estimator.render.html.wording import difference_text, estimate_text, interval_text, verdict_of, wide_intervals
from estimator.render.rounding import NO_UNIT, PERCENT
from estimator.render.words import HARDLY_POSSIBLE, NEAREST, NO_REPORTS, about_figure, answer_of, p_equals
from estimator.report.changes import changes_of
from estimator.report.conclusions import highlights_of, independence_of
from estimator.report.report import make_report
from estimator.results.estimate import Estimate, Figures
from estimator.results.group import FigureGroup
from estimator.results.metric import Clusters, MetricEstimate
from estimator.results.report import TOO_FAR, EstimateReport, Request, Selection
from estimator.statistics.confidence import SIGNIFICANT
from estimator.tallies import Tally, decode
from estimator.words import plural
from tests.support.devices.definitions import (
    BOOLEAN,
    CATEGORY,
    COUNT,
    CROSS,
    NUMBER,
    ORDINAL,
    SET,
    VECTOR,
    Field,
    Toml,
    registry_text,
)
from tests.support.estimates import every_kind, pages
from tests.support.estimates.tallies import tally

PAIRS = CROSS | {"mechanism": "k-ary-randomized-response"}

ASSETS = Path(__file__).parents[4] / "estimator" / "render" / "html" / "assets"
MINUS = "\N{MINUS SIGN}"


def registry_of(**metrics: dict[str, Field]) -> Registry:
    return Registry.parse(registry_text(**metrics))


def estimate_of(registry: Registry, name: str, counts: tuple[int, ...], window: str = "2026-11-20") -> MetricEstimate:
    metric = registry.metric(name)
    tally = Tally(name, metric.edition, Window.parse(window), closed=True, reports=sum(counts), counts=counts)
    return estimate(metric, tally)


def unbroken(text: str) -> str:
    """Return a text whose last space, before the unit, does not break."""
    return "\N{NO-BREAK SPACE}".join(text.rsplit(" ", 1))


def test_numbers_have_as_many_digits_as_their_error_bears() -> None:
    assert interval_text(Estimate(0.312, 0.0067, 0.299, 0.325)) == "29.90 to 32.50%"
    assert (
        about_figure(FigureGroup("share", Figures.from_rows(())), Estimate(0.312, 0.0067, 0.299, 0.325))
        == "about 31.2% (29.9 to 32.5%)"
    )
    assert estimate_text(Estimate(0.3123, 0.1, 0.1, 0.5)) == "31%"
    assert estimate_text(Estimate(-0.0001, 0.01, -0.02, 0.02)) == "0.0%"
    fell, rose = Estimate(-0.032, 0.01, -0.05, -0.01), Estimate(0.032, 0.01, 0.01, 0.05)
    assert (PERCENT.changed(fell), PERCENT.changed(rose)) == (unbroken(f"{MINUS}3.2 points"), unbroken("+3.2 points"))
    assert PERCENT.changed(Estimate(0.0001, 0.01, -0.02, 0.02)) == unbroken("0.0 points"), "nothing rose"
    assert PERCENT.change_interval(fell) == unbroken(f"{MINUS}5.0 to {MINUS}1.0 points")
    assert interval_text(Estimate(17_000, 2800.5, 12345.6, 23456.7), NO_UNIT) == "12,300 to 23,500"
    assert estimate_text(Estimate(1.0, None, 1 - 1e-15, 1.0)) == "100.0%", "rounding is no interval"
    assert [PERCENT.size(size) for size in (0.0779, 0.1, 0.0)] == [
        unbroken(f"{size} points") for size in ("7.8", "10", "0")
    ]
    assert [p_equals(p) for p in (0.0009, 0.0312, 1.0)] == ["< 0.001", "= 0.031", "= 1"]
    assert [plural(number, "report") for number in (1, 2000)] == ["1 report", "2,000 reports"]


def test_a_sentence_gives_the_answer_of_every_kind() -> None:
    registry = registry_of(yes=BOOLEAN, os=CATEGORY, level=ORDINAL, have=SET, size=NUMBER)
    assert re.fullmatch(
        r"About \d+% \([\d.]+ to [\d.]+%\) say yes\.", answer_of(estimate_of(registry, "yes", (6000, 4000)))
    )
    assert answer_of(estimate_of(registry, "yes", (0, 0))) == NO_REPORTS
    assert "The most common answer is “a”" in answer_of(estimate_of(registry, "os", (6000, 2000, 1000)))
    assert "too close to call" in answer_of(estimate_of(registry, "os", (300, 290, 280)))
    assert re.search(
        r"The mean position is about [\d.]+ \(.*\) of 3\.", answer_of(estimate_of(registry, "level", (900, 900, 900)))
    )
    symbols = registry.metric("have").channel.symbols
    have = answer_of(estimate_of(registry, "have", (3000, *[1000] * (symbols - 1))))
    assert re.search(r"The most common value is “a”: about \d+% \([\d. to]+%\)\.", have)
    symbols = registry.metric("size").channel.symbols
    assert answer_of(estimate_of(registry, "size", (500,) * symbols)) == "The mean is about 4.5 (3.9 to 5.1)."


def test_the_figure_over_time_is_the_one_that_the_answer_is_about() -> None:
    registry = registry_of(yes=BOOLEAN, os=CATEGORY, size=NUMBER)
    symbols = registry.metric("size").channel.symbols
    counts = {"yes": (9000, 1000), "os": (2000, 1000, 6000), "size": (500,) * symbols}
    metrics = tuple(estimate_of(registry, name, tallied) for name, tallied in counts.items())
    report = EstimateReport(
        0.95, metrics, (), simultaneous=False, highlights=highlights_of(metrics, registry.metrics, ())
    )
    data = document_of(page_of(report, registry).data)["metrics"]
    assert [data[name]["lead"] for name in counts] == [1, 2, 0]


def test_a_sentence_names_nothing_impossible() -> None:
    registry = registry_of(yes=BOOLEAN)
    metric = estimate_of(registry, "yes", (980, 20))
    assert metric.estimates is not None
    assert (metric.estimates[1].estimate or 0) < 0
    assert answer_of(metric).startswith(f"{HARDLY_POSSIBLE} {NEAREST} About 0")


def test_a_change_is_distinguished_from_chance_and_from_silence() -> None:
    registry = registry_of(yes=BOOLEAN, other=BOOLEAN, os=CATEGORY)

    def verdict(first: tuple[int, int], last: tuple[int, int], *more: MetricEstimate) -> str:
        windows = [
            estimate_of(registry, "yes", first, "2026-11-01"),
            estimate_of(registry, "yes", last, "2026-11-09"),
            *more,
        ]
        return verdict_of(registry.metric("yes"), next(iter(changes_of(windows, registry.metrics))), 2).code

    still = [estimate_of(registry, "other", (500, 500), window) for window in ("2026-11-01", "2026-11-02")]
    assert verdict((6000, 4000), (5000, 5000)) == "changed"
    assert verdict((600, 400), (550, 450)) == "changed"
    assert verdict((600, 400), (550, 450), *still) == "perhaps"
    days = {"2026-11-01": (500, 500, 500), "2026-11-09": (560, 490, 450)}
    of_os = [estimate_of(registry, "os", counts, day) for day, counts in days.items()]
    of_values = next(iter(changes_of([*of_os, *still], registry.metrics)))
    least = min(change.p_value or 0 for change in of_values.figures("share"))
    assert least <= SIGNIFICANT < 3 * least, "one of three values is so far off by chance more often than it may be"
    assert verdict_of(registry.metric("os"), of_values, 2).code == "same"
    assert "among 3 comparisons, one is often as clear" in verdict_of(registry.metric("os"), of_values, 2).words
    assert verdict((600, 400), (601, 399)) == "same"
    assert verdict((20, 20), (6000, 4000)) == "unknown"
    assert verdict_of(registry.metric("yes"), None, 1).brief == "", "nothing to compare"


def test_a_warning_says_how_many_reports_are_enough() -> None:
    registry = registry_of(yes=BOOLEAN, size=NUMBER)

    def warning(estimated: MetricEstimate) -> str | None:
        (highlight,) = highlights_of([estimated], registry.metrics, ())
        return wide_intervals(estimated, highlight.precision)

    words = warning(estimate_of(registry, "yes", (60, 40)))
    assert words is not None
    needed = int(re.findall(r"needs about ([\d,]+) reports", words)[0].replace(",", ""))
    enough = estimate_of(registry, "yes", (needed // 2, needed - needed // 2))
    assert warning(enough) is None
    assert enough.estimates is not None
    assert TOO_FAR * 0.95 <= float((enough.estimates.highs - enough.estimates.lows).max()) / 2 <= TOO_FAR
    symbols = registry.metric("size").channel.symbols
    assert "with 0 reports" in (warning(estimate_of(registry, "size", (0,) * symbols)) or "")


def test_tracks_are_as_exact_as_a_hundredth_of_the_narrowest_interval() -> None:
    rows = [
        [Estimate(0.31234, 0.01, 0.29, 0.33, 0.3123), None, Estimate(-0.02, 0.1, 0.0, 0.2, 0.0)],
        [Estimate(None, None, 0.0, 1.0, None), Estimate(0.5, 0.02, 0.46, 0.54, None), None],
    ]
    tracked = builtins_of(tracks(rows, PERCENT))
    narrowest = 0.04
    assert narrowest / 1000 <= tracked["step"] <= narrowest / 100
    for place, row in enumerate(rows):
        for slot, share in enumerate(row):
            if share is None or share.estimate is None:
                assert tracked["e"][place][slot] is None
                continue
            steps = {name: tracked[name][place][slot] for name in "edu"}
            assert steps["e"] * tracked["step"] == pytest.approx(
                min(share.high, max(share.low, share.estimate)), abs=tracked["step"]
            )
            assert (steps["e"] - steps["d"]) * tracked["step"] == pytest.approx(share.low, abs=tracked["step"])
            assert (steps["e"] + steps["u"]) * tracked["step"] == pytest.approx(share.high, abs=tracked["step"])
    assert tracks([[Estimate(0.5, 0.1, 0.4, 0.6, None)]], PERCENT).likeliest is None


@pytest.mark.slow
def test_the_data_of_a_distribution_are_its_bins_and_its_band() -> None:
    wave: dict[str, Field] = {"statistic": "distribution", "epsilon": 2}
    registry = registry_of(startup_ms=NUMBER | wave, steps=COUNT | wave | {"max": 40})
    report = make_report(registry, decode(pages.tallies(registry, range(2)).splitlines()))
    metrics = document_of(page_of(report, registry).data)["metrics"]
    first = {estimated.metric: estimated.figures("at_most") for estimated in reversed(report.metrics)}
    for name, data in metrics.items():
        points, band = first[name], data["band"]
        assert band["at"] == list(points.labels)
        for place, point in enumerate(points):
            steps = [band[letter][place][0] for letter in "edu"]
            shown = [steps[0], steps[0] - steps[1], steps[0] + steps[2]]
            assert [step * band["step"] for step in shown] == pytest.approx(
                [point.estimate, point.low, point.high], abs=band["step"]
            )
    assert "d" not in metrics["startup_ms"]["bins"], "all its lower limits are 0"


def test_bins_have_lower_limits_where_any_is_above_0() -> None:
    registry = registry_of(steps=COUNT | {"statistic": "distribution", "max": 40, "mechanism": "square-wave"})
    report = make_report(registry, decode(pages.tallies(registry, range(1)).splitlines()))
    (estimated,) = report.metrics
    first, *others = estimated.figures("bin")
    raised = Figures.from_rows([replace(first, low=first.estimate), *others])
    groups = (replace(each, figures=raised) if each.statistic == "bin" else each for each in estimated.groups)
    report = replace(report, metrics=(replace(estimated, groups=tuple(groups)),))
    report = replace(report, highlights=highlights_of(report.metrics, registry.metrics, ()))
    assert document_of(page_of(report, registry).data)["metrics"]["steps"]["bins"]["d"][0][0] <= 1


def test_the_largest_coordinates_of_a_long_vector_are_shown_and_the_rest_is_counted() -> None:
    registry = registry_of(embedding=VECTOR | {"length": 60, "epsilon": 4})
    report = make_report(registry, decode(pages.tallies(registry, range(2)).splitlines()))
    estimated = report.metrics[-1].figures("coordinate")
    sizes = sorted((abs(each.estimate or 0), each.value) for each in estimated)
    (group,) = document_of(page_of(report, registry).data)["metrics"]["embedding"]["groups"]
    assert group["title"] == "Mean of each coordinate"
    assert group["labels"] == [f"coordinate {value}" for value in sorted(int(str(value)) for _, value in sizes[10:])]
    pooled = report.highlights[0].pooled
    assert pooled is not None
    coordinates = pooled.figures("coordinate")
    assert [row[-1] for row in group["t"]] == [
        f"{text.estimate} {text.low} {text.high}"
        for text in (NO_UNIT.rounded(coordinates[place]) for place in report.highlights[0].positions)
    ]
    text = as_html(report, registry)
    assert f"</strong> coordinate {sizes[-1][1]}, the largest of 60 coordinates" in text
    assert "… and 10 more coordinates; JSON and CSV have all of them." in text


def test_a_spark_is_broken_where_there_is_nothing() -> None:
    estimate = Estimate(0.5, 0.1, 0.4, 0.6, None)
    spark = sparkline([estimate, None, estimate, estimate])
    assert spark is not None
    assert spark.line.count("M") == spark.band.count("M") == 2
    assert sparkline([estimate, None]) is None


@pytest.mark.slow
def test_a_page_names_what_is_not_there() -> None:
    registry = every_kind.REGISTRY
    lines = pages.tallies(registry, range(2)).splitlines()
    report = make_report(
        registry, decode([line for line in lines if b'"os"' not in line] + every_kind.tallies().splitlines()[-1:])
    )
    page = page_of(report, registry)
    assert [view.metric.name for view in page.metrics] == list(registry.metrics)
    assert next(view for view in page.metrics if view.metric.name == "os").headline == NO_TALLY
    assert [view.metric for view in page.skipped] == ["gone"]
    assert page.nothing is None
    assert page_of(make_report(registry, []), registry).nothing is not None
    calendar = [window.text for windows in page.calendars.values() for window in windows]
    assert calendar == [pages.day(0), pages.day(1)]


def test_a_preliminary_window_is_shown_first_only_where_there_is_no_closed_one() -> None:
    registry = registry_of(yes=BOOLEAN)
    metric = registry.metric("yes")
    tallies = [
        Tally("yes", metric.edition, Window.parse(window), closed, 1000, (600, 400))
        for window, closed in (("2026-11-20", True), ("2026-11-21", False))
    ]
    (both,) = page_of(make_report(registry, tallies, Selection(preliminary=True)), registry).metrics
    (alone,) = page_of(make_report(registry, tallies[1:], Selection(preliminary=True)), registry).metrics
    assert (both.window, both.preliminary) == ("2026-11-20", False)
    assert (alone.window, alone.preliminary) == ("2026-11-21", True)
    seen = replace(
        make_report(registry, tallies, Selection(preliminary=True)),
        snapshot_at=datetime(2026, 11, 21, 9, 30, tzinfo=UTC),
    )
    assert "Preliminary figures are those of 2026-11-21 09:30 UTC." in as_html(seen, registry)
    assert page_of(replace(seen, metrics=seen.metrics[:1]), registry).snapshot is None


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
    recorded = {name: file["sha256"] for library in libraries.values() for name, file in library["files"].items()}
    ours = {"numbers.js", "charts.js", "tables.js", "report.js", "report.css", "vendored.toml"}
    assert {path.name for path in ASSETS.iterdir()} == recorded.keys() | ours
    for name, sha256 in recorded.items():
        assert hashlib.sha256((ASSETS / name).read_bytes()).hexdigest() == sha256, name


@pytest.fixture
def arguments(tmp_path: Path) -> list[str]:
    (tmp_path / "metrics.toml").write_text(registry_text(yes=BOOLEAN), encoding="utf-8")
    (tmp_path / "tallies.ndjson").write_bytes(tally(registry_of(yes=BOOLEAN).metric("yes"), [600, 400]))
    return ["report", "--registry", f"{tmp_path / 'metrics.toml'}", "--tallies", f"{tmp_path / 'tallies.ndjson'}"]


def test_a_page_is_written_or_printed_the_same(arguments: list[str], tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    done = CliRunner().invoke(command, [*arguments, "--output", str(page)])
    assert (done.exit_code, done.stdout) == (0, "")
    assert "report.html: 0.5 MB; open it in a browser" in done.stderr
    written = page.read_text(encoding="utf-8")
    assert written.startswith("<!doctype html>")
    assert CliRunner().invoke(command, [*arguments, "--format", "html"]).stdout == written


def test_a_page_that_cannot_be_written_leaves_the_old_one_and_says_what_to_do(
    arguments: list[str], tmp_path: Path
) -> None:
    missing = CliRunner().invoke(command, [*arguments, "--output", str(tmp_path / "absent" / "report.html")])
    assert missing.exit_code == 1
    assert "name a file in a folder that may be written to" in missing.stderr
    folder = CliRunner().invoke(command, [*arguments, "--format", "html", "--output", str(tmp_path)])
    assert folder.exit_code == 1
    assert "name a file that may be replaced" in folder.stderr
    long = CliRunner().invoke(command, [*arguments, "--format", "html", "--output", "x" * 10_000])
    assert (long.exit_code, "name another file to write" in long.stderr) == (2, True)
    page = tmp_path / "report.html"
    assert CliRunner().invoke(command, [*arguments, "--output", str(page)]).exit_code == 0
    old = page.read_text(encoding="utf-8")
    broken = [*arguments[:-1], str(tmp_path / "absent.ndjson")]
    assert CliRunner().invoke(command, [*broken, "--output", str(page)]).exit_code == 1
    assert page.read_text(encoding="utf-8") == old
    assert not list(tmp_path.glob("*.part")) + list(tmp_path.glob(".*.part"))


@pytest.mark.parametrize(
    ("into", "sentence"),
    [
        (("--format", "html", "--output", "-"), "- is not a file name here"),
        (("--output", "-"), "- is not a file name here"),
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


@pytest.mark.long
def test_requested_extras_have_their_own_tables() -> None:
    registry = every_kind.REGISTRY
    report = make_report(
        registry,
        decode(pages.tallies(registry, range(1)).splitlines()),
        request=Request(fakes=0.01, clusters=True, central_delta=1e-6),
    )
    metrics = {view.metric.name: view for view in page_of(report, registry).metrics}
    estimates = {metric.metric: metric for metric in report.metrics}
    fakes = metrics["os"].extras[-1]
    assert fakes.title == "If 1% of the reports were fabricated"
    assert [row[0] for row in fakes.rows] == ["a", "b", "c"]
    worst_case = estimates["os"].fakes
    assert worst_case is not None
    assert float(fakes.rows[0][2].split()[0]) == pytest.approx(100 * worst_case.moves[0].up, rel=0.05)
    clusters = estimates["crashes"].clusters
    assert clusters is not None
    (cluster,) = clusters.clusters
    assert metrics["crashes"].extras[0].rows == (), "of one cluster there is nothing to say"
    two = replace(estimates["crashes"], clusters=Clusters((cluster, cluster), (0.1, 0.9)))
    assert len(next(extras_of(two, ())).rows) == 2
    assert "If only tallies are published" in dict(metrics["os"].facts)
    text = as_html(report, registry)
    assert all(extra.title in text for cluster in metrics.values() for extra in cluster.extras)
    assert "Copyright 2010-2023 Mike Bostock" in text.partition("<footer>")[2]


def test_a_difference_starts_from_the_group_in_which_the_answer_is_more_common() -> None:
    registry = registry_of(dark_mode=BOOLEAN, os=CATEGORY, both=PAIRS, too=PAIRS)
    metric = estimate_of(registry, "both", (9000, 3000, 3000, 3000, 3000, 9000))
    view = joint_view(metric, 1.0)
    assert view is not None
    differences = [difference for difference, *_ in view.differences]
    groups = {(first, second) for _, (_, first, second), *_ in view.differences}
    assert groups == {("no", "yes"), ("yes", "no")}
    assert all((difference.estimate or 0) >= 0 for difference in differences)
    assert not any(difference_text(difference).startswith(MINUS) for difference in differences)
    assert not PERCENT.change_interval(differences[0]).startswith(MINUS)


def test_whether_metrics_are_associated_is_corrected_for_the_number_of_pairs() -> None:
    registry = registry_of(dark_mode=BOOLEAN, os=CATEGORY, both=PAIRS, too=PAIRS)
    first, second = (
        estimate_of(registry, "both", (900, 800, 800, 800, 800, 900)),
        estimate_of(registry, "too", (900, 800, 800, 800, 800, 800)),
    )
    tests = [each.independence for each in (first, second)]
    by_itself = [test.p_value for test in tests if test is not None]
    corrected = independence_of([first, second])
    assert min(corrected.values()) == pytest.approx(2 * min(by_itself))
    assert max(corrected.values()) == pytest.approx(max(*by_itself, 2 * min(by_itself)))
    assert independence_of([estimate_of(registry, "dark_mode", (5, 5))]) == {}
    words = answer_of(first, corrected[first.metric])
    assert f"p {p_equals(corrected[first.metric])}" in words


def test_the_page_claims_one_epsilon_for_all_reports_only_of_an_answer_that_never_changes() -> None:
    once = registry_of(theme=CATEGORY | {"permanent_epsilon": 1})
    (view,) = page_of(make_report(once, []), once).metrics
    labels = [label for label, _ in view.facts if "psilon" in label]
    assert labels == ["Epsilon of a report", "Epsilon of all reports of this edition, if the answer never changes"]


def test_of_gaussian_noise_the_page_says_how_often_its_odds_are_exceeded() -> None:
    noisy = registry_of(m=NUMBER | {"mechanism": "gaussian", "delta": Toml("0.01"), "epsilon": 1})
    (view,) = page_of(make_report(noisy, []), noisy).metrics
    facts = dict(view.facts)
    assert facts["Epsilon of a report"].endswith(
        ": even odds can become at most 2.8 to 1, except with a chance of 1 in 16"
    )


def test_the_page_names_the_window_in_which_a_metric_ends() -> None:
    monthly = registry_of(m=BOOLEAN | {"window": "month", "expires": Toml("2026-11-01")})
    (view,) = page_of(make_report(monthly, []), monthly).metrics
    assert dict(view.facts)["Asked until"] == "the end of the month that contains 2026-11-01"


def test_odds_are_rounded_up() -> None:
    (view,) = page_of(make_report(registry_of(yes=BOOLEAN), []), registry_of(yes=BOOLEAN)).metrics
    words = dict(view.facts)["Epsilon of a report"]
    odds = float(re.findall(r"at most ([\d.]+) to 1", words)[0])
    assert math.e <= odds <= math.e + 0.1
