"""Central epsilons in a report: of closed tallies only, each with its assumption."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

from client_sdk.protocol import Registry
from client_sdk.protocol.epsilon import as_float
from estimator.plan.amplification import composed, shuffled_epsilon, together
from estimator.plan.blanket import Blanket
from estimator.render import FORMATS
from estimator.render.text.report import as_table
from estimator.report.report import make_report
from estimator.results.report import EstimateReport, Request, Selection
from estimator.tallies import decode
from tests.support.devices.definitions import BOOLEAN, NUMBER, registry_text
from tests.support.estimates import of_strata
from tests.support.estimates.tallies import REGISTRY, line

DELTA = 1e-6
TWO = Blanket.of_epsilon(2.0)
TALLIES = (
    line("dark_mode", [4000, 6000])
    + line("dark_mode", [500, 700], window="2026-11-21", closed=False)
    + line("os", [3000, 3000, 2000, 2000])
    + line("os", [0, 0, 0, 0], window="2026-11-19")
    + line("startup_ms", [600, 400])
)
BLANKETS = {name: Blanket.of_channel(metric.channel) for name, metric in REGISTRY.metrics.items()}


def _report(central_delta: float | None = DELTA) -> EstimateReport:
    tallies = decode(TALLIES.splitlines(keepends=True))
    return make_report(REGISTRY, tallies, Selection(preliminary=True), Request(central_delta=central_delta))


def _json(report: EstimateReport) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(FORMATS["json"](report))
    return document


def test_json_has_it_of_closed_tallies_with_reports_only() -> None:
    central_of = {(entry["metric"], entry["window"]): entry.get("central") for entry in _json(_report())["metrics"]}
    assert central_of["dark_mode", "2026-11-21"] is None
    assert central_of["os", "2026-11-19"] is None
    assert central_of["os", "2026-11-20"] == {
        "delta": DELTA,
        "epsilon": shuffled_epsilon(10_000, BLANKETS["os"], DELTA),
        "assumes": "shuffled tally of honest reports",
    }


@pytest.mark.slow
def test_the_tallies_of_a_window_are_composed() -> None:
    (entry,) = _json(_report())["composed"]
    tallies = [(10_000, BLANKETS["dark_mode"]), (10_000, BLANKETS["os"]), (1000, BLANKETS["startup_ms"])]
    assert (entry["window"], entry["tallies"]) == ("2026-11-20", 3)
    assert entry["central"]["epsilon"] == pytest.approx(composed(tallies, DELTA), rel=2**-39)
    assert entry["central"]["epsilon"] >= composed(tallies, DELTA)


def test_a_table_says_it_rounded_up_on_a_line_with_what_is_assumed() -> None:
    text = as_table(_report())
    assert "  2026-11-20: central epsilon 0.0343 at delta 1e-06, if only tallies are public\n" in text
    assert "2026-11-20, 3 tallies together: central epsilon 0." in text
    assert "all counted reports are honest" in text
    assert "2026-11-21: central" not in text
    assert max(len(row) for row in text.splitlines()) <= 80


def test_the_short_form_says_what_is_assumed_too() -> None:
    text = " ".join(FORMATS["table"](_report()).split())
    assert "2026-11-20, 3 tallies together: central epsilon 0." in text
    assert "if only tallies of closed windows are published and all counted reports are honest" in text


@pytest.mark.parametrize("form", ["table", "json"])
def test_nothing_is_shown_unless_it_is_requested(form: str) -> None:
    text = FORMATS[form](_report(None))
    assert "central" not in text
    assert "composed" not in text


LOAD = NUMBER | {"high": 1, "mechanism": "gaussian", "epsilon": 1, "delta": 0.001}
GAUSSIAN = Registry.parse(registry_text(load=LOAD, dark_mode=BOOLEAN))


def test_a_channel_with_a_delta_of_its_own_is_not_amplified_but_counts() -> None:
    load, dark_mode = GAUSSIAN.metrics.values()
    loss = as_float(load.epsilon_nanos)
    assert 0 < load.delta < Fraction(1, 100)
    assert together([(load, 1000)], float(load.delta) / 2) is None
    both = together([(load, 1000), (dark_mode, 1000)], 0.1)
    assert both is not None
    left = float(Fraction(0.1) - load.delta)
    assert both.epsilon == pytest.approx(
        loss + composed([(1000, Blanket.of_channel(dark_mode.channel))], left), rel=2**-38
    )
    assert together([(load, 0), (dark_mode, 0)], 0.1) is None


def test_a_tally_of_a_gaussian_channel_has_no_separate_line() -> None:
    load = GAUSSIAN.metric("load")
    counts = [1] * load.channel.symbols
    tallies = decode([line("os", counts, metric="load", edition=load.edition)])
    report = make_report(GAUSSIAN, tallies, request=Request(central_delta=1e-9))
    assert [metric.central for metric in report.metrics] == [None]
    assert "no bound at this delta" in FORMATS["table"](report)
    assert _json(report)["composed"][0]["central"] is None


def test_a_device_is_in_the_tally_of_one_stratum_and_the_smallest_counts_for_all() -> None:
    parts = ((0, 400), (1, 900), (2, 5000))
    tallies = [of_strata.drawn(0.5, reports, stratum, stratum) for stratum, reports in parts]
    report = make_report(of_strata.REGISTRY, tallies, request=Request(central_delta=DELTA))
    losses = {metric.metric: metric.central.epsilon for metric in report.metrics if metric.central}
    assert losses == {
        "dark_mode[others]": shuffled_epsilon(400, TWO, DELTA),
        "dark_mode[platform=ios]": shuffled_epsilon(900, TWO, DELTA),
        "dark_mode[platform=android]": shuffled_epsilon(5000, TWO, DELTA),
        "dark_mode": shuffled_epsilon(400, TWO, DELTA),
    }
    (together,) = report.composed
    assert together.tallies == 1
    assert together.central is not None
    assert together.central.epsilon == pytest.approx(composed([(400, TWO)], DELTA), rel=2**-38)
