"""Allocations against the best one on a fine grid, tried with the real channels."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from client_sdk.protocol import Registry
from client_sdk.protocol.epsilon import NANOS
from estimator.errors import PlanError
from estimator.plan.allocation import Candidates, allocate
from estimator.plan.target_error import usual_error, usual_variance
from tests.support.devices.definitions import BOOLEAN, CATEGORY, NUMBER, Toml, registry_text

STEPS = 240
"""The number of steps into which the grid divides the total. The grid's best allocation is no
farther from the best of all than its neighbors are from each other.
"""

WITHIN = 1.01
"""How far the worst error may be above the best: one percent, as promised."""

MANY = [str(value) for value in range(200)]

CASES = [
    ({"a": BOOLEAN, "b": CATEGORY}, {"a": 1.0, "b": 1.0}, 2.0),
    ({"a": BOOLEAN, "b": CATEGORY | {"values": MANY}, "c": NUMBER}, {"a": 1.0, "b": 4.0, "c": 0.5}, 3.0),
    ({"a": NUMBER, "b": NUMBER | {"mechanism": "laplace"}, "c": BOOLEAN}, {"a": 1.0, "b": 1.0, "c": 8.0}, 5.0),
]


def _goals(text: str, weights: dict[str, float]) -> dict[str, float]:
    return {name: usual_error(metric) / weights[name] for name, metric in Registry.parse(text).metrics.items()}


def _best(text: str, goals: dict[str, float], total: float) -> float:
    """Return the smallest worst error of all allocations of the grid, for one device."""
    candidates = Candidates.from_toml(text)
    errors = {
        name: [
            math.sqrt(usual_variance(candidates.at(name, f"{total * step / STEPS:.9f}"))) / goal
            for step in range(1, STEPS)
        ]
        for name, goal in goals.items()
    }
    first, *others = goals
    least = math.inf
    for steps in product(range(1, STEPS), repeat=len(others)):
        left = STEPS - sum(steps)
        if left > 0:
            worst = max(errors[name][step - 1] for name, step in zip(others, steps, strict=True))
            least = min(least, max(worst, errors[first][left - 1]))
    return least


@pytest.mark.long
@pytest.mark.parametrize(("metrics", "weights", "total"), CASES)
def test_the_worst_error_is_within_one_percent_of_the_best(
    metrics: dict[str, dict[str, object]], weights: dict[str, float], total: float
) -> None:
    text = registry_text(**metrics)  # type: ignore[arg-type]
    goals = _goals(text, weights)
    allocation = allocate(text, int(total * NANOS), goals, 1)
    assert allocation.largest.after <= WITHIN * _best(text, goals, total)
    after = Registry.parse(allocation.text)
    assert sum(metric.epsilon_nanos for metric in after.metrics.values()) <= total * NANOS
    assert [row.after.standard_error for row in allocation.metrics] == [
        math.sqrt(usual_variance(metric)) for metric in after.metrics.values()
    ]


def test_of_drawn_metrics_no_other_number_with_one_epsilon_for_all_is_better() -> None:
    budget = 'strategy = "sample"\nanswers = 2\n'
    metrics = {f"m{number}": CATEGORY for number in range(6)}
    text = registry_text(**metrics).replace("lifetime = 400\n", f"lifetime = 400\n{budget}")
    goals = _goals(text, dict.fromkeys(metrics, 1.0))
    allocation = allocate(text, 2 * NANOS, goals, 1)
    candidates = Candidates.from_toml(text)
    best = min(
        math.sqrt(usual_variance(candidates.at("m0", f"{2 / answers:.6f}")) * 6 / answers) / goals["m0"]
        for answers in range(1, 7)
    )
    assert allocation.largest.after <= WITHIN * best
    assert Registry.parse(allocation.text).budget.answers == allocation.answers.after == 1


def test_only_the_lines_of_epsilons_change() -> None:
    text = registry_text(a=BOOLEAN, b=CATEGORY | {"epsilon": Toml('"ln 3"  # two coins')})
    text = text.replace("[metric.b]", '# epsilon = 7\n  [ metric . "b" ]  # of b')
    allocation = allocate(text, 2 * NANOS, _goals(text, {"a": 1, "b": 1}), 1).text
    before, after = text.splitlines(), allocation.splitlines()
    changed = [line for line, other in zip(before, after, strict=True) if line != other]
    assert changed == ["epsilon = 1", 'epsilon = "ln 3"  # two coins']
    assert [line for line in after if line.endswith("  # two coins")]


@pytest.mark.parametrize(
    "metrics",
    [
        '[metric.a]\n"epsilon" = 1  # quoted\nkind = "boolean"\npurpose = "Why?"\n',
        '[metric]\na = { purpose = "Why?", epsilon = 1, kind = "boolean" }  # inline\n',
        '[metric]\na.epsilon = 1  # dotted\na.kind = "boolean"\na.purpose = "Why?"\n',
        '[metric."a"]\r\nepsilon = 1\r\nkind = "boolean"\r\npurpose = "Why?"\r\n',
    ],
)
def test_an_epsilon_is_rewritten_in_every_form_that_toml_has(metrics: str) -> None:
    text = registry_text(a=BOOLEAN)
    text = text[: text.index("[metric")] + metrics
    allocated = allocate(text, 2 * NANOS, _goals(text, {"a": 1}), 1).text
    assert allocated == text.replace("epsilon = 1", "epsilon = 2").replace('"epsilon" = 1', '"epsilon" = 2')


def test_permanent_answers_bound_epsilon() -> None:
    text = registry_text(a=BOOLEAN | {"permanent_epsilon": 1, "epsilon": 0.5}, c=BOOLEAN)
    allocation = allocate(text, 9 * NANOS, _goals(text, {"a": 9, "c": 1}), 1)
    assert Registry.parse(allocation.text).metrics["a"].epsilon_nanos == NANOS


def test_an_allocation_is_never_worse_than_what_was_there() -> None:
    text = registry_text(a=BOOLEAN, b=BOOLEAN)
    goals = _goals(text, {"a": 1, "b": 1})
    allocation = allocate(text, 2 * NANOS, goals, 1)
    assert allocation.largest.after <= allocation.largest.before
    assert np.allclose([row.after.epsilon for row in allocation.metrics], 1)


def test_more_than_a_ceiling_is_not_allocated() -> None:
    text = registry_text(a=BOOLEAN)
    with pytest.raises(PlanError, match="lowest ceiling"):
        allocate(text, 21 * NANOS, _goals(text, {"a": 1}), 1)


def test_metrics_that_keep_their_epsilon_are_paid_first() -> None:
    text = registry_text(a=BOOLEAN, b=BOOLEAN | {"epsilon": 2})
    goals = _goals(text, {"a": 1, "b": 1})
    allocation = allocate(text, 3 * NANOS, {"a": goals["a"]}, 1)
    assert Registry.parse(allocation.text).metrics["b"].epsilon_nanos == 2 * NANOS
    with pytest.raises(PlanError, match="use up the whole total"):
        allocate(text, 2 * NANOS, {"a": goals["a"]}, 1)


def test_without_a_metric_that_is_still_asked_nothing_is_allocated() -> None:
    with pytest.raises(PlanError, match="all questions have expired"):
        allocate(registry_text(a=BOOLEAN), NANOS, {}, 1)
