"""In every form that people read, a shown interval contains the exact one, and the shown estimate
lies in it.
"""

from __future__ import annotations

import contextlib
import csv
import importlib.util
import io
import json
import re
from collections.abc import Iterator
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from client_sdk.protocol import Registry
from estimator.formats.json_documents import as_json, builtins_of
from estimator.formats.tables import as_csv
from estimator.rehearsal.population import Truths
from estimator.rehearsal.rehearsal import Rehearsal, Rehearsed
from estimator.render.html.chart_data import tracks
from estimator.render.html.metric_view import sparkline
from estimator.render.html.page import as_html
from estimator.render.rounding import MINUS, PERCENT, Unit, number
from estimator.render.text.rehearsal import rehearsal_as_table
from estimator.render.text.report import as_table
from estimator.render.text.summary import as_summary
from estimator.render.words import answer_of
from estimator.report.report import make_report
from estimator.results.estimate import Estimate, Figures
from estimator.results.group import SHARES, FigureGroup, FigureKey
from estimator.results.report import EstimateReport
from estimator.shown_report import ShownReport
from estimator.tallies import decode
from tests.support.devices.definitions import BOOLEAN, NUMBER, registry_text
from tests.support.estimates.documents import listed
from tests.support.estimates.tallies import tally

SPEC = importlib.util.spec_from_file_location("demo", Path(__file__).parents[4] / "examples" / "health" / "demo.py")
assert SPEC is not None
assert SPEC.loader is not None
DEMO = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(DEMO)

REGISTRY = Registry.parse(registry_text(dark_mode=BOOLEAN, startup_ms=NUMBER | {"high": 2000}))
LEAST, MOST = 0.0, 2000.0

NUMBER_TEXT = rf"[{MINUS}+-]?\d[\d,]*(?:\.\d+)?(?:e[{MINUS}+-]?\d+)?"
UNIT = "%?"
IN_WORDS = re.compile(rf"({NUMBER_TEXT}){UNIT} \(({NUMBER_TEXT}) to ({NUMBER_TEXT}){UNIT}")
IN_LINES = re.compile(
    rf"({NUMBER_TEXT})%? +(?:± *{NUMBER_TEXT} +|\+?{NUMBER_TEXT} +)?({NUMBER_TEXT}) +to +({NUMBER_TEXT})"
)

IN_PAGES = re.compile(
    rf'<data value="([^"]+)">({NUMBER_TEXT}){UNIT}.*'
    rf'data-low="([^"]+)" data-high="([^"]+)">({NUMBER_TEXT}) to ({NUMBER_TEXT})'
)
IN_HEADLINES = re.compile(
    rf"<strong>({NUMBER_TEXT}){UNIT}</strong>[^<]*</bdi></p>"
    rf'\s*<p class="range">95% interval: ({NUMBER_TEXT}) to ({NUMBER_TEXT})'
)
IN_REHEARSALS = re.compile(rf"({NUMBER_TEXT})%? ± {NUMBER_TEXT} +{NUMBER_TEXT} +({NUMBER_TEXT}) to ({NUMBER_TEXT})")
IN_THE_DEMO = re.compile(
    rf"  (?:yes|mean) +{NUMBER_TEXT} +({NUMBER_TEXT}) +({NUMBER_TEXT}) to +({NUMBER_TEXT})", re.MULTILINE
)

SHARE_ENDS = st.floats(0, 1)
HOSTILE = st.one_of(st.floats(-3, 4), st.sampled_from([-0.0149, 1.0001, -1e-9, 0.0, 0.5, 1.0, 0.30000000000000004]))


def read(text: str) -> Decimal:
    return Decimal(text.replace(",", "").replace(MINUS, "-").lstrip("+"))


def exact(value: float) -> Decimal:
    return Decimal(repr(float(value)))


def assert_shown(texts: tuple[str, str, str], figure: Estimate, factor: int = 1) -> None:
    estimate, low, high = map(read, texts)
    assert low <= factor * exact(figure.low)
    assert factor * exact(figure.high) <= high
    assert low <= estimate <= high


