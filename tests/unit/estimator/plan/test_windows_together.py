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
from client_sdk.protocol import Registry, Window
from estimator.analyses.metric import estimate
from estimator.commands.cli import command
from estimator.plan.plan import MetricPlan, PlanRequest, make_plan
from estimator.report.same_people import windows_of
from estimator.statistics.confidence import Z_OF_POWER, z_of
from estimator.tallies import Tally
from tests.support.devices.definitions import BOOLEAN, CATEGORY, NUMBER, TEXT, registry_text

DEVICES, WEEKS = 4000, 13
DAY = date(2026, 11, 21)


def planned(windows: int | None, **metrics: dict[str, Any]) -> list[MetricPlan]:
    registry = Registry.parse(registry_text(**{name: each | {"window": "week"} for name, each in metrics.items()}))
    return list(make_plan(registry, PlanRequest(DEVICES, DAY, windows=windows)).metrics)


@pytest.mark.parametrize("fields", [BOOLEAN, BOOLEAN | {"permanent_epsilon": 4, "epsilon": 3}])
def test_errors_over_windows_are_those_of_a_report_of_the_worst_tally(fields: dict[str, Any]) -> None:
    metric = Registry.parse(registry_text(yes=fields | {"window": "week"})).metric("yes")
    half = (DEVICES // 2, DEVICES // 2)
    tally = Tally(metric.name, metric.edition, Window.parse("2026-W47"), closed=True, reports=DEVICES, counts=half)
    weights = np.full((2, 2 * WEEKS), 1 / WEEKS)
    weights[0, :WEEKS] *= -1
    weights[1, WEEKS:] = 0
    sums = windows_of([estimate(metric, tally)] * 2 * WEEKS, "share", metric).weighted(weights)
    (plan,) = planned(WEEKS, yes=fields)
    (quarter,) = (each.smallest for each in plan.changes if each.period == "quarter")
    assert plan.together is not None
    assert plan.together.windows == WEEKS
    assert plan.together.standard_error_worst == pytest.approx(sums.errors[1, 1], rel=1 / DEVICES)
    assert quarter == pytest.approx((z_of(1) + Z_OF_POWER) * sums.errors[0, 1], rel=1 / DEVICES)


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
    assert shown.count("59 weeks together tell ") == len(Registry.read(Path(STARTER)).metrics)
    assert "change seen in a quarter " in shown
    quarter = _run("--population", "20000", "--windows", "13", "--wanted-error", "dark_mode=0.01")
    assert "too few to tell a share to within 2.0 points (95%) over 13 weeks: needs about 120,000 devices" in quarter
    assert "13 weeks together tell the mean to within " in quarter
    enough = _run("--population", "120000", "--windows", "13", "--wanted-error", "dark_mode=0.01")
    assert "enough to tell a share to within 1.9 points (95%) over 13 weeks" in enough
