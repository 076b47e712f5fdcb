"""Questions that only apps of earlier releases answer: estimated apart, with how they relate."""

from __future__ import annotations

import io
from datetime import date

import pytest

from client_sdk.protocol import Registry, Window
from client_sdk.protocol.registry.history import Release, with_former
from estimator.formats.json_documents import as_json, read_report
from estimator.formats.tables import rows_of
from estimator.plan.amplification import together
from estimator.render.html.page import as_html
from estimator.render.text.report import as_table
from estimator.render.text.summary import as_summary
from estimator.report.alerts import judged, read_alert
from estimator.report.report import make_report
from estimator.results.report import EstimateReport, Request
from estimator.tallies import Tally
from tests.support.devices.definitions import BOOLEAN, CATEGORY, registry_text
from tests.support.estimates.of_strata import TEXT

DAY = "2026-11-20"
OLD = Registry.parse(registry_text(theme=CATEGORY | {"values": ["light", "dark"]}, ruler=BOOLEAN, dark=BOOLEAN))
NOW = Registry.parse(registry_text(theme=CATEGORY | {"values": ["light", "dark", "auto"]}, dark=BOOLEAN))
BOTH = with_former(NOW, [Release(date(2026, 11, 1), OLD), Release(date(2026, 11, 9), NOW)])
THEME, RULER = (f"{name}[edition={OLD.metric(name).edition}]" for name in ("theme", "ruler"))


def tally(registry: Registry, name: str, *counts: int, edition: str | None = None, day: str = DAY) -> Tally:
    edition = edition or registry.metric(name).edition
    return Tally(name, edition, Window.parse(day), closed=True, reports=sum(counts), counts=list(counts))


OF_BOTH = [
    tally(OLD, "theme", 700, 300),
    tally(NOW, "theme", 200, 300, 500),
    tally(OLD, "ruler", 400, 600),
    tally(NOW, "dark", 1000, 1000),
]


def reported(registry: Registry, *tallies: Tally, request: Request = Request()) -> EstimateReport:  # noqa: B008 frozen
    return make_report(registry, tallies, request=request)


def test_old_and_new_editions_are_estimated_apart_each_by_its_own_definition() -> None:
    report = reported(BOTH, *OF_BOTH)
    assert [(each.metric, each.reports) for each in report.metrics] == [
        ("theme", 1000),
        (THEME, 1000),
        ("dark", 2000),
        (RULER, 1000),
    ]
    assert report.skipped == ()
    alone = {each.metric: each for each in reported(OLD, *OF_BOTH[::2]).metrics}
    _, theme, _, ruler = report.metrics
    assert (theme.groups, ruler.groups) == (alone["theme"].groups, alone["ruler"].groups)
    assert theme.edition == OLD.metric("theme").edition


def test_without_a_history_the_old_edition_is_left_out_with_what_to_do() -> None:
    report = reported(NOW, *OF_BOTH)
    assert {each.metric for each in report.metrics} == {"theme", "dark"}
    assert all("history" in each.reason or "no such metric" in each.reason for each in report.skipped)


def test_every_form_says_how_a_former_metric_relates_to_the_one_of_today() -> None:
    report = reported(BOTH, *OF_BOTH)
    relations = {each.metric: each.relation for each in report.metrics if each.relation}
    assert relations == {
        THEME: 'Asked by apps released on or after 2026-11-01 and before 2026-11-09; then "auto" was added to values.',
        RULER: "Asked by apps released on or after 2026-11-01 and before 2026-11-09; no longer asked since then.",
    }
    for text in (as_summary(report), as_table(report)):
        assert all(relation in " ".join(text.split()) for relation in relations.values())
    page = as_html(report, BOTH)
    assert "asked by apps released on or after 2026-11-01 and before 2026-11-09; no longer asked since then" in page
    assert {row.metric for row in rows_of(report)} == {"theme", THEME, "dark", RULER}
    assert read_report(io.StringIO(as_json(report))).metrics == report.metrics


