"""The epsilons that make the worst error, relative to what is wanted, as small as a total of a window allows.

Errors are those of a share where all are alike, or of a mean in the worst population. In every mechanism their
variance is that of the answers themselves and a noise that falls with epsilon nearly as
e**epsilon / (e**epsilon - 1)**2 does: exactly so in randomised response, and for subset selection of many values (Ye &
Barg 2018, theorem III.1). So the noise of the real channel at some epsilon gives a curve; where all errors are the same
multiple of what is wanted is found by bisection, and the curves are taken anew from the channels there, until nothing
moves.

Where questions are drawn, each is answered by fewer devices, but at a larger epsilon: every number of answers is tried.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from client_sdk.protocol import Metric, Registry, Strategy
from client_sdk.protocol.epsilon import GREATEST, LEAST, NANOS, as_float
from client_sdk.protocol.metric import Protects
from estimator.errors import PlanError
from estimator.plan.error_curves import RESOLVED, Curves
from estimator.plan.recalibration import Candidates
from estimator.plan.registry_patch import rewritten, written
from estimator.plan.target_error import usual_variance
from estimator.plan.variance import mean_range, share_factor
from estimator.privacy.horizon import IN_WINDOW
from estimator.statistics.arrays import Floats

ROUNDS: Final = 8
"""Of taking the curves anew; four are usual, and only a design that changes back and forth needs more."""

STILL: Final = 1e-4
"""An epsilon that moves by no more than this part stands still: an error moves by about as little."""


@dataclass(frozen=True, slots=True)
class Row:
    """One metric before and after: epsilon, and the standard error, in the metric's units."""

    name: str
    wanted: float
    epsilon_before: float
    epsilon_after: float
    error_before: float
    error_after: float


