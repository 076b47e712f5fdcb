"""The report at a glance: a screen for four questions, 80 or 60 columns, nothing impossible."""

from __future__ import annotations

import re

import numpy as np
import pytest

from client_sdk.protocol import Registry
from estimator.render.rounding import PERCENT, Unit, shown
from estimator.render.text.style import PLAIN, Style, aligned
from estimator.render.text.summary import as_summary, figure_lines
from estimator.report.report import make_report
from estimator.results.estimate import Estimate
from estimator.results.report import EstimateReport, Request, Selection
from estimator.tallies import decode
from tests.support.devices.definitions import BOOLEAN, CATEGORY, NUMBER, registry_text
from tests.support.estimates.every_kind import REGISTRY, tallies
from tests.support.estimates.tallies import REGISTRY as DARK_MODE
from tests.support.estimates.tallies import line, tally

ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
FOUR = Registry.parse(
    registry_text(
        self_rated_health=CATEGORY | {"values": ["excellent", "good", "fair", "poor"]},
        physical_limitation=BOOLEAN,
        doctor_visits=NUMBER,
        startup_ms=NUMBER | {"unit": "ms"},
    )
)


def four_metrics() -> EstimateReport:
    generator = np.random.default_rng(1)
    lines = []
    for metric in FOUR.metrics.values():
        shares = np.linspace(1.0, 0.8, metric.channel.symbols)
        for window in ("2026-11-19", "2026-11-20"):
            counts = generator.multinomial(5474, shares / shares.sum()).tolist()
            lines.append(tally(metric, counts, window=window))
    return make_report(FOUR, decode(lines), Selection(), Request(pool=True, fakes=0.01))


@pytest.fixture(scope="module")
def every_kind() -> EstimateReport:
    read = decode(tallies().splitlines(keepends=True))
    return make_report(REGISTRY, read, Selection(preliminary=True), Request(pool=True, fakes=0.01))


@pytest.mark.slow
def test_four_metrics_with_fakes_and_pool_are_shorter_than_a_screen() -> None:
    lines = as_summary(four_metrics()).splitlines()
    assert len(lines) < 36
    text = " ".join(" ".join(lines).split())
    assert text.count("of reports were fabricated, ") == text.count("2 windows pooled: ") == 4


@pytest.mark.slow
@pytest.mark.parametrize("style", [PLAIN, Style(60), Style(60, is_ascii=True), Style(80, is_colored=True)])
def test_every_kind_fits_the_width(every_kind: EstimateReport, style: Style) -> None:
    text = as_summary(every_kind, style)
    assert max(len(ESCAPES.sub("", line)) for line in text.splitlines()) <= style.width
    assert text.isascii() or not style.is_ascii
    assert ("\x1b" in text) == style.is_colored
    assert "\N{NO-BREAK SPACE}" not in text


@pytest.mark.slow
@pytest.mark.parametrize("reports", [0, 1])
def test_hardly_any_report_of_every_kind_makes_a_summary(reports: int) -> None:
    read = decode(tallies(reports).splitlines(keepends=True))
    text = as_summary(make_report(REGISTRY, read, Selection(preliminary=True), Request(pool=True)))
    assert ("No reports" in text) == (reports == 0)
    assert reports or "more value" not in text
    assert "nan" not in text


@pytest.mark.slow
def test_a_model_of_one_report_is_said_to_be_learned_from_too_few() -> None:
    text = " ".join(as_summary(make_report(REGISTRY, decode(tallies(1).splitlines()), Selection(), Request())).split())
    assert text.count("There are too few reports to learn from; 1 report.") == 2
    assert "age  in 2026" not in text
    assert "Other windows: too few reports in 2026-11-19." in text


@pytest.mark.parametrize("name", ["embedding", "unknown_word"])
def test_a_point_of_a_vector_or_a_text_is_said_to_be_no_certainty(name: str) -> None:
    metric = REGISTRY.metric(name)
    sparse = tally(metric, [2000], symbols=[metric.channel.symbols - 1])
    request = Request(candidates=("the", "zebra", "a") if name == "unknown_word" else ())
    text = as_summary(make_report(REGISTRY, decode([sparse]), Selection(), request))
    assert "An interval of a single point is not a certainty" in text


def test_every_metric_has_its_sentence_and_the_unit_of_its_numbers(every_kind: EstimateReport) -> None:
    text = as_summary(every_kind)
    assert "dark_mode: About 50% (46 to 54%) say yes; 3,004 reports.\n" in text
    assert "  mean    4.51 ms ± 0.34  3.84 to 5.18 " in text
    words = " ".join(text.split())
    assert "startup_ms, counted up to 9: The mean is about 4.5 ms (3.8 to 5.2 ms); 3,014 reports." in words
    assert "*: preliminary" in text


def test_an_impossible_share_is_shown_as_what_it_means() -> None:
    reported = tally(FOUR.metric("physical_limitation"), [745, 255])
    text = as_summary(make_report(FOUR, decode([reported]), Selection(), Request()))
    assert re.search(r"About 0% \(0 to \d%\) say yes", text)
    assert "not a certainty" not in text
    assert re.search(r"^  yes     0\.0% ± \d\.\d  0\.0 to \d\.\d$", text, re.MULTILINE)


def test_points_stand_below_each_other_and_long_figures_cost_the_bar_and_not_the_width() -> None:
    assert aligned(["9.25", "10", "0.5"]) == [" 9.25", "10   ", " 0.5 "]
    rows = [
        shown("a long label", Estimate(0.123, 0.013, 0.09, 0.15), PERCENT, (0.0, 1.0)),
        shown("mean", Estimate(-1.25e-100, 1e-101, -2e-100, 1e-100), Unit(0, "a unit of 16 let", ""), (-1.0, 1.0)),
    ]
    lines = list(figure_lines(rows, Style(60)))
    assert max(map(len, lines)) <= 80
    assert len({line.index("±") for line in lines}) == 1


def test_a_change_has_a_direction_and_a_size() -> None:
    def window(day: int, yes: int) -> bytes:
        return line("dark_mode", [1000 - yes, yes], window=f"2026-11-{day}")

    report = make_report(DARK_MODE, decode([window(18, 400), window(19, 600)]), Selection(), Request(pool=True))
    text = " ".join(as_summary(report).split())
    told = "“yes” is 40 points higher in 2026-11-19 than in 2026-11-18 (30 to 50); p < 0.001, corrected"
    assert f"{told} for everything compared; new, and not yet confirmed by another window" in text


def test_windows_that_are_pooled_but_not_compared_are_said_to_be_so() -> None:
    """The share of yes rises from 45 to 55% and falls again: first and last window are alike."""
    counts = {18: [550, 450], 19: [450, 550], 20: [550, 450]}
    windows = [line("dark_mode", each, window=f"2026-11-{day}") for day, each in counts.items()]
    text = " ".join(as_summary(make_report(DARK_MODE, decode(windows), Selection(), Request(pool=True))).split())
    assert (
        "No change in shares detected between 2026-11-18 and 2026-11-20; 3 windows pooled, whether or not they diff"
        in text
    )


def test_a_change_says_its_windows_where_the_last_one_is_not_that_of_the_answer() -> None:
    days = [(18, [600, 400]), (19, [400, 600]), (20, [1, 2])]
    tallies_of_days = [line("dark_mode", counts, window=f"2026-11-{day}") for day, counts in days]
    text = as_summary(make_report(DARK_MODE, decode(tallies_of_days), Selection(), Request(pool=True)))
    assert "Window 2026-11-20; " in text
    assert "“yes” is 40 points higher in 2026-11-19 than in 2026-11-18" in text
