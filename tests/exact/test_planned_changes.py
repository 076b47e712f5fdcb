"""A plan's smallest change is found by a report as often as the plan says, by the real laws."""

from __future__ import annotations

from datetime import date
from functools import lru_cache
from typing import Final

import numpy as np
import pytest

from client_sdk.protocol import Registry, Window
from estimator.analyses.metric import analysis_of
from estimator.plan.plan import PlanRequest, make_plan
from estimator.report.report import make_report
from estimator.results.report import ChangeVerdict, Request, Selection
from estimator.statistics.confidence import POWER, binomial_tail
from estimator.tallies import Tally
from tests.support.devices.definitions import BOOLEAN, NUMBER, registry_text

REGISTRY: Final = Registry.parse(
    registry_text(
        dark_mode=BOOLEAN | {"window": "week"},
        startup_ms=NUMBER | {"window": "week", "low": 0, "high": 1000, "statistic": "mean"},
        kept=BOOLEAN | {"window": "week", "permanent_epsilon": 4, "epsilon": 3},
    )
)
DEVICES: Final = 3000
WEEKS: Final = [Window.parse(f"2026-W{week}") for week in range(40, 48)]
TURN: Final = 4
"""The week of the change: a month of weeks lies before it, and one after."""

ENDS: Final = {"dark_mode": (False, True), "startup_ms": (0, 1000), "kept": (False, True)}
"""The answers of the people who differ most."""

ROUNDS: Final = 150

UNLIKELY: Final = 1e-4


@lru_cache
def smallest(name: str) -> float:
    """Return the smallest change within a month, as a part of the range."""
    plan = make_plan(REGISTRY, PlanRequest(DEVICES, date(2026, 9, 1)))
    (metric,) = (each for each in plan.metrics if each.metric == name)
    (month,) = (each.smallest for each in metric.changes if each.windows == TURN)
    low, high = ENDS[name]
    assert month is not None
    return month / (high - low)


def is_found(name: str, change: float, seed: int, *, opposed: bool) -> bool:
    """Draw all weeks, of people who answer alike until one question changes, and report.

    Args:
        name: the question that changes.
        change: of its mean, as a part of the range.
        seed: of people and noise.
        opposed: whether the same people then answer the other way round, or other people answer.

    """
    generator = np.random.default_rng(seed)
    tallies = []
    for metric in REGISTRY.metrics.values():
        share = (1 - change) / 2 if metric.name == name else 0.5
        analysis = analysis_of(metric)
        draw = analysis.draws([tuple(analysis.law(answer).items()) for answer in ENDS[metric.name]])
        high = generator.binomial(DEVICES, share)
        for week, window in enumerate(WEEKS):
            if week == TURN and metric.name == name:
                high = DEVICES - high if opposed else generator.binomial(DEVICES, 1 - share)
            counts = draw(np.array([DEVICES - high, high]), window, generator)
            tallies.append(
                Tally(metric.name, metric.edition, window, closed=True, reports=DEVICES, counts=counts.tolist())
            )
    report = make_report(REGISTRY, tallies, Selection(), Request(since=WEEKS[TURN]))
    return any(
        changes.metric == name and found.verdict is ChangeVerdict.HIGHER_SINCE
        for changes in report.changes
        for found in changes.found
    )


@pytest.mark.long
@pytest.mark.parametrize("name", ENDS)
@pytest.mark.parametrize("opposed", [True, False])
def test_a_planned_change_is_found_four_times_in_five(name: str, *, opposed: bool) -> None:
    found = sum(is_found(name, smallest(name), seed, opposed=opposed) for seed in range(ROUNDS))
    assert 1 - float(binomial_tail(found + 1, ROUNDS, POWER)) > UNLIKELY


@pytest.mark.long
@pytest.mark.parametrize("name", ENDS)
def test_a_smaller_change_of_the_same_people_is_found_less_often(name: str) -> None:
    """Two thirds of it: a plan that asks for much more than is needed would help nobody."""
    found = sum(is_found(name, smallest(name) * 2 / 3, seed, opposed=True) for seed in range(ROUNDS))
    assert float(binomial_tail(found, ROUNDS, POWER)) > 1 - UNLIKELY
