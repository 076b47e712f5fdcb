"""Strata in a report: estimated as questions of their own, added up, and compared."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest

from client_sdk.protocol import Registry, Window
from estimator.errors import RequestError
from estimator.formats.json_documents import as_json, read_report
from estimator.formats.tables import as_csv, rows_of
from estimator.render.html.page import as_html
from estimator.render.text.report import as_table
from estimator.report.alerts import judged, read_alert
from estimator.report.report import make_report
from estimator.report.strata import apart, counted_apart
from estimator.results.report import Effect, EstimateReport, Request, Selection
from estimator.tallies import Tally
from tests.support.core.tables import for_each
from tests.support.devices.definitions import CROSSED_MODEL, MODEL, VECTOR, Field, registry_text
from tests.support.estimates.of_strata import DAY, METRIC, REGISTRY, TEXT, drawn

SHOWN = Request()


def reported(*tallies: Tally, preliminary: bool = False) -> EstimateReport:
    return make_report(REGISTRY, tallies, Selection(preliminary=preliminary), SHOWN)


def _p(effect: Effect) -> float:
    assert effect.p_value_corrected is not None
    return effect.p_value_corrected


def names(report: EstimateReport) -> dict[str, int]:
    return {estimated.metric: estimated.reports for estimated in report.metrics}


def test_each_stratum_is_estimated_by_itself_and_the_metric_from_all_of_them() -> None:
    tallies = [drawn(share, 5000, stratum, stratum) for stratum, share in enumerate((0.5, 0.2, 0.8, 0.2))]
    report = reported(*tallies)
    assert names(report) == {
        "dark_mode": 20000,
        "dark_mode[others]": 5000,
        "dark_mode[platform=ios]": 5000,
        "dark_mode[platform=android]": 5000,
        "dark_mode[platform=web]": 5000,
    }
    whole, *parts = report.metrics
    shares = [each.figures("share").unbiased[1] for each in (whole, *parts)]
    assert shares[0] == pytest.approx(np.mean(shares[1:]))
    for part, share in zip(parts, (0.5, 0.2, 0.8, 0.2), strict=True):
        assert part.estimates is not None
        assert part.estimates[1].low < share < part.estimates[1].high
    assert report.skipped == ()


def test_an_open_window_is_one_tally_of_the_metric() -> None:
    report = reported(drawn(0.5, 900, 0, 1, closed=False), preliminary=True)
    assert names(report) == {"dark_mode": 900}
    assert report.effects == ()


def test_tallies_with_and_without_listed_symbols_add_up() -> None:
    sparse = Tally("dark_mode", METRIC.editions[1], Window.parse(DAY), closed=True, reports=7, counts=[7], symbols=[1])
    whole = drawn(0.5, 100, 2, 1)
    assert names(reported(sparse, whole))["dark_mode"] == 107
    for pair in ((sparse, whole), (whole, sparse), (sparse, sparse), (whole, whole)):
        *_, metric = counted_apart(REGISTRY, pair)
        assert metric.dense(2).tolist() == (pair[0].dense(2) + pair[1].dense(2)).tolist()


def test_other_metrics_are_as_without_strata() -> None:
    tally = Tally("os", REGISTRY.metric("os").edition, Window.parse(DAY), closed=True, reports=50, counts=[20, 30])
    plain = Registry.parse(TEXT.replace('strata = ["platform"]\n', ""))
    assert reported(tally).metrics == make_report(plain, [tally], Selection(), SHOWN).metrics
    assert apart(plain) == plain
    assert list(apart(apart(REGISTRY)).metrics) == list(apart(REGISTRY).metrics)


def test_strata_that_differ_are_seen_to_and_equal_ones_are_not() -> None:
    tallies = [drawn(share, 5000, stratum, stratum) for stratum, share in enumerate((0.5, 0.2, 0.8, 0.2))]
    effects = {(effect.first, effect.second): effect for effect in reported(*tallies).effects}
    assert list(effects) == [
        ("platform=ios", "platform=android"),
        ("platform=ios", "platform=web"),
        ("platform=android", "platform=web"),
    ]
    apart_of = effects["platform=ios", "platform=android"]
    assert apart_of.figures("share")[1].low < 0.6 < apart_of.figures("share")[1].high
    assert _p(apart_of) < 1e-6
    alike = effects["platform=ios", "platform=web"]
    assert _p(alike) > 0.05
    assert alike.figures("share")[1].low < 0 < alike.figures("share")[1].high


@pytest.mark.slow
def test_intervals_of_equal_strata_hold_0_and_corrected_p_values_mislead_in_few_reports() -> None:
    rounds, held, misled = 200, 0, 0
    for seed in range(rounds):
        effects = reported(*(drawn(0.3, 1000, stratum, 10 * seed + stratum) for stratum in (1, 2, 3))).effects
        held += sum(effect.figures("share")[1].low <= 0 <= effect.figures("share")[1].high for effect in effects)
        misled += any(_p(effect) <= 0.05 for effect in effects)
    # the chance of fewer at 95%, and of more at 5%, is below one in a thousand each
    assert held >= 3 * rounds * 0.95 - 3.1 * np.sqrt(3 * 3 * rounds * 0.05 * 0.95)
    assert misled <= rounds * 0.05 + 3.1 * np.sqrt(rounds * 0.05 * 0.95)


def test_p_values_are_corrected_for_every_pair_and_window() -> None:
    (single,) = reported(drawn(0.3, 1000, 1, 1), drawn(0.36, 1000, 2, 2)).effects
    many = reported(
        *(
            drawn(0.3 + 0.06 * (stratum == 2), 1000, stratum, stratum, window=window)
            for stratum in (1, 2, 3)
            for window in (DAY, "2026-11-21")
        )
    ).effects
    same = next(e for e in many if (e.first, e.second, e.window) == (single.first, single.second, DAY))
    assert same.figures("share")[1].p_value == single.figures("share")[1].p_value
    assert single.p_value_corrected == single.figures("share")[1].p_value
    assert _p(same) > _p(single)


def test_rows_have_every_difference_with_its_p_values() -> None:
    report = reported(*(drawn(share, 5000, stratum, stratum) for stratum, share in enumerate((0.5, 0.2, 0.8, 0.2))))
    rows = [row for row in rows_of(report) if row.statistic == "effect"]
    assert [row.value for row in rows[:2]] == [f"{word}: platform=android less platform=ios" for word in ("no", "yes")]
    every = [change for effect in report.effects for change in effect.figures("share")]
    assert [(row.estimate, row.low, row.high) for row in rows] == [
        (each.estimate, each.low, each.high) for each in every
    ]
    assert [row.p_value_corrected for row in rows] == [each.p_value_corrected for each in every]
    assert {(row.metric, row.window, row.edition, row.reports) for row in rows} == {
        ("dark_mode", DAY, METRIC.edition, 20_000)
    }
    assert "effect" in as_csv(report)


def test_the_difference_of_two_means_is_a_row_in_the_unit_and_a_line_of_the_page() -> None:
    definition = 'kind = "number"\nlow = 0\nhigh = 500\nstatistic = "mean"\nunit = "ms"\nmechanism = "one-bit"'
    registry = Registry.parse(TEXT.replace('kind = "boolean"', definition, 1))
    metric = registry.metric("dark_mode")
    tallies = [
        Tally("dark_mode", metric.editions[stratum], Window.parse(DAY), closed=True, reports=4000, counts=counts)
        for stratum, counts in ((1, [2600, 1400]), (2, [1400, 2600]))
    ]
    report = make_report(registry, tallies, Selection(), SHOWN)
    (row,) = [row for row in rows_of(report) if row.statistic == "effect_on_mean"]
    assert (row.value, row.unit) == ("platform=android less platform=ios", "ms")
    keep = np.exp(2) / (1 + np.exp(2))
    assert row.estimate == pytest.approx(500 * 0.3 / (2 * keep - 1), rel=1e-6)
    _, page = as_html(report, registry).split("<h4>Differences between strata</h4>")
    assert re.search(r"platform=android less platform=ios.*?mean.*?\+197\.0.ms.*?&lt; 0\.001", page, re.DOTALL)


def test_the_page_shows_pairs_of_strata_with_what_differs_most_clearly() -> None:
    tallies = [drawn(share, 5000, stratum, stratum) for stratum, share in enumerate((0.5, 0.2, 0.8, 0.2))]
    page = as_html(reported(*tallies), REGISTRY)
    _, of_strata, *more = page.split("<h4>Differences between strata</h4>")
    assert not more  # of the question, and of no stratum
    shown = re.findall(r"<bdi>(platform=\w+ less platform=\w+)</bdi>", of_strata)
    assert set(shown[:2]) == {"platform=android less platform=ios", "platform=web less platform=android"}
    assert shown[2:] == ["platform=web less platform=ios"]
    few = as_html(reported(drawn(0.5, 5, 1, 1), drawn(0.5, 5, 2, 2)), REGISTRY)
    assert "too few reports</td>" in few.split("<h4>Differences between strata</h4>")[1]


@pytest.mark.slow
@for_each("definition", [VECTOR, MODEL, CROSSED_MODEL])
@for_each("reports", [1, 200])
def test_strata_of_what_has_no_shares_are_shown_and_not_compared(definition: dict[str, Field], reports: int) -> None:
    text = registry_text(asked=definition | {"strata": ["platform"]})
    registry = Registry.parse(text.replace("[metric.", '[strata]\nplatform = ["ios", "web"]\n[metric.', 1))
    metric = registry.metric("asked")
    random = np.random.default_rng(1)
    drawn_counts = [
        np.unique(random.integers(metric.channel.symbols, size=reports), return_counts=True) for _ in metric.editions
    ]
    tallies = [
        Tally(
            *("asked", edition, Window.parse(DAY)),
            closed=True,
            reports=reports,
            counts=counts.tolist(),
            symbols=symbols.tolist(),
        )
        for edition, (symbols, counts) in zip(metric.editions, drawn_counts, strict=True)
    ]
    report = make_report(registry, tallies, Selection(), Request(highlights=True))
    assert report.effects == ()
    for shown in (as_html(report, registry), as_table(report), as_csv(report), as_json(report)):
        assert "asked[platform=web]" in shown


def test_a_stratum_in_which_nobody_reported_is_not_compared() -> None:
    report = reported(drawn(0.5, 500, 1, 1), drawn(0.5, 0, 2, 2), drawn(0.5, 500, 3, 3))
    assert [(effect.first, effect.second) for effect in report.effects] == [("platform=ios", "platform=web")]


def test_an_alert_on_a_stratum_is_judged_by_its_reports_alone() -> None:
    tallies = [drawn(share, 5000, stratum, stratum) for stratum, share in enumerate((0.5, 0.2, 0.8, 0.2))]
    metrics = reported(*tallies).metrics
    for stratum, fires in (("platform=ios", False), ("platform=android", True), ("others", False)):
        alert = read_alert(REGISTRY, f"dark_mode[{stratum}].share[yes] > 0.6")
        (came,) = judged([alert], metrics)
        assert (came.metric, came.fired, came.reports) == (f"dark_mode[{stratum}]", fires, 5000)
    whole = read_alert(REGISTRY, "dark_mode.share[yes] > 0.6")
    assert [came.metric for came in judged([whole], metrics)] == ["dark_mode"]


def test_an_alert_names_a_stratum_as_reports_do_with_dots_and_blanks() -> None:
    text = TEXT.replace('["ios", "android", "web"]', '["ios", "web"]\nversion = ["3.2", "4.0-rc.1"]').replace(
        'strata = ["platform"]', 'strata = ["platform", "version"]'
    )
    registry = Registry.parse(text)
    for written in ("platform=web,version=4.0-rc.1", "platform=web, version=4.0-rc.1"):
        alert = read_alert(registry, f"dark_mode[{written}].share[yes] < 0.25")
        assert (alert.metric, alert.bound) == ("dark_mode[platform=web,version=4.0-rc.1]", 0.25)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (
            "dark_mode[platform=beos]",
            r"names no stratum .*; its strata are: dark_mode\[others\], dark_mode\[platform=ios",
        ),
        ("dark_mode[]", "cannot be read; write"),
        ("os[platform=ios]", r"; os has no strata; omit \[platform=ios\]"),
        ("dark_mode[platform=ios", "cannot be read; write"),
    ],
)
def test_an_alert_on_an_unknown_stratum_is_refused_with_those_that_there_are(name: str, reason: str) -> None:
    with pytest.raises(RequestError, match=reason):
        read_alert(REGISTRY, f"{name}.share[yes] > 0.5")


def test_of_many_strata_the_table_shows_the_clearest_pairs_first() -> None:
    report = reported(*(drawn(share, 5000, stratum, stratum) for stratum, share in enumerate((0.5, 0.2, 0.8, 0.21))))
    lines = [line for line in as_table(report).splitlines() if line.startswith("dark_mode in 2026-11-20:")]
    assert lines[-1] == "dark_mode in 2026-11-20: platform=web less platform=ios"


def test_a_report_with_effects_is_read_as_it_was_written() -> None:
    report = reported(drawn(0.3, 1000, 1, 1), drawn(0.36, 1000, 2, 2))
    read = read_report(io.StringIO(as_json(report)))
    assert read.effects == report.effects
    assert isinstance(read.effects[0], Effect)
