"""Strata in a report: estimated as questions of their own, added up, and compared."""

from __future__ import annotations

import io

import numpy as np
import pytest

from client_sdk.protocol import Registry, Window
from estimator.formats.from_json import load_report
from estimator.formats.to_json import as_json
from estimator.render.html.document import as_html
from estimator.render.text.report import as_table
from estimator.report.report import make_report
from estimator.report.strata import apart
from estimator.results.effect import Effect
from estimator.results.report import EstimateReport
from estimator.results.request import Request, Selection
from estimator.tallies.tally import Tally
from tests.support.estimates.of_strata import DAY, METRIC, REGISTRY, TEXT, drawn

SHOWN = Request()


def reported(*tallies: Tally, preliminary: bool = False) -> EstimateReport:
    return make_report(REGISTRY, tallies, Selection(preliminary=preliminary), SHOWN)


def _p(effect: Effect) -> float:
    assert effect.p_value_corrected is not None
    return effect.p_value_corrected


def names(report: EstimateReport) -> dict[str, int]:
    return {estimated.metric: estimated.reports for estimated in report.metrics}


def test_each_stratum_is_estimated_by_itself_and_the_question_from_all_of_them() -> None:
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
    assert whole.unbiased[1] == pytest.approx(np.mean([part.unbiased[1] for part in parts]))
    for part, share in zip(parts, (0.5, 0.2, 0.8, 0.2), strict=True):
        assert part.estimates is not None
        assert part.estimates[1].low < share < part.estimates[1].high
    assert report.skipped == ()


def test_an_open_window_is_one_tally_of_the_question() -> None:
    report = reported(drawn(0.5, 900, 0, 1, closed=False), preliminary=True)
    assert names(report) == {"dark_mode": 900}
    assert report.effects == ()


def test_tallies_with_and_without_listed_symbols_add_up() -> None:
    sparse = Tally("dark_mode", METRIC.editions[1], Window.parse(DAY), closed=True, reports=7, counts=[7], symbols=[1])
    report = reported(sparse, drawn(0.5, 100, 2, 1))
    assert names(report)["dark_mode"] == 107


def test_other_questions_are_as_without_strata() -> None:
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
    assert apart_of.estimates[1].low < 0.6 < apart_of.estimates[1].high
    assert _p(apart_of) < 1e-6
    alike = effects["platform=ios", "platform=web"]
    assert _p(alike) > 0.05
    assert alike.estimates[1].low < 0 < alike.estimates[1].high


def test_intervals_of_equal_strata_hold_0_and_corrected_p_values_mislead_in_few_reports() -> None:
    rounds, held, misled = 200, 0, 0
    for seed in range(rounds):
        effects = reported(*(drawn(0.3, 1000, stratum, 10 * seed + stratum) for stratum in (1, 2, 3))).effects
        held += sum(effect.estimates[1].low <= 0 <= effect.estimates[1].high for effect in effects)
        misled += any(_p(effect) <= 0.05 for effect in effects)
    # the chance of fewer at 95 %, and of more at 5 %, is below one in a thousand each
    assert held >= 3 * rounds * 0.95 - 3.1 * np.sqrt(3 * 3 * rounds * 0.05 * 0.95)
    assert misled <= rounds * 0.05 + 3.1 * np.sqrt(rounds * 0.05 * 0.95)


def test_p_values_are_corrected_for_every_pair_and_window() -> None:
    one = reported(drawn(0.3, 1000, 1, 1), drawn(0.36, 1000, 2, 2)).effects
    many = reported(
        *(
            drawn(0.3 + 0.06 * (stratum == 2), 1000, stratum, stratum, window=window)
            for stratum in (1, 2, 3)
            for window in (DAY, "2026-11-21")
        )
    ).effects
    (single,) = one
    same = next(e for e in many if (e.first, e.second, e.window) == (single.first, single.second, DAY))
    assert same.estimates[1].p_value == single.estimates[1].p_value
    assert single.p_value_corrected == single.estimates[1].p_value
    assert _p(same) > _p(single)


def test_the_table_and_the_page_show_strata_and_the_clearest_differences() -> None:
    tallies = [drawn(share, 5000, stratum, stratum) for stratum, share in enumerate((0.5, 0.2, 0.8, 0.2))]
    report = reported(*tallies)
    table = as_table(report)
    assert "dark_mode[platform=ios]: boolean" in table
    assert "dark_mode in 2026-11-20: platform=android less platform=ios" in table
    assert "if they did not differ: p" in table
    assert 'id="q-dark_mode[platform=ios]"' in as_html(report, REGISTRY)


def test_of_many_strata_the_table_shows_the_clearest_pairs_first() -> None:
    report = reported(*(drawn(share, 5000, stratum, stratum) for stratum, share in enumerate((0.5, 0.2, 0.8, 0.21))))
    lines = [line for line in as_table(report).splitlines() if line.startswith("dark_mode in ")]
    assert lines[-1] == "dark_mode in 2026-11-20: platform=web less platform=ios"


def test_a_report_with_effects_is_read_as_it_was_written() -> None:
    report = reported(drawn(0.3, 1000, 1, 1), drawn(0.36, 1000, 2, 2))
    read = load_report(io.StringIO(as_json(report)))
    assert read.effects == report.effects
    assert isinstance(read.effects[0], Effect)