@dataclass(frozen=True, slots=True)
class Allocation:
    """What was found.

    Attributes:
        text: the registry with the new numbers.
        rows: the metrics whose epsilon was looked at.
        answers_before: how many questions a window asks, where they are drawn; else none.
        answers_after: how many it should ask.

    """

    text: str
    rows: tuple[Row, ...]
    answers_before: int | None
    answers_after: int | None

    @property
    def worst(self) -> tuple[float, float]:
        """The largest error before and after, as a multiple of what is wanted."""
        return (
            max(row.error_before / row.wanted for row in self.rows),
            max(row.error_after / row.wanted for row in self.rows),
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Tried:
    """Metrics at some epsilons.

    Attributes:
        metrics: with their real channels.
        answers: how many of all are asked in a window, where they are drawn.
        variances: of one report.
        errors: standard errors, but for the root of the number of devices.
        texts: the epsilons as they would be written; none where they stand in the file.

    """

    metrics: list[Metric]
    answers: int | None
    variances: Floats
    errors: Floats
    texts: list[str]

    @classmethod
    def of(cls, metrics: list[Metric], answers: int | None, texts: Sequence[str] = ()) -> _Tried:
        """Look up the variances."""
        variances = np.array([usual_variance(metric) for metric in metrics])
        part = 1.0 if answers is None else min(1.0, answers / len(metrics))
        return cls(metrics, answers, variances, np.sqrt(variances / part), list(texts))


def allocate(text: str, total_nanos: int, wanted: Mapping[str, float], devices: int) -> Allocation:
    """Return the best epsilons of a registry.

    Args:
        text: the registry's TOML.
        total_nanos: what all reports within a window of the budget may cost together, in billionths.
        wanted: of each metric the standard error that counts as one; those that are not named stay as they are.
        devices: how many there are.

    Raises:
        PlanError: if the total is above the ceiling, nothing can be allocated, or the text cannot be rewritten.

    """
    candidates = Candidates.of(text)
    registry = candidates.registry
    names = [name for name in wanted if registry.metrics[name].protects is not Protects.PATTERN]
    if not names:
        raise PlanError("there is no metric whose epsilon is charged in every window; nothing can be allocated")
    ceiling = registry.budget.least_ceiling_nanos
    if total_nanos > ceiling:
        raise PlanError(
            f"the least ceiling of [budget] is {as_float(ceiling):.6g}; allocate no more, or raise it first"
        )
    free = total_nanos - sum(cost(metric, registry) for metric in registry.metrics.values() if metric.name not in names)
    if free <= 0:
        raise PlanError("the metrics that keep their epsilon cost the whole total; allocate more")
    if free < _least_cost(names, registry):
        raise PlanError(f"so little cannot be shared out, for no epsilon is below {LEAST:f}; allocate more")
    before = _Tried.of([registry.metrics[name] for name in names], registry.budget.answers)
    goals = np.array([wanted[name] for name in names])
    tried = [before, *_search(candidates, before, goals, free / NANOS)]
    costs = sorted((cost(metric, registry) for metric in before.metrics), reverse=True)
    if sum(costs[: before.answers]) > free:
        del tried[0]
    after = min(tried, key=lambda one: float(np.max(one.errors / goals)))
    return _allocation(text, before, after, goals, devices)


def cost(metric: Metric, registry: Registry) -> int:
    """Return what its reports within a window of the budget are charged, in billionths."""
    return IN_WINDOW[registry.budget.window][metric.window] * metric.charge_nanos


def _least_cost(names: Sequence[str], registry: Registry) -> int:
    """Return what the reports of a window are charged where every epsilon is the least, and one is drawn if any is."""
    counts = [IN_WINDOW[registry.budget.window][registry.metrics[name].window] for name in names]
    asked = max(counts) if registry.budget.strategy is Strategy.SAMPLE else sum(counts)
    return asked * int(LEAST * NANOS)


def _search(candidates: Candidates, start: _Tried, goals: Floats, total: float) -> Iterator[_Tried]:
    """Yield real channels, each list nearer to the best one."""
    registry, found = candidates.registry, start
    epsilons = np.zeros(goals.size)
    for _ in range(ROUNDS):
        answers, wished = _filled(_curves(found, registry, goals), total, registry)
        texts = [written(epsilon) for epsilon in wished.tolist()]
        metrics = [candidates.at(metric.name, text) for metric, text in zip(start.metrics, texts, strict=True)]
        found = _Tried.of(metrics, answers, texts)
        yield found
        if float(np.max(np.abs(wished - epsilons) / wished)) <= STILL:
            break
        epsilons = wished


def _filled(curves: Curves, total: float, registry: Registry) -> tuple[int | None, Floats]:
    if registry.budget.strategy is not Strategy.SAMPLE:
        return None, curves.fill(total, None)[1]
    several = {answers: curves.fill(total, answers) for answers in range(1, curves.wanted.size + 1)}
    answers = min(several, key=lambda one: several[one][0])
    return answers, several[answers][1]


def _curves(tried: _Tried, registry: Registry, goals: Floats) -> Curves:
    epsilons = np.array([as_float(metric.epsilon_nanos) for metric in tried.metrics])
    floor = np.array([_floor(metric) for metric in tried.metrics])
    noise = np.maximum(tried.variances - floor, tried.variances * RESOLVED) * 4 * np.sinh(epsilons / 2) ** 2
    most = [as_float(one.permanent_nanos) if one.permanent_nanos else float(GREATEST) for one in tried.metrics]
    counts = [float(IN_WINDOW[registry.budget.window][metric.window]) for metric in tried.metrics]
    return Curves(goals, floor, noise, np.array(most), np.array(counts))


def _allocation(text: str, before: _Tried, after: _Tried, goals: Floats, devices: int) -> Allocation:
    names = [metric.name for metric in before.metrics]
    made = rewritten(text, dict(zip(names, after.texts, strict=True)), after.answers) if after.texts else text
    columns = [goals.tolist()]
    columns += [[as_float(metric.epsilon_nanos) for metric in one.metrics] for one in (before, after)]
    columns += [(one.errors / math.sqrt(devices)).tolist() for one in (before, after)]
    rows = tuple(Row(*row) for row in zip(names, *columns, strict=True))
    return Allocation(made, rows, before.answers, after.answers)


def _floor(metric: Metric) -> float:
    """Return the variance of an answer that is reported as it is: of a share where all are alike, or of a mean."""
    if not metric.domain.labels:
        return mean_range(metric) ** 2 / 4
    share = 1 / metric.channel.inputs
    return share_factor(metric) ** 2 * share * (1 - share)