@cache
def plain_report() -> EstimateReport:
    lines = []
    for metric in REGISTRY.metrics.values():
        counts = [100 + symbol for symbol in range(metric.channel.symbols)]
        lines += [tally(metric, counts, window=window) for window in ("2026-11-19", "2026-11-20")]
    return make_report(REGISTRY, decode(lines))


def report_with(share: Estimate, mean: Estimate) -> EstimateReport:
    """Return a report whose share of yes and whose mean have these figures, in each window."""
    shares = Figures.from_rows([share.labeled(value) for value in (False, True)])
    groups = {
        "dark_mode": (FigureGroup("share", shares, "", SHARES),),
        "startup_ms": (FigureGroup("mean", Figures.from_rows([mean.labeled()]), "", (LEAST, MOST)),),
    }
    given = plain_report()
    metrics = tuple(replace(each, groups=groups[each.metric]) for each in given.metrics)
    highlights = tuple(
        replace(each, shown=replace(each.shown, groups=groups[each.shown.metric]), changes=None, pooled=None)
        for each in given.highlights
    )
    return replace(given, metrics=metrics, highlights=highlights)


@st.composite
def figures(draw: st.DrawFn, least: float, most: float) -> Estimate:
    low, high = sorted(least + (most - least) * draw(SHARE_ENDS) for _ in range(2))
    estimate = least + (most - least) * draw(HOSTILE)
    error = (most - least) * draw(st.floats(1e-4, 1.0))
    return Estimate(estimate, error, low, high, None)


HEADLINE = Estimate(835.85, 158.8, 524.5, 1147.2, None)
OUTSIDE = Estimate(-0.0149, 0.0134, 0.0, 0.0469, None)


def word_triples(text: str) -> Iterator[tuple[str, str, str]]:
    yield from IN_WORDS.findall(text)


def test_a_headline_is_rounded_outwards() -> None:
    rounded = number(835.85, 524.5, 1147.2, 158.8, figures=1)
    assert rounded.interval == "500 to 1,200"


@pytest.mark.slow
@example(OUTSIDE, HEADLINE)
@example(
    Estimate(0.5, 0.1, 0.30000000000000004, 0.30000000000000004, None), Estimate(1e3, 9.0, 999.999, 1000.001, None)
)
@settings(max_examples=40, deadline=None)
@given(figures(0.0, 1.0), figures(LEAST, MOST))
def test_sentences_tables_and_notebooks_show_an_estimate_within_an_interval_that_contains_the_exact_one(
    share: Estimate, mean: Estimate
) -> None:
    report = report_with(share, mean)
    of_share, of_mean = (next(each for each in report.metrics if each.metric == name) for name in REGISTRY.metrics)
    for estimated, figure, factor in ((of_share, share, 100), (of_mean, mean, 1)):
        alone = replace(report, metrics=(estimated,))
        notebook = ShownReport.from_report(alone)
        for text in (answer_of(estimated), notebook.summary(), notebook._repr_html_()):
            shown = [*word_triples(text)]
            assert len(shown) == 1
            assert_shown(shown[0], figure, factor)
    brief = [*IN_LINES.findall(as_summary(report))]
    assert len(brief) == len(REGISTRY.metrics)
    assert_shown(brief[0], share, 100)
    assert_shown(brief[1], mean)
    verbose = [*IN_LINES.findall(as_table(replace(report, changes=())))]
    of_metric = [share] * 4 + [mean] * 2
    assert len(verbose) == len(of_metric)
    for texts, figure in zip(verbose, of_metric, strict=True):
        assert_shown(texts, figure, 100 if figure is share else 1)


@example(OUTSIDE, HEADLINE)
@settings(max_examples=15, deadline=None)
@given(figures(0.0, 1.0), figures(LEAST, MOST))
def test_the_page_shows_and_draws_an_estimate_within_an_interval_that_contains_the_exact_one(
    share: Estimate, mean: Estimate
) -> None:
    page = as_html(report_with(share, mean), REGISTRY)
    for line in page.splitlines():
        if match := IN_PAGES.search(line):
            value, text, low, high, shown_low, shown_high = match.groups()
            figure = share if "%" in line else mean
            assert (float(low), float(high)) == (figure.low, figure.high)
            assert figure.low <= float(value) <= figure.high
            assert_shown((text, shown_low, shown_high), figure, 100 if figure is share else 1)
    of_share, of_mean = IN_HEADLINES.findall(page)
    assert_shown(of_share, share, 100)
    assert_shown(of_mean, mean)
    data = json.loads(page.partition('id="data">')[2].partition("</script>")[0])
    for name, figure in (("dark_mode", share), ("startup_ms", mean)):
        for group in data["metrics"][name]["groups"]:
            assert_drawn(group, figure)


