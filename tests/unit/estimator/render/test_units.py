"""A unit that the registry names stands beside every number that has it, and beside no share."""

from __future__ import annotations

import re
from functools import cache

from client_sdk.protocol import Registry
from estimator.formats.tables import rows_of
from estimator.render import FORMATS
from estimator.render.html.page import as_html
from estimator.render.text.report import as_table
from estimator.render.text.summary import as_summary
from estimator.render.words import answer_of
from estimator.report.report import make_report
from estimator.results.report import EstimateReport, Request, Selection
from estimator.tallies import decode
from tests.support.devices.definitions import BOOLEAN, CATEGORY, COUNT, NUMBER, metric_of, mistakes, registry_text
from tests.support.estimates import every_kind
from tests.support.estimates.tallies import tally

UNBROKEN = "\N{NO-BREAK SPACE}"
NAMED = ("startup_ms", "steps")


@cache
def report_of() -> EstimateReport:
    lines = [line for line in every_kind.tallies().splitlines(keepends=True) if any(n.encode() in line for n in NAMED)]
    return make_report(every_kind.REGISTRY, decode(lines), Selection(preliminary=True), Request(pool=True))


def test_the_unit_is_no_part_of_the_edition() -> None:
    assert metric_of(NUMBER).edition == metric_of(NUMBER, unit="ms").edition == metric_of(NUMBER, unit="s").edition
    assert metric_of(NUMBER, unit="open windows").unit == "open windows"
    assert metric_of(COUNT, unit="°C").unit == "°C"


def test_a_unit_is_refused_where_nothing_has_it_or_where_it_is_no_short_text() -> None:
    for fields in (BOOLEAN, CATEGORY):
        assert mistakes(m=fields | {"unit": "ms"}) == {"metric.m.unit": "is only for a number or a count; remove it"}
    too_long = {"metric.m.unit": "must be a string of 1 to 16 printable characters"}
    for unit in ("seventeen letters", "", "a\nb", 1):
        assert mistakes(m=NUMBER | {"unit": unit}) == too_long


def test_the_terminal_names_the_unit_of_every_number() -> None:
    shown = as_table(report_of())
    assert "startup_ms, counted up to 9: number, ms\n" in shown
    assert re.search(r"  mean .* ms ± ", shown)
    assert "steps, counted up to 40: count, steps\n" in shown
    assert re.search(r"  variance .* steps\N{SUPERSCRIPT TWO}", shown)
    assert re.search(r"  median .* steps", shown)


def test_the_page_shows_the_unit_behind_numbers() -> None:
    page = as_html(report_of(), every_kind.REGISTRY)
    assert f"{UNBROKEN}ms" in page
    assert f"{UNBROKEN}steps" in page
    assert "number, ms, asked once a day" in page


def test_a_sentence_names_the_unit() -> None:
    estimated = next(each for each in report_of().metrics if each.metric == "startup_ms" and each.reports)
    assert f"{UNBROKEN}ms" in answer_of(estimated)


def test_rows_name_the_unit_of_numbers_and_none_of_shares() -> None:
    units: dict[str, set[str | None]] = {}
    for row in rows_of(report_of()):
        units.setdefault(f"{row.metric} {row.statistic}", set()).add(row.unit)
    assert units["startup_ms mean"] == units["startup_ms pooled_mean"] == units["startup_ms change"] == {"ms"}
    assert units["startup_ms sum"] == {"ms"}
    assert units["steps quantile"] == {"steps"}
    assert units["steps variance"] == {"steps\N{SUPERSCRIPT TWO}"}
    assert units["steps at_most"] == {None}


def test_json_names_the_unit_of_a_metric() -> None:
    assert {estimated.metric: estimated.unit for estimated in report_of().metrics} == {
        "startup_ms": "ms",
        "steps": "steps",
    }
    assert '"unit": "ms"' in FORMATS["json"](report_of())


def test_no_form_shows_a_number_past_the_range_of_its_metric() -> None:
    registry = Registry.parse(registry_text(steps=COUNT | {"max": 999_999, "unit": "steps"}))
    metric = registry.metric("steps")
    counts = [0] * metric.channel.symbols
    counts[0], counts[-1] = 2, 3
    report = make_report(registry, decode([tally(metric, counts)]), Selection(), Request())
    mean = report.metrics[0].mean
    assert mean is not None
    assert mean.high == 999_999
    texts = [answer_of(report.metrics[0]), as_summary(report), as_table(report), as_html(report, registry)]
    for text in texts:
        assert "999,999" in text or "999999" in text
        assert "to 1,000,000" not in text
        assert "1e+06" not in text
