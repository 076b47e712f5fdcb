"""What several windows show together: by the formulas of reports, and in words."""

from __future__ import annotations

import math
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from client_sdk.commands.registry_commands import STARTER
from client_sdk.protocol import Metric, Registry, Window
from estimator.analyses.metric import analysis_of, estimate
from estimator.commands.cli import command
from estimator.plan.plan import MetricPlan, PlanRequest, make_plan
from estimator.plan.windows_together import needed_together, together, variances_of, width_of
from estimator.report.same_people import Sums, windows_of
from estimator.statistics.confidence import Z_OF_POWER, z_of
from estimator.tallies import Tally
from tests.support.core.tables import for_each
from tests.support.devices.definitions import BOOLEAN, CATEGORY, NUMBER, SET, TEXT, metric_of, registry_text

pytestmark = pytest.mark.usefixtures("errors_alone")

DEVICES, WEEKS = 4000, 13
ROUNDED = 16 * np.finfo(float).eps
DAY = date(2026, 11, 21)


def planned(windows: int | None, devices: int = DEVICES, **metrics: dict[str, Any]) -> list[MetricPlan]:
    registry = Registry.parse(registry_text(**{name: each | {"window": "week"} for name, each in metrics.items()}))
    return list(make_plan(registry, PlanRequest(devices, DAY, windows=windows)).metrics)


def reported(metric: Metric, devices: int, windows: int) -> Sums:
    """Return the change from as many windows to as many others, and the mean of the latter."""
    half = np.zeros(metric.channel.symbols, dtype=np.int64)
    half[[0, -1]] = devices // 2
    tally = Tally(metric.name, metric.edition, Window.parse("2026-W47"), True, devices, tuple(half.tolist()))  # noqa: FBT003 closed
    weights = np.full((2, 2 * windows), 1 / windows)
    weights[0, :windows] *= -1
    weights[1, windows:] = 0
    estimated = estimate(metric, tally)
    return windows_of([estimated] * 2 * windows, estimated.compared[0].statistic, metric).weighted(weights)


@pytest.mark.slow
@pytest.mark.parametrize("devices", [DEVICES, 60], ids=["much noise", "little noise"])
@pytest.mark.parametrize("fields", [BOOLEAN, BOOLEAN | {"permanent_epsilon": 4, "epsilon": 3}])
def test_errors_over_windows_are_those_of_a_report_of_the_worst_tally(fields: dict[str, Any], devices: int) -> None:
    sums = reported(Registry.parse(registry_text(yes=fields | {"window": "week"})).metric("yes"), devices, WEEKS)
    (plan,) = planned(WEEKS, devices, yes=fields)
    (quarter,) = (each.smallest for each in plan.changes if each.period == "quarter")
    assert plan.together is not None
    assert plan.together.windows == WEEKS
    assert plan.together.standard_error_worst == pytest.approx(sums.errors[1, 1], rel=1 / devices)
    assert quarter == pytest.approx((z_of(1) + Z_OF_POWER) * sums.errors[0, 1], rel=1 / devices)


@pytest.mark.slow
@for_each("epsilon", [0.5, 1, 4])
@for_each("devices", [60, 344, 2000])
@for_each("fields", [BOOLEAN, BOOLEAN | {"permanent_epsilon": 8}, CATEGORY, NUMBER, SET])
def test_more_windows_never_make_an_error_worse(fields: dict[str, Any], devices: int, epsilon: float) -> None:
    metric = metric_of(fields, epsilon=epsilon)
    analysis = analysis_of(metric)
    variances = variances_of(analysis)
    assert variances is not None
    errors = [
        [variances.over(windows, devices), variances.of_change(windows, devices), *np.ravel(sums)]
        for windows in (1, 2, 3, 5, 13, 26, 39, 58, 100)
        for sums in [[each.max(axis=1) for each in reported(metric, devices, windows)[1:]]]
    ]
    assert (np.diff(errors, axis=0) <= ROUNDED * np.abs(errors[0])).all()


@pytest.mark.parametrize("windows", [1, 5, 58])
@pytest.mark.parametrize("error", [0.01, 0.03, 0.1, 0.4])
@pytest.mark.parametrize("fields", [BOOLEAN, NUMBER | {"statistic": "mean"}])
def test_one_report_fewer_than_needed_is_too_few(fields: dict[str, Any], error: float, windows: int) -> None:
    analysis = analysis_of(metric_of(fields))
    error *= width_of(analysis)
    needed = needed_together(analysis, windows, error)
    enough, too_few = together(analysis, windows, needed), together(analysis, windows, needed - 1)
    assert enough is not None
    assert enough.standard_error_worst <= error
    assert too_few is None or too_few.standard_error_worst > error


@pytest.mark.slow
def test_one_window_has_the_error_of_a_window_and_many_keep_that_of_the_choice_of_people() -> None:
    for windows in (1, 10_000):
        share, mean = planned(windows, yes=BOOLEAN, ms=NUMBER | {"statistic": "mean"})
        assert share.together is not None
        assert mean.together is not None
        assert share.share is not None
        assert mean.mean is not None
        if windows == 1:
            assert share.together.standard_error_worst == pytest.approx(share.share.standard_error_worst)
            assert mean.together.standard_error_worst == pytest.approx(mean.mean.standard_error_worst)
        assert share.together.standard_error_worst >= math.sqrt(0.25 / DEVICES)


@pytest.mark.slow
def test_every_figure_of_the_registry_has_its_part_of_the_level() -> None:
    (alone,) = planned(None, yes=BOOLEAN)
    both = planned(None, yes=BOOLEAN, os=CATEGORY, words=TEXT)
    assert both[0].changes[0].smallest is not None
    assert alone.changes[0].smallest is not None
    assert both[0].changes[0].smallest / alone.changes[0].smallest == pytest.approx(
        (z_of(2) + Z_OF_POWER) / (z_of(1) + Z_OF_POWER)
    )
    assert both[1].changes[0].smallest is None or both[1].changes[0].smallest > z_of(2 * 3) / math.sqrt(DEVICES)
    assert (both[2].changes, both[2].together) == ((), None)


def _run(*arguments: str) -> str:
    words = ["plan", "--registry", str(STARTER), "--today", str(DAY), *arguments]
    return " ".join(CliRunner().invoke(command, words).stdout.split())


@pytest.mark.slow
def test_the_starter_is_told_what_its_budget_shows_and_never_too_few() -> None:
    """Nobody named an error that would be too large."""
    shown = _run("--population", "20000")
    assert "too few" not in shown
    assert shown.count("59 weeks together estimate ") == len(Registry.read(Path(STARTER)).metrics)
    assert "detectable change in a quarter " in shown
    quarter = _run("--population", "20000", "--windows", "13", "--wanted-error", "dark_mode=0.01")
    assert (
        "too few to estimate a share to within 2.0 points (95%) over 13 weeks: needs about 120,000 devices" in quarter
    )
    assert "13 weeks together estimate the mean to within " in quarter
    enough = _run("--population", "120000", "--windows", "13", "--wanted-error", "dark_mode=0.01")
    assert "enough to estimate a share to within 1.9 points (95%) over 13 weeks" in enough
