"""The HTML report in a real browser: what it shows, what it does, and what it must not do."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from statistics import NormalDist
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from click.testing import CliRunner
from playwright.sync_api import Browser, Locator, Page, expect

from client_sdk.protocol import Registry
from client_sdk.protocol.kinds.boolean import Boolean
from client_sdk.protocol.kinds.category import Category
from client_sdk.protocol.kinds.cross import Cross
from estimator.commands.cli import command
from estimator.render.html.page import as_html
from estimator.report.report import make_report
from estimator.results.statistic import STATISTICS
from estimator.tallies import decode
from tests.support.devices.definitions import BOOLEAN, CATEGORY, COUNT, CROSS, MODEL, Field, Toml, registry_text
from tests.support.devices.definitions import NUMBER as BOUNDED
from tests.support.estimates import every_kind
from tests.support.estimates.documents import listed, only
from tests.support.estimates.pages import DAYS, MISSING_DAY, OPEN_DAY, POOR_DAY, day, tallies
from tests.support.services.browser import DESKTOP, PHONE, Scheme, chromium, opened

pytestmark = pytest.mark.system

SHOWN = day(OPEN_DAY - 1)
"""The last closed window."""

MINUS = "\N{MINUS SIGN}"
NUMBER = rf"[{MINUS}\d,.]+"


@dataclass(frozen=True)
class Written:
    """A page, and the JSON of the same tallies."""

    file: Path
    report: dict[str, Any]

    def metric(self, name: str, window: str = SHOWN) -> dict[str, Any]:
        entry: dict[str, Any] = next(
            entry for entry in self.report["metrics"] if entry["metric"] == name and entry["window"] == window
        )
        return entry


def write(folder: Path, registry: str, lines: bytes, *options: str, status: int = 0) -> Written:
    """Write a page and JSON of the same tallies; both runs must end with a given status."""
    (folder / "metrics.toml").write_text(registry, encoding="utf-8")
    (folder / "tallies.ndjson").write_bytes(lines)
    files = [folder / "report.html", folder / "report.json"]
    arguments = ["report", "--registry", folder / "metrics.toml", "--tallies", folder / "tallies.ndjson"]
    for file in files:
        words = [*map(str, arguments), "--output", str(file), *options]
        done = CliRunner().invoke(command, words, catch_exceptions=False)
        assert done.exit_code == status, done.output
    return Written(files[0], json.loads(files[1].read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    folder = tmp_path_factory.mktemp("page")
    return write(folder, every_kind.REGISTRY_TEXT, tallies(every_kind.REGISTRY), "--preliminary", "--with", "pooled")


@pytest.fixture(scope="module")
def whole(browser: Browser, written: Written) -> Iterator[Page]:
    """The page with everything drawn and unfolded, to be read only."""
    with opened(browser, written.file) as view:
        view.show_everything()
        yield view.page
        assert view.complaints == []


def text_number(text: str) -> float:
    return float(text.replace(",", "").replace(MINUS, "-"))


def half_a_digit(text: str) -> float:
    """Return by how much a number may have been rounded, given its text; a little more for the last
    bit.
    """
    digits = len(text.partition(".")[2])
    return 0.5001 * 10.0**-digits


def article(page: Page, name: str) -> Locator:
    return page.locator(f"#q-{name}")


def unfold(shown: Locator) -> None:
    """Open the details of a card."""
    shown.locator(".details > summary").click()


def figures_of(entry: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what is known of a question's table, in its order."""
    shown = (group for group in entry["groups"] if STATISTICS[group["statistic"]].on_page)
    return [figure for group in shown for figure in group["figures"] if figure["estimate"] is not None]


