"""The shares of devices used on at least a number of days, in every form.

They are unbiased, beside the numbers that they add up.
"""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from client_sdk.protocol import Metric, Registry, Window
from estimator.analyses.grid import DaysOfUse
from estimator.analyses.metric import estimate
from estimator.commands.cli import command
from estimator.render.html.page import as_html
from estimator.render.text.summary import as_summary
from estimator.report.report import make_report
from estimator.results.estimate import Figure
from estimator.results.group import FigureKey
from estimator.results.metric import MetricEstimate
from estimator.results.report import PLAIN, Request
from estimator.tallies import Tally
from tests.support.devices.definitions import ACTIVITY, COUNT, Field, metric_of, registry_text
from tests.support.estimates.documents import listed

FOUR_WEEKS: dict[str, Field] = ACTIVITY | {"days": 28, "window": "week"}
ANSWERS = "used\n" + "0\n" * 40 + "3\n" * 30 + "7\n" * 20 + "14\n" * 6 + "28\n" * 4


def estimated(metric: Metric, counts: list[int], request: Request = PLAIN) -> MetricEstimate:
    window = Window.parse("2026-W47")
    tally = Tally("m", metric.edition, window, closed=True, reports=sum(counts), counts=tuple(counts))
    return estimate(metric, tally, request)


@pytest.mark.parametrize(("days", "expected"), [(7, (1, 2, 4, 7)), (28, (1, 7, 14, 28))])
def test_the_thresholds_are_one_day_a_quarter_half_and_all(days: int, expected: tuple[int, ...]) -> None:
    metric = metric_of(ACTIVITY, days=days)
    assert DaysOfUse(metric).thresholds == expected
    assert [share.value for share in estimated(metric, [0] * metric.channel.symbols).figures("share_at_least")] == list(
        expected
    )


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["auto", "k-ary-randomized-response", "cyclic-design"])
def test_the_expected_estimate_is_the_share_of_devices_at_or_above_the_threshold(mechanism: str) -> None:
    """Linear in the counts: so it is exact on the expected counts of any population."""
    metric = metric_of(FOUR_WEEKS, mechanism=mechanism, epsilon=2)
    shares = np.arange(1.0, 30) / np.arange(1, 30).sum()
    law = [[float(metric.channel.probability(y, x)) for y in range(metric.channel.symbols)] for x in range(29)]
    counts = np.rint(shares @ np.array(law) * 10**12).astype(int).tolist()
    for share in estimated(metric, counts).figures("share_at_least"):
        assert isinstance(share.value, int)
        truth = shares[share.value :].sum()
        assert share.estimate == pytest.approx(truth, abs=1e-7)
        assert share.low <= truth <= share.high


def test_each_threshold_adds_up_the_shares_of_the_numbers_of_days() -> None:
    metric = metric_of(FOUR_WEEKS, epsilon=2)
    counts = [100 + 13 * symbol % 7 for symbol in range(metric.channel.symbols)]
    plain, together = estimated(metric, counts), estimated(metric, counts, Request(simultaneous=True))
    assert plain.estimates is not None
    for share, wider in zip(plain.figures("share_at_least"), together.figures("share_at_least"), strict=True):
        assert isinstance(share, Figure)
        assert isinstance(share.value, int)
        assert share.estimate == pytest.approx(plain.estimates.unbiased[share.value :].sum())
        assert share.maximum_likelihood == pytest.approx(plain.estimates.maximum_likelihood[share.value :].sum())
        assert wider.high - wider.low > share.high - share.low


def test_other_metrics_and_means_have_none() -> None:
    for fields in (COUNT, ACTIVITY | {"statistic": "mean"}, FOUR_WEEKS | {"mechanism": "square-wave"}):
        metric = metric_of(fields)
        assert estimated(metric, [1] * metric.channel.symbols).group("share_at_least") is None


def test_a_rehearsal_has_their_truth_in_every_form(tmp_path: Path) -> None:
    (tmp_path / "metrics.toml").write_text(registry_text(used=FOUR_WEEKS | {"epsilon": 4}))
    (tmp_path / "answers.csv").write_text(ANSWERS)
    call = ["rehearse", "--registry", str(tmp_path / "metrics.toml"), "--csv", str(tmp_path / "answers.csv")]
    forms = {
        form: CliRunner().invoke(command, [*call, "--seed", "1", "--rounds", "2", "--format", form]).stdout
        for form in ("json", "csv", "table")
    }
    (metric,) = json.loads(forms["json"])["metrics"]
    expected = {1: 0.6, 7: 0.3, 14: 0.1, 28: 0.04}
    assert {share["value"]: share["truth"] for share in listed(metric, "share_at_least")} == pytest.approx(expected)
    assert metric["coverage"]["share_at_least"]["rounds"] == 2
    rows = [row for row in csv.DictReader(io.StringIO(forms["csv"])) if row["statistic"] == "share_at_least"]
    assert {int(row["value"]): float(row["truth"]) for row in rows} == pytest.approx(expected)
    assert "1 day or more" in forms["table"]
    assert "    share_at_least " in forms["table"]


def test_a_glance_and_a_sentence_tell_who_comes_once_a_week_in_every_window() -> None:
    registry = Registry.parse(registry_text(m=FOUR_WEEKS | {"epsilon": 4}))
    metric = registry.metric("m")
    counts = [1 + 1000 * (symbol == metric.channel.symbols - 1) for symbol in range(metric.channel.symbols)]
    tallies = [
        Tally("m", metric.edition, Window.parse(window), closed=True, reports=sum(counts), counts=tuple(counts))
        for window in ("2026-W46", "2026-W47")
    ]
    report = make_report(registry, tallies)
    shown = as_summary(report)
    assert "were used on 7 days or more." in shown
    assert "Other windows: 7 days or more" in shown
    assert all(f"  {days} or more" in shown for days in ("1 day", "7 days", "14 days", "28 days"))
    html = as_html(report, registry)
    assert "Share of devices that were used on" in html


def test_the_headline_is_the_figure_of_the_sentence() -> None:
    metric = metric_of(FOUR_WEEKS)
    used = estimated(metric, [1 + symbol for symbol in range(metric.channel.symbols)])
    assert used.headline == FigureKey("share_at_least", used.figures("share_at_least").labels[1])
    count = metric_of(COUNT)
    counted = estimated(count, [1] * count.channel.symbols)
    assert counted.estimates is not None
    assert counted.headline == FigureKey("share", int(counted.estimates.unbiased.argmax()))