def test_nobody_knows_how_many_devices_answered_two_releases() -> None:
    report = reported(BOTH, *OF_BOTH, request=Request(installs=10_000))
    known = {each.metric for each in report.metrics if each.taking_part is not None}
    assert known == {"dark"}
    assert {each.metric for each in report.metrics if each.among_all is not None} == {"dark"}
    of_theme = reported(BOTH, *OF_BOTH[:2])
    assert "apps of several releases answered" in " ".join(as_summary(of_theme).split())


@pytest.mark.slow
def test_what_a_window_reveals_counts_former_metrics_too() -> None:
    """A device that is updated within a window answers both."""
    (composed,) = reported(BOTH, *OF_BOTH, request=Request(central_delta=1e-6)).composed
    every = [(OLD.metric("theme"), 1000), (NOW.metric("theme"), 1000), (OLD.metric("ruler"), 1000)]
    assert composed.central == together([*every, (NOW.metric("dark"), 2000)], 1e-6)


def test_two_changes_that_were_released_on_one_day_keep_two_names() -> None:
    third = Registry.parse(registry_text(theme=CATEGORY | {"values": ["gray", "pink"]}))
    day = date(2026, 11, 9)
    registry = with_former(third, [Release(date(2026, 11, 1), OLD), Release(day, NOW), Release(day, third)])
    report = reported(registry, *OF_BOTH[:2])
    assert {each.metric for each in report.metrics} == {THEME, f"theme[edition={NOW.metric('theme').edition}]"}


def test_only_a_metric_that_all_releases_ask_alike_tells_how_many_devices_there_are() -> None:
    newer = Registry.parse(registry_text(dark=BOOLEAN, theme=CATEGORY, night=BOOLEAN))
    registry = with_former(newer, [Release(date(2026, 11, 1), OLD)])
    tallies = [*OF_BOTH, tally(newer, "night", 30, 30)]
    known = {each.metric for each in reported(registry, *tallies).metrics if each.taking_part is not None}
    assert known == {"dark"}


@pytest.mark.parametrize(
    ("text", "judged_metric"),
    [
        ("theme.share[dark] > 0.001", "theme"),
        (f"{THEME}.share[dark] > 0.001", THEME),
        ("ruler.share[yes] > 0.1", RULER),
        (f"{RULER}.share[yes] > 0.1", RULER),
    ],
)
def test_an_alert_names_a_former_metric_by_its_edition_or_the_last_one_that_was_asked(
    text: str, judged_metric: str
) -> None:
    alert = read_alert(BOTH, text)
    (outcome,) = judged([alert], reported(BOTH, *OF_BOTH).metrics)
    assert alert.metric == judged_metric
    assert outcome.fired


def test_a_stratum_that_is_no_longer_listed_belongs_to_the_metric_of_today() -> None:
    old = Registry.parse(TEXT)
    now = Registry.parse(TEXT.replace(', "web"]', "]"))
    registry = with_former(now, [Release(date(2026, 11, 1), old)])
    of_strata = [tally(old, "dark_mode", 60, 40, edition=edition) for edition in old.metric("dark_mode").editions]
    report = reported(registry, *of_strata)
    assert {each.metric: each.reports for each in report.metrics}["dark_mode"] == 400
    assert not [each.metric for each in report.metrics if "edition=" in each.metric]
    assert report.skipped == ()


def test_the_strata_of_a_former_metric_are_counted_together() -> None:
    old = Registry.parse(TEXT)
    now = Registry.parse(TEXT.replace("epsilon = 2\nstrata", "epsilon = 1\nstrata"))
    registry = with_former(now, [Release(date(2026, 11, 1), old)])
    of_strata = [tally(old, "dark_mode", 60, 40, edition=edition) for edition in old.metric("dark_mode").editions]
    (estimated,) = reported(registry, *of_strata).metrics
    assert estimated.metric == f"dark_mode[edition={old.metric('dark_mode').edition}]"
    assert estimated.reports == 400
