"""What the page says around its figures: titles, blanks, columns and groups that say something."""

from __future__ import annotations

import dataclasses
import re
from datetime import UTC, datetime
from functools import cache

import pytest
from msgspec.structs import replace

from client_sdk.protocol import Registry
from estimator.render.html.chart_data import tracks
from estimator.render.html.metric_view import sparkline
from estimator.render.html.page import FEW_METRICS, as_html, page_of
from estimator.render.html.wording import PHRASES, estimate_text, interval_text, likeliest_text
from estimator.render.rounding import PERCENT, Unit
from estimator.report.report import make_report
from estimator.results.estimate import Estimate
from estimator.results.metric import MetricEstimate
from estimator.results.report import EstimateReport, Selection
from estimator.results.statistic import STATISTICS
from estimator.tallies import decode
from tests.support.devices.definitions import BOOLEAN, CATEGORY, COUNT, CROSS, SET, registry_text
from tests.support.estimates.pages import DAYS, OPEN_DAY, tallies

REGISTRY = Registry.parse(
    registry_text(dark_mode=BOOLEAN, languages=SET, steps=COUNT | {"max": 40, "statistic": "quantiles", "epsilon": 4})
)


@cache
def report() -> EstimateReport:
    lines = tallies(REGISTRY, range(OPEN_DAY - 1, DAYS)).splitlines()
    estimated = make_report(REGISTRY, decode(lines), Selection(preliminary=True))
    return replace(estimated, snapshot_at=datetime(2026, 11, 10, 9, 30, tzinfo=UTC))


@cache
def page() -> str:
    return as_html(report(), REGISTRY)


def test_the_page_gives_the_reason_for_revealing_more_than_the_limits_allow() -> None:
    accepted = dataclasses.replace(REGISTRY, budget=REGISTRY.budget._replace(accept="A study <with> consent."))
    assert "The team gives this reason: <bdi>A study &lt;with&gt; consent.</bdi>" in as_html(report(), accepted)
    plain = dataclasses.replace(REGISTRY, budget=REGISTRY.budget._replace(accept=""))
    assert "The team gives this reason" not in as_html(report(), plain)


def article(name: str) -> str:
    return page().partition(f' id="q-{name}"')[2].partition("</article>")[0]


def test_a_blank_follows_every_sentence() -> None:
    text = re.sub(r"<(script|style|pre)\b.*?</\1>", "", page(), flags=re.DOTALL)
    text = re.sub(r"</?(?:bdi|strong|em|code|span|b)\b[^>]*>", "", text)  # these stand within a line
    assert re.findall(r".{30}[.!?:][A-Z“].{10}", re.sub(r"<[^>]*>", "\n", text)) == []


def test_the_titles_say_what_is_below_them() -> None:
    assert "<title>acme: telemetry report</title>" in page()
    assert "<bdi>acme</bdi> <span>telemetry report</span></h1>" in page()


def test_a_sentence_is_set_from_left_to_right_whatever_the_answers_are() -> None:
    registry = Registry.parse(registry_text(greeting=CATEGORY | {"values": ["שלום", "مرحبا"], "purpose": "מה?"}))
    estimated = make_report(registry, decode(tallies(registry, range(3)).splitlines()))
    shown = as_html(estimated, registry)
    assert re.search(
        r'<p class="headline"><bdi dir="ltr"><strong>\d+%</strong> “(שלום|مرحبا)”, the most common</bdi>', shown
    )
    assert "<bdi>מה?</bdi>" in shown


def test_a_column_stands_where_it_has_anything_to_say() -> None:
    only_sets = Registry.parse(registry_text(languages=SET))
    report_of_sets = make_report(only_sets, decode(tallies(only_sets, range(2)).splitlines()))

    def without_mean(estimated: MetricEstimate) -> MetricEstimate:
        return replace(estimated, groups=tuple(group for group in estimated.groups if not group.about.is_mean))

    without_means = replace(
        report_of_sets,
        highlights=tuple(
            replace(each, shown=without_mean(each.shown), pooled=None) for each in report_of_sets.highlights
        ),
        metrics=tuple(map(without_mean, report_of_sets.metrics)),
    )
    assert "Likeliest" not in as_html(without_means, only_sets)
    assert '<th scope="col" class="number">Likeliest</th>' in article("dark_mode")


def test_a_group_has_no_title_that_repeats_its_only_label() -> None:
    assert re.findall(r'rowgroup"[^>]*>([^<]*)', article("steps")) == ["Quantiles"]
    assert re.findall(r'rowgroup"[^>]*>([^<]*)', article("languages")) == ["Share of devices"]


@pytest.mark.parametrize("unit", [PERCENT, Unit(0, "ms", "ms")])
def test_the_texts_of_tracks_are_those_of_the_table(unit: Unit) -> None:
    figures = [Estimate(0.5, None, low / 1e5, 0.67496 + low / 1e6, 0.51) for low in range(38_000, 39_000, 7)]
    (texts,) = tracks([figures], unit).texts
    for figure, text in zip(figures, texts, strict=True):
        assert text is not None
        value, low, high, likeliest = text.split()
        assert f"{value}{unit.suffix}" == estimate_text(figure, unit)
        assert f"{low} to {high}{unit.suffix}" == interval_text(figure, unit)
        assert f"{likeliest}{unit.suffix}" == likeliest_text(figure, unit)


def test_a_spark_has_its_intervals() -> None:
    spark = sparkline([Estimate(0.5, 0.1, 0.4, 0.61), Estimate(0.52, 0.1, 0.42, 0.59)])
    assert spark is not None
    heights = [float(corner) for corner in re.findall(r" ([\d.]+)", spark.band)]
    assert (min(heights), max(heights)) == (2, 26), "the intervals fill the chart"
    lines = [float(corner) for corner in re.findall(r" ([\d.]+)", spark.line)]
    assert 10 < min(lines) <= max(lines) < 20, "a move within the intervals is no crash"
    assert '<path class="band"' in page()


def test_every_answer_has_a_headline() -> None:
    answering = {name for name, about in STATISTICS.items() if about.headline}
    assert answering == PHRASES.keys()


def test_a_card_has_the_title_in_place_of_the_name_and_the_name_in_its_details() -> None:
    titled = Registry.parse(registry_text(dark_mode=BOOLEAN | {"title": "Dark <theme>"}, os=CATEGORY, both=CROSS))
    shown = as_html(make_report(titled, decode(tallies(titled, range(2)).splitlines())), titled)
    assert '<h3 id="h-dark_mode"><bdi>Dark &lt;theme&gt;</bdi></h3>' in shown
    assert '<a href="#q-dark_mode"><bdi>Dark &lt;theme&gt;</bdi></a>' in shown
    assert "<dt>Name</dt><dd><bdi>dark_mode</bdi></dd>" in shown
    assert '"names":["Dark \\u003ctheme>","os"]' in shown, "of the charts of a pair, too"


def test_the_overview_and_the_card_say_the_same_of_a_change() -> None:
    page = page_of(report(), REGISTRY)
    for metric in page.metrics:
        brief, sentence = metric.verdict.brief, metric.verdict.sentence
        assert all(word in sentence.lower() for word in brief.lower().replace(":", "").split())


def test_few_metrics_need_no_search() -> None:
    assert 'id="filter"' not in page()
    names = [f"metric_{number}" for number in range(FEW_METRICS + 1)]
    many = Registry.parse(registry_text(**dict.fromkeys(names, BOOLEAN)))
    assert 'id="filter"' in as_html(make_report(many, []), many)