@pytest.mark.parametrize(("size", "scheme"), [(DESKTOP, "light"), (PHONE, "dark")])
def test_every_chart_is_drawn_without_an_error_a_request_or_a_sideways_scroll(
    browser: Browser, written: Written, size: tuple[int, int], scheme: Scheme
) -> None:
    with opened(browser, written.file, size, scheme) as view:
        assert view.page.locator("svg.chart").count() < len(every_kind.REGISTRY.metrics), "drawn before they come near"
        view.show_everything()
        drawn = {name: article(view.page, name).locator("svg.chart").count() for name in every_kind.REGISTRY.metrics}
        assert drawn == {
            "dark_mode": 2, "os": 2, "mood": 2, "languages": 2, "startup_ms": 2,
            "steps": 4, "pages": 4, "crashes": 2, "used": 2, "topic": 2, "seen": 2, "constant": 2, "both": 3,
            "embedding": 2, "unknown_word": 0, "limitation": 3, "limitation_by_feature": 2, "startup_by_os": 3,
            "document_kb": 2, "waiting": 3,
        }  # fmt: skip
        assert view.page.evaluate("document.documentElement.scrollWidth") <= size[0]
        named = view.page.locator("svg.chart[role=img][aria-label]").count()
        assert named == sum(drawn.values())
        assert view.complaints == []
        assert view.requests == [written.file.as_uri()]


@pytest.mark.parametrize("name", every_kind.REGISTRY.metrics)
def test_the_dots_and_the_table_show_the_numbers_of_the_json(whole: Page, written: Written, name: str) -> None:
    figures = figures_of(written.metric(name))
    shown = article(whole, name)
    rows = shown.locator(".numbers tbody tr:has(data)").all()
    assert len(rows) == len(figures)
    for row, figure in zip(rows, figures, strict=True):
        texts = [cell.inner_text() for cell in row.locator("td").all()]
        percent = 100 if "%" in texts[0] else 1
        estimate, low, high = re.findall(NUMBER, f"{texts[0]} {texts[1]}")
        within = min(figure["high"], max(figure["low"], figure["estimate"]))
        tens = percent * (figure["high"] - figure["low"]) / 100
        assert abs(text_number(estimate) - percent * within) <= half_a_digit(estimate) + tens, (name, estimate, figure)
        for text, end, outwards in ((low, "low", -1), (high, "high", 1)):
            beyond = outwards * (Decimal(repr(text_number(text))) - percent * Decimal(repr(figure[end])))
            assert 0 <= beyond <= Decimal(2 * half_a_digit(text) + tens), (name, text, figure)
    charts = shown.locator(".charts > div:first-child svg.chart, .folded svg.chart")
    charts = charts.and_(shown.locator("svg.chart:not([aria-label^=Distribution]):not([aria-label^=Histogram])"))
    marks = charts.locator("[data-label=dot] circle, .bars rect, .bars path").all()
    labels = [mark.get_attribute("data-label") or "" for mark in marks]
    labeled = [re.findall(NUMBER, label.rpartition(": ")[2]) for label in labels]
    expected = [re.findall(NUMBER, " ".join(row.locator("td").all_inner_texts()[:2])) for row in rows]
    assert all(numbers in expected for numbers in labeled), (labeled, expected)
    assert labeled or not marks


def test_any_window_can_be_chosen_by_keyboard_and_all_of_them_together(browser: Browser, written: Written) -> None:
    with opened(browser, written.file) as view:
        shown = article(view.page, "os")
        shown.scroll_into_view_if_needed()
        unfold(shown)
        chooser = shown.get_by_label("Window", exact=True)
        chooser.wait_for()
        options = chooser.locator("option").all_inner_texts()
        assert options[:2] == ["all windows together", f"{day(OPEN_DAY)}, preliminary"]
        assert not any(day(MISSING_DAY) in option for option in options)
        assert shown.locator(".numbers .of-window").inner_text() == SHOWN
        chooser.focus()
        view.page.keyboard.press("ArrowDown")
        chosen = day(OPEN_DAY - 2)
        expect(shown.locator(".numbers .of-window")).to_have_text(chosen)
        table = shown.locator(".numbers tbody data")
        shares = [float(cell.get_attribute("value") or "nan") for cell in table.all()]
        for share, entry in zip(shares, listed(written.metric("os", chosen), "share"), strict=True):
            within = min(entry["high"], max(entry["low"], entry["estimate"]))
            assert abs(share - within) <= (entry["high"] - entry["low"]) / 100
        chooser.select_option("all windows together")
        pooled = next(entry for entry in written.report["pooled"] if entry["metric"] == "os")
        for cell, entry in zip(table.all(), listed(pooled, "share"), strict=True):
            value = float(cell.get_attribute("value") or "nan")
            assert abs(value - entry["estimate"]) <= (entry["high"] - entry["low"]) / 100
        assert view.complaints == []


