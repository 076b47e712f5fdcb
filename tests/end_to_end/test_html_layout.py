"""The layout of the HTML report in a real browser: nothing is cut, runs together or disappears, on
a phone and on paper either; and scripts show the numbers that the file holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from msgspec.structs import replace
from playwright.sync_api import Browser, Locator, Page

from client_sdk.protocol import Registry
from estimator.render.html.page import as_html, filled, page_of
from estimator.render.html.standing import for_the_public, on_all_windows, standing_of
from estimator.report.report import make_report, over_windows
from estimator.results.estimate import Figures
from estimator.results.group import SHARES, FigureGroup
from estimator.results.report import Selection
from estimator.results.standing import ArchivedWindow
from estimator.tallies import decode
from tests.support.devices.definitions import BOOLEAN, CATEGORY, COUNT, CROSS, NUMBER, registry_text
from tests.support.estimates.pages import DAYS, day, tallies
from tests.support.services.browser import PHONE, chromium, opened

pytestmark = pytest.mark.system

MANY = [f"answer {number}" for number in range(9)]
REGISTRY = Registry.parse(
    registry_text(
        dark_mode=BOOLEAN,
        os=CATEGORY | {"values": MANY},
        startup_ms=NUMBER | {"high": 20_000, "unit": "ms"},
        steps=COUNT | {"max": 40, "statistic": "quantiles", "epsilon": 4, "unit": "steps"},
        both=CROSS,
    )
)
NARROW = (375, 800)
PAPER = (718, 1000)
"""The pixels between the margins of A4."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lines = decode(tallies(REGISTRY).splitlines())
    report = make_report(REGISTRY, lines, Selection(preliminary=True))
    written = tmp_path_factory.mktemp("layout") / "report.html"
    written.write_text(as_html(report, REGISTRY), encoding="utf-8")
    return written


@pytest.fixture(scope="module")
def phone(browser: Browser, file: Path) -> Iterator[Page]:
    """The page on a phone with everything drawn and unfolded, to be read only."""
    with opened(browser, file, NARROW) as view:
        view.show_everything()
        yield view.page
        assert view.complaints == []


def boxes(texts: Locator) -> list[tuple[str, dict[str, float]]]:
    shapes: list[dict[str, Any]] = texts.evaluate_all(
        "(all) => all.map((each) => ({text: each.textContent, ...each.getBoundingClientRect().toJSON()}))"
    )
    return [(shape.pop("text"), shape) for shape in shapes]


def overlap(first: dict[str, float], second: dict[str, float]) -> bool:
    return all(
        first[low] < second[high] and second[low] < first[high] for low, high in (("left", "right"), ("top", "bottom"))
    )


TOO_WIDE = """(tables) => tables.filter((table) => table.getBoundingClientRect().right > innerWidth)
    .map((table) => table.outerHTML)"""


def test_no_table_is_cut_on_a_phone(phone: Page) -> None:
    assert phone.locator("table.changes tbody tr").count() > 3
    assert phone.locator("table").evaluate_all(TOO_WIDE) == []
    cell = phone.locator("#q-os table.changes td").last
    assert cell.evaluate("(cell) => getComputedStyle(cell, '::before').content") == '"p corrected"'


def test_no_table_is_cut_on_paper(browser: Browser, file: Path) -> None:
    with opened(browser, file, PAPER) as view:
        view.page.emulate_media(media="print")
        view.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        assert view.page.locator("table").evaluate_all(TOO_WIDE) == []
        charts = view.page.locator("svg.chart").evaluate_all(
            "(charts) => charts.map((chart) => [chart.clientWidth, Number(chart.getAttribute('width'))])"
        )
        assert len(charts) > len(REGISTRY.metrics)
        assert all(shown == drawn <= PAPER[0] for shown, drawn in charts), "drawn for paper, not shrunk to it"


def test_the_labels_of_no_chart_run_together(phone: Page) -> None:
    charts = phone.locator("svg.chart").all()
    assert len(charts) > len(REGISTRY.metrics)
    for chart in charts:
        labels = boxes(chart.locator("text"))
        assert labels
        for (name, first), (other, second) in combinations(labels, 2):
            assert not overlap(first, second), (chart.get_attribute("aria-label"), name, other)


def test_every_window_with_reports_has_a_mark_within_the_chart_over_time(phone: Page) -> None:
    beyond = 0
    for chart in phone.locator("svg.chart[aria-label*=windows]").all():
        marks = boxes(chart.locator("[data-label=dot] circle, .beyond path"))
        assert len(marks) == DAYS - 1, "all but the day that is missing"
        frame = chart.bounding_box()
        assert frame is not None
        for _, mark in marks:
            assert frame["x"] <= mark["left"] <= mark["right"] <= frame["x"] + frame["width"]
            assert frame["y"] <= mark["top"] <= mark["bottom"] <= frame["y"] + frame["height"]
        beyond += chart.locator(".beyond path").count()
    assert beyond, "a day of thirty reports lies far off"
    assert phone.get_by_text("outside the chart").count() > 0


def test_a_card_fits_one_and_a_half_screens_of_a_phone(browser: Browser, file: Path) -> None:
    with opened(browser, file, PHONE) as view:
        view.draw_everything()
        cards = view.page.locator("article.card")
        assert cards.count() == len(REGISTRY.metrics)
        heights = {name: box["height"] for name, box in boxes(cards)}
        assert max(heights.values()) <= 1.5 * PHONE[1], heights


