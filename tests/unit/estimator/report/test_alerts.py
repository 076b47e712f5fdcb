"""An alert fires where the whole interval is beyond the bound, and nowhere else."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from itertools import product
from typing import Any

import pytest
from msgspec.structs import replace

from client_sdk.protocol import Window
from estimator.analyses.metric import estimate
from estimator.formats.json_documents import as_line
from estimator.report.alerts import JudgedAlert, judged, read_alert
from estimator.report.report import make_report
from estimator.results.estimate import Figure, Figures
from estimator.results.group import FigureGroup
from estimator.results.metric import MetricEstimate
from estimator.results.report import EstimateReport, Selection
from estimator.statistics.confidence import EXACT_BELOW
from estimator.tallies import Tally, decode
from tests.support.estimates import every_kind

DAY = Window.parse("2026-11-20")
REGISTRY = every_kind.REGISTRY


@cache
def report(reports: int = 3000) -> EstimateReport:
    tallies = decode(every_kind.tallies(reports).splitlines())
    return make_report(REGISTRY, tallies, Selection(preliminary=True))


def _with_interval(low: float, high: float, reports: int = EXACT_BELOW) -> MetricEstimate:
    crashes = next(each for each in report().metrics if each.metric == "crashes")
    mean = Figures.from_rows([Figure((low + high) / 2, 1.0, low, high)])
    return replace(crashes, groups=(FigureGroup("mean", mean),), reports=reports)


def _fires(text: str, estimated: MetricEstimate) -> bool:
    (verdict,) = judged([read_alert(REGISTRY, text)], [estimated])
    return verdict.fired


JUST_ABOVE, JUST_BELOW = math.nextafter(2, 9), math.nextafter(2, 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("low", "high", "fired"),
    [
        (JUST_ABOVE, 3, {">", ">="}),
        (2, 3, {">="}),
        (JUST_BELOW, 3, set()),
        (1, JUST_ABOVE, set()),
        (1, 2, {"<="}),
        (1, JUST_BELOW, {"<", "<="}),
        (2, 2, {">=", "<="}),
    ],
)
def test_an_interval_that_ends_at_the_bound_fires_only_the_alert_that_includes_it(
    low: float, high: float, fired: set[str]
) -> None:
    estimated = _with_interval(low, high)
    assert {operator for operator in (">", ">=", "<", "<=") if _fires(f"crashes.mean {operator} 2", estimated)} == fired


def test_a_window_with_too_few_reports_never_fires() -> None:
    assert _fires("crashes.mean > 2", _with_interval(3, 4, EXACT_BELOW))
    assert not _fires("crashes.mean > 2", _with_interval(3, 4, EXACT_BELOW - 1))
    assert not _fires("crashes.mean > 2", _with_interval(3, 4, 0))


FIGURES: list[tuple[str, Callable[[Any], Any]]] = [
    ("crashes.mean", lambda each: each.mean),
    ("crashes.sum", lambda each: each.figures("sum")[0]),
    ("crashes.share[0]", lambda each: each.estimates[0]),
    ("dark_mode.share[yes]", lambda each: each.estimates[1]),
    ("both.share[yes, c]", lambda each: each.estimates[5]),
    ("seen.share[nothing recorded]", lambda each: each.estimates[2]),
    ("startup_by_os.share[b]", lambda each: each.estimates[1]),
    ("languages.mean", lambda each: each.mean),
    ("mood.mean", lambda each: each.mean),
    ("startup_ms.sum", lambda each: each.figures("sum")[0]),
    ("pages.p5", lambda each: each.figures("quantile")[0]),
    ("pages.p50", lambda each: each.figures("quantile")[2]),
    ("pages.p95", lambda each: each.figures("quantile")[4]),
]


@pytest.mark.parametrize(("named", "figure"), FIGURES, ids=[named for named, _ in FIGURES])
def test_an_alert_is_about_the_figure_that_the_report_has(named: str, figure: Callable[[Any], Any]) -> None:
    alert = read_alert(REGISTRY, f"{named} > 0" if not named.startswith("mood") else f"{named} > 1")
    windows = [each for each in report().metrics if each.metric == alert.metric and each.closed]
    verdicts = judged([alert], report().metrics)
    assert [each.window for each in verdicts] == [each.window for each in windows]
    for verdict, window in zip(verdicts, windows, strict=True):
        expected = figure(window)
        assert (verdict.estimate, verdict.low, verdict.high) == (expected.estimate, expected.low, expected.high)
        assert verdict.fired == (expected.low > alert.bound)
    assert any(verdict.low != verdict.high for verdict in verdicts)


def test_alerts_are_judged_in_every_closed_window_of_their_metric_alone() -> None:
    alerts = [read_alert(REGISTRY, text) for text in ("crashes.mean > 2", "crashes.sum > 1", "pages.mean < 3")]
    assert [(each.metric, each.window, each.figure) for each in judged(alerts, report().metrics)] == [
        *product(["crashes"], ["2026-11-19"], ["mean", "sum"]),
        *product(["crashes"], ["2026-11-20"], ["mean", "sum"]),
        ("pages", "2026-11-19", "mean"),
        ("pages", "2026-11-20", "mean"),
    ]


@pytest.mark.slow
def test_windows_without_reports_are_lines_without_estimates() -> None:
    alerts = [read_alert(REGISTRY, text) for text in ("steps.sum >= 0.5", "steps.mean > 0", "pages.p50 < 40")]
    empty = judged(alerts, report(0).metrics)
    assert len(empty) == 6
    assert {(each.estimate, each.reports, each.fired) for each in empty} == {(None, 0, False)}
    assert as_line(empty[0]) == (
        '{"metric": "steps", "window": "2026-11-19", "figure": "sum", "operator": ">=", "bound": 0.5, '
        '"estimate": null, "low": null, "high": null, "reports": 0, "fired": false}\n'
    )


@pytest.mark.parametrize("counts", [[10**15, 0], [0, 10**15], [EXACT_BELOW, 0], [0, EXACT_BELOW]])
def test_a_tally_that_hardly_any_population_produces_fires_one_way_alone(counts: list[int]) -> None:
    metric = REGISTRY.metric("dark_mode")
    tally = Tally(metric.name, metric.edition, DAY, True, sum(counts), counts)  # noqa: FBT003 closed
    estimated = estimate(metric, tally)
    alerts = [read_alert(REGISTRY, f"dark_mode.share[yes] {operator} 0.5") for operator in (">", "<")]
    verdicts = judged(alerts, [estimated])
    assert [each.fired for each in verdicts] == [counts[1] > 0, counts[0] > 0]
    assert all(_is_possible(each) for each in verdicts)


def _is_possible(verdict: JudgedAlert) -> bool:
    return verdict.low is not None and verdict.high is not None and 0 <= verdict.low <= verdict.high <= 1


@pytest.mark.parametrize(
    ("yes", "fired"),
    [((400, 600), {"rises", "changes"}), ((600, 400), {"falls", "changes"}), ((500, 500), set()), ((20, 30), set())],
)
def test_an_alert_of_a_change_fires_by_the_verdict_and_its_direction(yes: tuple[int, int], fired: set[str]) -> None:
    metric, reports = REGISTRY.metric("dark_mode"), 1000 if max(yes) > EXACT_BELOW else 45
    days = [Window.parse(f"2026-11-{day}") for day in (19, 20)]
    tallies = [
        Tally(metric.name, metric.edition, day, closed=True, reports=reports, counts=(reports - each, each))
        for day, each in zip(days, yes, strict=True)
    ]
    made = make_report(REGISTRY, tallies)
    alerts = [read_alert(REGISTRY, f"dark_mode.share[yes] {verb}") for verb in ("rises", "falls", "changes")]
    lines = judged(alerts, made.metrics, made.changes)
    assert [(line.window, line.bound, line.reports) for line in lines] == [("2026-11-20", None, reports)] * 3
    assert {line.operator for line in lines if line.fired} == fired