def test_the_table_over_time_has_every_window_with_gaps_where_there_is_none(browser: Browser, written: Written) -> None:
    with opened(browser, written.file) as view:
        shown = article(view.page, "startup_ms")
        shown.scroll_into_view_if_needed()
        unfold(shown)
        shown.get_by_text("Numbers over time").click()
        shown.locator("details.lazy tbody tr").last.wait_for()
        rows = [row.locator("th, td").all_inner_texts() for row in shown.locator("details.lazy tbody tr").all()]
        assert [row[0].split(",")[0] for row in rows] == [day(number) for number in range(DAYS)]
        assert rows[MISSING_DAY][1:3] == ["no window", "none"]
        assert rows[OPEN_DAY][0].endswith("preliminary")
        for number, row in enumerate(rows):
            if number != MISSING_DAY:
                entry = written.metric("startup_ms", day(number))
                assert row[1] == f"{entry['reports']:,}"
                mean, unit = row[2].split("\N{NO-BREAK SPACE}")
                assert unit == "ms"
                assert abs(text_number(mean) - only(entry, "mean")["estimate"]) <= half_a_digit(mean)
        line = shown.locator("[data-label=line] path").get_attribute("d") or ""
        assert line.count("M") == 3, "broken by the day that is missing and by the poor one"
        assert POOR_DAY - MISSING_DAY == 2, "the day between them stands alone, and a band has no width there"
        assert shown.locator(".alone line").count() == 1


def test_the_histogram_has_the_bins_of_the_json(whole: Page, written: Written) -> None:
    bins = listed(written.metric("steps"), "bin")
    shown = article(whole, "steps")
    values = fold(shown, "Numbers of the histogram").locator("data").all()
    shares = [float(cell.get_attribute("value") or "nan") for cell in values[: len(bins)]]
    for share, entry in zip(shares, bins, strict=True):
        assert abs(share - entry["estimate"]) <= (entry["high"] - entry["low"]) / 100
    assert shown.locator("svg.chart[aria-label^=Histogram]").count() == 1


def test_days_of_use_have_a_bar_for_each_number_of_days_with_its_interval(whole: Page, written: Written) -> None:
    shares = listed(written.metric("used"), "share")
    chart = article(whole, "used").locator("svg.chart[aria-label^='Share of devices by days']")
    assert chart.count() == 1
    heights = [float(bar.get_attribute("height") or "nan") for bar in chart.locator(".bars rect").all()]
    assert len(heights) == len(shares) == 8
    shown = [min(max(share["estimate"], share["low"]), share["high"]) for share in shares]
    scale = max(heights) / max(shown)
    for height, estimate, share in zip(heights, shown, shares, strict=True):
        assert abs(height / scale - estimate) <= (share["high"] - share["low"]) / 50
    assert article(whole, "os").locator("svg.chart[aria-label^='Share of devices by days']").count() == 0


def test_the_means_of_groups_are_drawn_with_the_numbers_of_the_json(whole: Page, written: Written) -> None:
    shown = article(whole, "startup_by_os")
    assert shown.locator("svg.chart[aria-label^='Mean of startup_ms by os']").count() == 1
    assert shown.locator("[data-label=cell], table.joint").count() == 0
    known = listed(written.metric("startup_by_os"), "mean_within")
    rows = shown.locator("tbody[data-group='1'] data").all()
    for cell, mean in zip(rows, known, strict=True):
        assert abs(float(cell.get_attribute("value") or "nan") - mean["estimate"]) <= (mean["high"] - mean["low"]) / 100