def assert_drawn(track: dict[str, Any], figure: Estimate) -> None:
    """Assert what ``figure`` in ``numbers.js`` makes of each place of a track."""
    e, d, u, t = (track[name] for name in "edut")
    for row in range(len(e)):
        for slot, steps in enumerate(e[row]):
            step = Decimal(repr(track["step"]))
            low, value, high = (
                exact(float(f"{float(number * step):.12g}"))
                for number in (steps - d[row][slot], steps, steps + u[row][slot])
            )
            assert low <= exact(figure.low) <= exact(figure.high) <= high
            assert low <= value <= high
            texts = t[row][slot].split(" ")
            assert_shown(tuple(texts[:3]), figure, 100 if track.get("suffix", "").endswith("%") else 1)


@example(Estimate(1e9 + 0.123456, 1e-5, 1e9, 1e9 + 1e-4, None), 0)
@example(OUTSIDE, 2)
@given(figures(-1e6, 1e7), st.sampled_from([0, 2]))
def test_tracks_of_charts_and_small_charts_keep_the_rule(figure: Estimate, power: int) -> None:
    unit = PERCENT if power else Unit(0, "ms", "ms")
    assert_drawn(builtins_of(tracks([[figure, figure]], unit)), figure)
    spark = sparkline([figure, figure])
    assert spark is not None
    heights = [float(each) for each in re.findall(r"\d+ (-?[\d.]+)", spark.line)]
    ends = [float(each) for each in re.findall(r"\d+ (-?[\d.]+)", spark.band)]
    assert all(min(ends) <= height <= max(ends) for height in heights)


@example(OUTSIDE, HEADLINE)
@settings(max_examples=20, deadline=None)
@given(figures(0.0, 1.0), figures(LEAST, MOST))
def test_rehearsals_and_the_demo_keep_the_rule_and_data_has_every_figure_as_it_is(
    share: Estimate, mean: Estimate
) -> None:
    report = report_with(share, mean)
    of_share, of_mean = (next(each for each in report.metrics if each.metric == name) for name in REGISTRY.metrics)
    truths: tuple[Truths, Truths] = (
        {FigureKey("share", value): 0.5 for value in (False, True)},
        {FigureKey("mean"): 1000.0},
    )
    rehearsed = tuple(
        Rehearsed.beside(truth, each, {}) for each, truth in zip((of_share, of_mean), truths, strict=True)
    )
    shown = [*IN_REHEARSALS.findall(rehearsal_as_table(Rehearsal(1, 0.95, rehearsed, (), simultaneous=False)))]
    assert len(shown) == 3
    for texts, figure, factor in zip(shown, (share, share, mean), (100, 100, 1), strict=True):
        assert_shown(texts, figure, factor)

    document = json.loads(as_json(replace(report, metrics=(of_share, of_mean))))
    shown_entries = [
        each for metric in document["metrics"] for name in ("share", "mean") for each in listed(metric, name)
    ]
    as_they_are = [(figure.estimate, figure.low, figure.high) for figure in (share, share, mean)]
    assert [(entry["estimate"], entry["low"], entry["high"]) for entry in shown_entries] == as_they_are
    rows = csv.DictReader(io.StringIO(as_csv(replace(report, metrics=(of_share, of_mean), pooled=(), changes=()))))
    figures_of_rows = [row for row in rows if row["statistic"] in ("share", "mean")]
    assert [tuple(float(row[end]) for end in ("estimate", "low", "high")) for row in figures_of_rows] == as_they_are

    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        DEMO.print_comparison(document, [{"dark_mode": True, "startup_ms": 1000.0}])
    shown = [*IN_THE_DEMO.findall(output.getvalue())]
    assert len(shown) == 2
    for texts, figure in zip(shown, (share, mean), strict=True):
        assert_shown(texts, figure)