def test_a_phone_keeps_the_small_charts_and_breaks_no_name(browser: Browser, file: Path) -> None:
    with opened(browser, file, (320, 700)) as view:
        sparks = view.page.locator(".overview .spark svg")
        assert sparks.count() > 2
        assert all(spark.is_visible() for spark in sparks.all())
        names = view.page.locator(".overview a, h3")
        lines = names.evaluate_all("(all) => all.map((name) => name.querySelector('bdi').getClientRects().length)")
        assert set(lines) == {1}


def test_no_label_reaches_beyond_its_chart(phone: Page) -> None:
    for chart in phone.locator("svg.chart").all():
        frame = chart.bounding_box()
        assert frame is not None
        for text, label in boxes(chart.locator("text")):
            assert frame["x"] - 1 <= label["left"], text
            assert label["right"] <= frame["x"] + frame["width"] + 1, text


def test_the_likeliest_values_are_in_the_details_alone(phone: Page) -> None:
    card = phone.locator("#q-dark_mode")
    assert "likeliest" not in card.locator(".charts").inner_text()
    assert card.locator(".numbers th").all_inner_texts()[:3] == ["Estimate", "95% interval", "Likeliest"]


def test_numbers_are_aligned_to_the_right(browser: Browser, file: Path) -> None:
    with opened(browser, file) as view:
        view.show_everything()
        cells = view.page.locator(".numbers td:has(data), table.changes td:has(data), .lazy td:has(data)")
        assert cells.count() > 20
        aligned = cells.evaluate_all("(all) => all.map((cell) => getComputedStyle(cell).textAlign)")
        assert set(aligned) == {"right"}


def texts(browser: Browser, file: Path, *, scripts: bool) -> list[str]:
    with opened(browser, file, scripts=scripts) as view:
        if scripts:
            view.show_everything()
        cells = view.page.locator(".numbers tbody td, .joint tbody td").all_text_contents()
        return [re.sub(r"[ \n]+", " ", cell).strip() for cell in cells]


def test_scripts_show_the_numbers_of_the_file(browser: Browser, file: Path) -> None:
    assert texts(browser, file, scripts=True) == texts(browser, file, scripts=False)


def test_the_ends_of_an_interval_are_rounded_outwards_once(browser: Browser, tmp_path: Path) -> None:
    registry = Registry.parse(registry_text(dark_mode=BOOLEAN))
    report = make_report(registry, decode(tallies(registry, range(1)).splitlines()))
    (estimated,) = report.metrics
    ends = np.array([0.28504, 0.28504]), np.array([0.67496, 0.67496])
    half = np.array([0.5, 0.5])
    shares = Figures((False, True), *ends, half, half / 5, half, half)
    changed = replace(estimated, groups=(FigureGroup("share", shares, "", SHARES),))
    highlights = (replace(report.highlights[0], shown=changed),)
    written = tmp_path / "report.html"
    written.write_text(as_html(replace(report, metrics=(changed,), highlights=highlights), registry), encoding="utf-8")
    assert texts(browser, written, scripts=True)[1] == "28 to 68%"
    with opened(browser, written) as view:
        view.show_everything()
        assert "95% interval: 28 to 68%" in view.page.locator("#q-dark_mode .words").inner_text()
        bar = view.page.locator("#q-dark_mode .bars rect")
        assert bar.get_attribute("data-label") == "yes: 50% (28 to 68%)"


@pytest.mark.parametrize("audience", ["team", "public"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_of_all_windows_fits_a_phone_and_has_no_findings(
    browser: Browser, tmp_path: Path, scheme: Literal["light", "dark"], audience: str
) -> None:
    of_windows = make_report(REGISTRY, decode(tallies(REGISTRY).splitlines())).metrics
    page = page_of(over_windows(of_windows, REGISTRY), REGISTRY)
    files = ("report.csv", "report.html", "report.json", "report.parquet")
    windows = [ArchivedWindow(day(number), "day", 5, 20_000, 1, files) for number in range(DAYS)]
    windows.append(ArchivedWindow("2026-11-01", "day", None, None, None, files))
    standing = standing_of(page, windows)
    written = tmp_path / "index.html"
    is_public = audience == "public"
    shown = for_the_public(page, standing, REGISTRY) if is_public else on_all_windows(page, standing)
    text = filled(f"{'publication' if is_public else 'standing'}.html.jinja", page, **shown)
    written.write_text(text, encoding="utf-8")
    with opened(browser, written, NARROW, scheme) as view:
        view.show_everything()
        of_all = view.page.locator("section:has(> #windows, > #asked, > #devices) table")
        assert of_all.count() > 1
        assert of_all.evaluate_all(TOO_WIDE) == []
        links = view.page.locator("a[href^=metrics]" if is_public else ".files a")
        assert links.count() == (len(REGISTRY.metrics) if is_public else len(files) * len(windows))
        results = Axe().run(view.page)
        assert results.violations_count == 0, results.generate_report()
        assert view.complaints == []


def test_no_number_is_broken_on_paper(browser: Browser, file: Path) -> None:
    with opened(browser, file, PAPER) as view:
        view.page.emulate_media(media="print")
        view.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        data = view.page.locator("table.differences data")
        assert data.count() > 3
        assert {data.nth(place).evaluate("(number) => number.getClientRects().length") for place in range(3)} == {1}