@pytest.fixture(scope="module")
def of_numbers(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """A page of a number and a count with distributions, with ranges."""
    fields: dict[str, Field] = {"statistic": "distribution", "epsilon": 2}
    registry = registry_text(startup_ms=BOUNDED | fields, steps=COUNT | fields | {"max": 40})
    options = ("--with", "range=startup_ms:2:9,range=startup_ms:0:2")
    return write(tmp_path_factory.mktemp("numbers"), registry, tallies(Registry.parse(registry)), *options)


@pytest.fixture(scope="module")
def numbers(browser: Browser, of_numbers: Written) -> Iterator[Page]:
    """That page with everything drawn and unfolded, to be read only."""
    with opened(browser, of_numbers.file) as view:
        view.show_everything()
        yield view.page
        assert view.complaints == []


def fold(shown: Locator, summary: str) -> Locator:
    return shown.locator("details.lazy").filter(has_text=summary)


@pytest.mark.parametrize("name", ["startup_ms", "steps"])
def test_the_band_and_its_table_have_the_distribution_function_of_the_json(
    numbers: Page, of_numbers: Written, name: str
) -> None:
    band = listed(of_numbers.metric(name), "at_most")
    shown = article(numbers, name)
    chart = shown.locator("svg.chart[role=img][aria-label^='Distribution function']")
    assert "the numbers are in the details" in (chart.get_attribute("aria-label") or "")
    rows = fold(shown, "Numbers of the distribution function").locator("tbody tr").all()
    assert len(rows) == len(band)
    for row, entry in zip(rows, band, strict=True):
        assert float(row.locator("th").inner_text()) == entry["value"]
        numbers_shown = re.findall(NUMBER, " ".join(row.locator("td").all_inner_texts()))
        for text, key in zip(numbers_shown, ("estimate", "low", "high"), strict=True):
            tolerance = half_a_digit(text) + entry["high"] - entry["low"]
            assert abs(text_number(text) - 100 * entry[key]) <= tolerance


@pytest.mark.parametrize("name", ["startup_ms", "steps"])
def test_the_band_is_drawn_from_the_lower_end_before_to_the_upper_end_after(
    numbers: Page, of_numbers: Written, name: str
) -> None:
    band = listed(of_numbers.metric(name), "at_most")
    chart = article(numbers, name).locator("svg.chart[aria-label^='Distribution function']")
    heights = [float(dot.get_attribute("cy") or "nan") for dot in chart.locator("[data-label=dot] circle").all()]
    assert len(heights) == len(band)
    first, last = float(band[0]["estimate"]), float(band[-1]["estimate"])

    def height(share: float) -> float:
        return heights[0] + (heights[-1] - heights[0]) * (share - first) / (last - first)

    path = chart.locator(".band path").get_attribute("d") or ""
    drawn = [float(pair.split(",")[1]) for pair in re.split("[MLZ]", path) if pair]
    pairs = list(pairwise(band))
    # between neighboring counts the function keeps its value
    ends = [before if name == "steps" and after["value"] - before["value"] == 1 else after for before, after in pairs]
    highs = [height(end["high"]) for end in ends for _ in range(2)]
    lows = [height(before["low"]) for before, _ in pairs for _ in range(2)]
    assert drawn == pytest.approx([*highs, *lows[::-1]], abs=0.2)


def test_a_bin_of_rounded_answers_is_shown_without_a_lower_limit(numbers: Page, of_numbers: Written) -> None:
    number, count = article(numbers, "startup_ms"), article(numbers, "steps")
    assert {entry["low"] for entry in listed(of_numbers.metric("startup_ms"), "bin")} == {0}
    assert fold(number, "Numbers of the histogram").locator("thead th").all_inner_texts() == ["Bin", "Share", "At most"]
    assert fold(count, "Numbers of the histogram").locator("thead th").all_inner_texts() == ["Bin", "Share", "Interval"]


def test_ranges_are_figures_of_their_own(numbers: Page, of_numbers: Written) -> None:
    rows = article(numbers, "startup_ms").locator(".numbers tbody[data-group='2'] tr").all_inner_texts()
    ranges = listed(of_numbers.metric("startup_ms"), "range")
    assert rows[0] == "Share of devices within a range"
    assert [row.split("\t")[0] for row in rows[1:]] == ["from 2 to 9", "from 0 to 2"]
    for row, entry in zip(rows[1:], ranges, strict=True):
        estimate = re.findall(NUMBER, row.split("\t")[1])[0]
        assert (
            abs(text_number(estimate) - 100 * entry["estimate"])
            <= half_a_digit(estimate) + entry["high"] - entry["low"]
        )


def test_the_keyboard_unfolds_the_numbers_of_the_band(browser: Browser, of_numbers: Written) -> None:
    with opened(browser, of_numbers.file) as view:
        shown = article(view.page, "startup_ms")
        shown.scroll_into_view_if_needed()
        unfold(shown)
        folded = fold(shown, "Numbers of the distribution function")
        folded.locator("summary").focus()
        view.page.keyboard.press("Enter")
        expect(folded.locator("tbody tr").first).to_be_visible()
        view.page.keyboard.press("Tab")
        assert view.page.evaluate("document.activeElement.getAttribute('aria-label')").startswith(
            "Numbers of the distribution function"
        )


def test_an_accessibility_checker_finds_nothing_in_distributions(browser: Browser, of_numbers: Written) -> None:
    with opened(browser, of_numbers.file) as view:
        view.show_everything()
        results = Axe().run(view.page)
        assert results.violations_count == 0, results.generate_report()


STEPS = ("below 10%", "10 to 30%", "30 to 60%", "60% or more")


@pytest.fixture(scope="module")
def of_models(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """A model of which much was learned, and a check of one: a scale crossed with yes and no."""
    registry = registry_text(
        learned=MODEL | {"epsilon": 8},
        score=BOOLEAN | {"kind": "ordinal", "values": Toml(str(list(STEPS)))},
        mood=BOOLEAN | {"kind": "ordinal", "values": Toml('["bad", "good"]')},
        limited=BOOLEAN,
        check=CROSS | {"cross": Toml('["score", "limited"]'), "epsilon": 4},
        unsaid=CROSS | {"cross": Toml('["mood", "limited"]'), "epsilon": 4},
    )
    return write(tmp_path_factory.mktemp("models"), registry, tallies(Registry.parse(registry)), "--with", "pooled")


def path_ends(chart: Locator, selector: str) -> list[tuple[float, float]]:
    """Return the corners of a path of straight lines, in pixels."""
    path = chart.locator(selector).first.get_attribute("d") or ""
    return [(float(x), float(y)) for x, y in re.findall(r"[ML]?(-?[\d.]+),(-?[\d.]+)", path)]


def test_the_curve_of_a_model_is_that_of_normal_scores_and_lies_in_its_band(
    browser: Browser, of_models: Written
) -> None:
    auc = of_models.metric("learned")["learned"]["auc"]
    with opened(browser, of_models.file) as view:
        view.show_everything()
        chart = article(view.page, "learned").locator("svg.chart[aria-label^='ROC curve, if scores']")
        line = path_ends(chart, ".curve path")
        (left, bottom), (right, top) = line[0], line[-1]
        curve = [((x - left) / (right - left), (y - bottom) / (top - bottom)) for x, y in line]
        area = sum((after[0] - before[0]) * (after[1] + before[1]) / 2 for before, after in pairwise(curve))
        assert area == pytest.approx(auc["estimate"], abs=0.005)
        normal, apart = NormalDist(), 2**0.5 * NormalDist().inv_cdf(auc["estimate"])
        for no, yes in curve[1:-1]:
            assert yes == pytest.approx(normal.cdf(normal.inv_cdf(no) + apart), abs=0.02)
        band = path_ends(chart, ".band path")
        assert len(band) == 2 * len(line)
        for (x, y), (_, edge), (_, opposite) in zip(line, band, reversed(band), strict=False):
            assert min(edge, opposite) - 0.01 <= y <= max(edge, opposite) + 0.01, x
        assert view.complaints == []
        article(view.page, "learned").locator("select").first.select_option("2026-11-07")
        assert chart.count() == 0, "too little was learned on the poor day"


def test_the_check_of_a_model_is_a_curve_of_steps_and_a_calibration(browser: Browser, of_models: Written) -> None:
    check = of_models.metric("check")
    curve_points = {tuple(point["value"]): point["estimate"] for point in listed(check, "share_from")}
    steps = [step for said, step in curve_points if said]
    with opened(browser, of_models.file, PHONE) as view:
        view.show_everything()
        shown = article(view.page, "check")
        curve = shown.locator("svg.chart[aria-label^='ROC curve, by steps']")
        titles = [dot.get_attribute("data-label") or "" for dot in curve.locator("[data-label=dot] circle").all()]
        assert len(titles) == len(steps) == len(STEPS) - 1
        for title, step in zip(reversed(titles), steps, strict=True):
            yes, no = (float(re.findall(NUMBER, line.rpartition(": ")[2])[0]) for line in title.split("\n"))
            assert (no, yes) == pytest.approx(tuple(100 * curve_points[said, step] for said in (False, True)), abs=0.06)
        chart = shown.locator("svg.chart[aria-label^='yes at each step of score']")
        dots = [dot.get_attribute("data-label") or "" for dot in chart.locator("[data-label=dot] circle").all()]
        percentages = [float(re.findall(NUMBER, dot.rpartition(": ")[2])[0]) for dot in dots]
        assert percentages == pytest.approx(
            [100 * share["estimate"] for share in listed(check, "share_within") if share["value"][1] is True], abs=0.06
        )
        heights = [float(bar.get_attribute("height") or "nan") for bar in chart.locator(".promised rect").all()]
        assert [height / sum(heights) for height in heights] == pytest.approx([0.1, 0.2, 0.3, 0.4], abs=0.01)
        assert "the range in the name of the step" in shown.inner_text()
        assert article(view.page, "unsaid").locator(".promised rect").count() == 0
        assert view.page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
        assert view.complaints == []


def test_an_accessibility_checker_finds_nothing_in_models(browser: Browser, of_models: Written) -> None:
    with opened(browser, of_models.file) as view:
        view.show_everything()
        results = Axe().run(view.page)
        assert results.violations_count == 0, results.generate_report()


def test_the_heat_map_and_its_table_have_the_shares_within_groups(whole: Page, written: Written) -> None:
    shares = listed(written.metric("both"), "share_within")
    shown = article(whole, "both")
    cells = shown.locator("[data-label=cell] rect").all()
    values = shown.locator(".joint data").all()
    assert len(cells) == len(shares)
    for cell, value, entry in zip(cells, values, shares, strict=True):
        share = float(value.get_attribute("value") or "nan")
        assert abs(share - entry["estimate"]) <= (entry["high"] - entry["low"]) / 100
        text = re.findall(NUMBER, (cell.get_attribute("data-label") or "").rpartition(": ")[2])[0]
        assert abs(text_number(text) - 100 * share) <= half_a_digit(text)
    assert "chi-square" in shown.inner_text()


def test_the_table_of_differences_has_those_of_the_json_and_says_what_they_mean(whole: Page, written: Written) -> None:
    differences = {abs(entry["estimate"]): entry for entry in listed(written.metric("both"), "difference")}
    lines = article(whole, "both").locator("table.differences tbody tr").all()
    assert len(lines) == len(differences)
    for line in lines:
        value = float(line.locator("data").get_attribute("value") or "nan")
        assert value in differences
        is_apart = not differences[value]["low"] <= 0 <= differences[value]["high"]
        words = line.locator("td").nth(2).inner_text()
        assert words in ({"differ", "may differ"} if is_apart else {"no difference seen"})


def test_a_tip_says_what_is_under_the_pointer(browser: Browser, written: Written) -> None:
    with opened(browser, written.file) as view:
        shown = article(view.page, "dark_mode")
        shown.scroll_into_view_if_needed()
        dot = shown.locator("[data-label=dot] circle").last
        dot.scroll_into_view_if_needed()
        dot.hover()
        tip = shown.locator("[aria-label=tip] text").last
        tip.wait_for()
        assert re.search(rf"{day(OPEN_DAY)}: {NUMBER}%", tip.text_content() or "")


def test_the_colors_are_the_systems_until_others_are_chosen(browser: Browser, written: Written) -> None:
    def background(page: Page) -> str:
        color: str = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return color

    with opened(browser, written.file, scheme="light") as view:
        light = background(view.page)
        view.page.get_by_label("Color scheme").select_option("dark")
        dark = background(view.page)
    with opened(browser, written.file, scheme="dark") as view:
        assert background(view.page) == dark != light
        view.page.get_by_label("Color scheme").select_option("light")
        assert background(view.page) == light


def test_metrics_are_found_and_ordered(browser: Browser, written: Written) -> None:
    with opened(browser, written.file) as view:
        page = view.page
        page.get_by_label("Find a question").fill("dark")
        assert page.locator("article:visible").count() == page.locator("#overview-rows li:visible").count() == 1
        assert page.locator("#match-count").inner_text() == f"1 of {len(every_kind.REGISTRY.metrics)} questions"
        page.get_by_label("Find a question").fill("")
        page.get_by_label("Order").select_option("name")
        assert page.locator("article h3").all_inner_texts() == sorted(every_kind.REGISTRY.metrics)
        page.get_by_label("Order").select_option("asked")
        assert page.locator("#overview-rows a").all_inner_texts() == list(every_kind.REGISTRY.metrics)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_accessibility_checker_finds_nothing(browser: Browser, written: Written, scheme: Scheme) -> None:
    with opened(browser, written.file, scheme=scheme) as view:
        view.show_everything()
        results = Axe().run(view.page)
        assert results.response["passes"], "nothing was checked"
        assert results.violations_count == 0, results.generate_report()


def test_the_keyboard_reaches_the_metrics_at_once_and_sees_where_it_is(browser: Browser, written: Written) -> None:
    with opened(browser, written.file) as view:
        page = view.page
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the questions"
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "questions"
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.closest('article').id") == "q-dark_mode"


def test_print_is_black_on_white_with_every_chart_and_fold_open(browser: Browser, written: Written) -> None:
    with opened(browser, written.file, scheme="dark") as view:
        view.page.emulate_media(media="print")
        view.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        assert view.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert not view.page.locator("#theme").is_visible()
        assert view.page.locator("details:not(.lazy):not([open])").count() == 0
        assert article(view.page, "both").locator("svg.chart").count() == 3
        assert view.page.pdf().startswith(b"%PDF")
        view.page.evaluate("window.dispatchEvent(new Event('afterprint'))")
        assert view.page.locator("details:not(.lazy):not([open])").count() > 0


def test_without_scripts_answers_and_tables_are_there(browser: Browser, written: Written) -> None:
    with opened(browser, written.file, scripts=False) as view:
        assert (
            article(view.page, "os").locator(".numbers tbody tr").count()
            == len(listed(written.metric("os"), "share")) + 1
        )
        assert not view.page.locator("#filters").is_visible()
        assert "say yes" in article(view.page, "dark_mode").inner_text()


HOSTILE = (
    "</script><script>window.taken = 1</script>",
    "<img src=x onerror='window.taken = 2'>",
    "\"' onmouseover='window.taken = 3' x='",
    "{{ 7 * 7 }} {% raw %} \u2028 \u2029 &lt; &amp;",
    "\u202ethgir ot tfel\u202c \U0001f9ea\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "--><!--<script>",
    "a long one " * 900,
)


def hostile_registry() -> Registry:
    """Return questions with values that no registry file could hold; they bypass the reader."""
    plain = Registry.parse(registry_text(dark_mode=BOOLEAN, os=CATEGORY | {"values": list("abcdefg")}, both=CROSS))
    metrics = dict(plain.metrics)
    metrics["os"] = replace(metrics["os"], kind=Category(HOSTILE), purpose="".join(HOSTILE), owner=HOSTILE[1])
    metrics["both"] = replace(metrics["both"], kind=Cross(Boolean(), Category(HOSTILE), names=(HOSTILE[0], HOSTILE[1])))
    return replace(plain, app=HOSTILE[0], owner=HOSTILE[2], metrics=metrics)


def test_hostile_names_are_nothing_but_text(browser: Browser, tmp_path: Path) -> None:
    registry = hostile_registry()
    report = make_report(registry, decode(tallies(registry, range(3)).splitlines()))
    file = tmp_path / "report.html"
    file.write_text(as_html(report, registry), encoding="utf-8")
    with opened(browser, file, PHONE) as view:
        view.show_everything()
        shown = article(view.page, "os")
        rows = shown.locator(".numbers tbody tr:has(data) th").all_text_contents()
        assert rows[:-1] == list(HOSTILE[:-1])
        assert rows[-1] == HOSTILE[-1][: len(rows[-1]) - 1] + "…"
        assert article(view.page, "both").locator("svg.chart").count() == 2 + 1
        assert view.page.evaluate("window.taken") is None
        assert view.page.evaluate("document.images.length") == 0
        assert view.page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
        assert view.complaints == []
        assert view.requests == [file.as_uri()]


def test_few_windows_are_named_by_their_days_and_not_by_hours(browser: Browser, tmp_path: Path) -> None:
    registry = Registry.parse(registry_text(dark_mode=BOOLEAN))
    report = make_report(registry, decode(tallies(registry, range(3)).splitlines()))
    file = tmp_path / "report.html"
    file.write_text(as_html(report, registry), encoding="utf-8")
    with opened(browser, file) as view:
        view.show_everything()
        chart = article(view.page, "dark_mode").locator("svg.chart[aria-label*=windows]")
        ticks = chart.locator("[data-label='x-axis tick label'] text").all_text_contents()
    assert [re.findall(r"\d+", tick)[0] for tick in ticks] == [str(int(day(number)[-2:])) for number in range(3)]
    assert not any("AM" in tick or "PM" in tick for tick in ticks)


def test_the_policy_refuses_scripts_styles_and_requests_that_are_not_the_pages_own(
    browser: Browser, written: Written
) -> None:
    inject = """(code) => {
        const script = document.createElement("script"); script.textContent = code; document.body.append(script);
        const style = document.createElement("style"); style.textContent = "body { color: red }";
        const image = new Image(); image.src = "http://127.0.0.1:9/x"; document.body.append(style, image);
    }"""
    with opened(browser, written.file) as view:
        view.page.evaluate(inject, "window.taken = 1")
        view.page.wait_for_function("() => document.images.length === 1")
        assert view.page.evaluate("window.taken") is None
        assert view.page.evaluate("getComputedStyle(document.body).color") != "rgb(255, 0, 0)"
        assert sum("Content Security Policy" in complaint for complaint in view.complaints) == 3, view.complaints


@pytest.mark.parametrize("lines", [b"", b"one report", b"none that fits"])
def test_a_page_without_much_says_so(browser: Browser, tmp_path: Path, lines: bytes) -> None:
    metric = every_kind.REGISTRY.metric("dark_mode")
    line = {"metric": "dark_mode", "edition": metric.edition, "window": SHOWN, "closed": True, "reports": 1}
    written, words, status = {
        b"": (b"", "no closed window has a tally", 3),
        b"one report": (
            json.dumps(line | {"counts": [0, 1]}).encode(),
            "Wide intervals: with 1 report",
            0,
        ),
        b"none that fits": (
            json.dumps(line | {"counts": [0, 1], "edition": "0" * 12}).encode(),
            "every tally was left out",
            1,
        ),
    }[lines]
    page = write(tmp_path, every_kind.REGISTRY_TEXT, written, status=status)
    with opened(browser, page.file) as view:
        view.show_everything()
        assert words in view.page.inner_text("main")
        assert "No tally may be shown yet." in article(view.page, "os").inner_text()
        assert view.complaints == []
