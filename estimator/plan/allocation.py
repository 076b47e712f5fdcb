"""The division of a total epsilon among metrics.

Each metric has a target error. The division minimizes the largest ratio of a metric's error to its
target. For example, errors of 3 and 2 points with targets of 2 and 1 points have the ratios 1.5 and
2, so the largest ratio is 2.

For a metric with shares, the error is the standard error of a share, computed as if all shares were
equal. For other metrics, the error is the standard error of the mean, for the distribution of
answers with the largest variance. The squared error is proportional to the variance of the answers
plus the variance of the channel's noise. The variance of the noise decreases with epsilon almost
like e**epsilon / (e**epsilon - 1)**2. This formula is exact for randomized response, and for subset
selection of many values (Ye & Barg 2018, theorem III.1).

A search finds the epsilons. Each round of the search has three steps:

1. Build each metric's channel at the current epsilon and compute the variance of its noise.
2. Extrapolate this variance to other epsilons with the formula above.
3. Find, by bisection, the epsilons that use up the total and give all metrics the same ratio.

The search ends when the epsilons no longer change, or after `ROUNDS` rounds.

With ``strategy = "sample"``, a device answers only some metrics in a window. Each metric then has
fewer reports, but a larger epsilon, than if devices answered all metrics. The search tries every
number of answers per window.
"""

from __future__ import annotations

import difflib
import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_DOWN, Decimal
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Final

import numpy as np
import tomlkit
from tomlkit.container import Container

from client_sdk.protocol.budget import Strategy
from client_sdk.protocol.epsilon import NANOS, as_float
from client_sdk.protocol.horizon import IN_WINDOW
from client_sdk.protocol.mechanisms import AUTO, channel_for
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.requested_epsilon import GREATEST_EPSILON, LEAST_EPSILON, RequestedEpsilon
from estimator.analyses.metric import analysis_of
from estimator.errors import PlanError
from estimator.plan.target_error import usual_variance
from estimator.results.estimate import Record, says
from estimator.statistics.arrays import Floats

LOST = 1 + 2.0**-44
"""A factor by which an epsilon is multiplied before rounding down to `DIGITS` digits.

Without the factor, a float just below 2 would become 1.99999. The factor is so close to 1 that the
epsilons never noticeably exceed their total.
"""

DIGITS = 6
"""The number of significant digits of an epsilon.

More digits would change an error by less than 0.01% of the error.
"""

HIGHEST: Final = 2.0**64
"""The largest ratio of error to target that the search tries. The smallest is 1 / `HIGHEST`."""

HALVINGS: Final = 60
"""The number of bisection steps. With this number, the ratio of error to target is exact to the
last bit of a float.
"""

RESOLVED: Final = 2.0**-100
"""The minimum variance of the noise in `Curves`, as a fraction of the variance of a report. This
minimum prevents divisions by zero. At every valid epsilon, the variance of the noise exceeds this
minimum.
"""

ROUNDS: Final = 8
"""The maximum number of rounds of the search. Four rounds are usual.

More rounds are needed only if the search alternates between two designs of a mechanism. Each design
then leads to an epsilon at which the other design has less noise.
"""

STILL: Final = 1e-4
"""The largest relative change of an epsilon between two rounds that counts as no change.

The error changes by about the same fraction as the epsilon.
"""


class AtEpsilon(Record, frozen=True):
    """An epsilon for a metric, and the standard error at this epsilon."""

    epsilon: Annotated[float, says("the epsilon of one report.")]
    standard_error: Annotated[float, says("the standard error at this epsilon, in the metric's units.")]


class AllocatedMetric(Record, frozen=True):
    """The epsilon and the standard error of one metric before and after the allocation."""

    metric: Annotated[str, says("the name of the metric.")]
    wanted: Annotated[float, says("the target for the standard error, in the metric's units.")]
    before: Annotated[AtEpsilon, says("the epsilon in the registry, and the standard error at this epsilon.")]
    after: Annotated[AtEpsilon, says("the allocated epsilon, and the standard error at this epsilon.")]


class LargestError(Record, frozen=True):
    """The largest ratio of error to target, before and after the allocation."""

    before: float
    after: float


class AnswersInWindow(Record, frozen=True):
    """The number of metrics that a device answers in a window, before and after the allocation.

    None means that the device answers all metrics.
    """

    before: Annotated[int | None, says("the number in the registry.")]
    after: Annotated[int | None, says("the recommended number.")]


class Allocation(Record, frozen=True):
    """The recommended epsilons of a registry's metrics, and the present epsilons."""

    unwritten: ClassVar[frozenset[str]] = frozenset({"text"})

    metrics: Annotated[tuple[AllocatedMetric, ...], says("the metrics that receive a part of the total.")]
    largest: Annotated[LargestError, says("the largest error, as a multiple of its target.")]
    answers: Annotated[AnswersInWindow, says("the number of questions that a device answers in a window.")]
    diff: Annotated[str, says("a patch for the registry. Empty if no allocation lowers the largest error.")]
    text: Annotated[str, says("the text of the registry with the new epsilons.")]


@dataclass(frozen=True, slots=True, eq=False)
class _Candidate:
    """The metrics of a registry at given epsilons.

    ``answers`` is the number of metrics that a device answers in a window, or None for all metrics.
    ``variances`` are for a single report, and ``errors`` are standard errors for a single device.
    Both have shape (metrics,). ``texts`` contains the epsilons as TOML numbers. ``texts`` is empty
    if the epsilons are those in the registry.
    """

    metrics: list[Metric]
    answers: int | None
    variances: Floats
    errors: Floats
    texts: list[str]

    @classmethod
    def from_metrics(cls, metrics: list[Metric], answers: int | None, texts: Sequence[str] = ()) -> _Candidate:
        variances = np.array([usual_variance(metric) for metric in metrics])
        part = 1.0 if answers is None else min(1.0, answers / len(metrics))
        return cls(metrics, answers, variances, np.sqrt(variances / part), list(texts))


def allocate(
    text: str, total_nanos: int, target_errors: Mapping[str, float], devices: int, name: str = "metrics.toml"
) -> Allocation:
    """Return the epsilons that minimize the largest ratio of a metric's error to its target.

    The result contains a patch of the registry. ``text`` is the registry's TOML, and ``name`` is
    the file name for the patch.
    ``total_nanos`` is the total epsilon of a device's reports in a window of the budget, in
    billionths. A metric keeps its epsilon if ``target_errors`` has no entry for the metric. Raise
    `PlanError` if the total exceeds a ceiling in ``[budget]``, or if nothing can be allocated.
    """
    candidates = Candidates.from_toml(text)
    registry = candidates.registry
    names = list(target_errors)
    if not names:
        raise PlanError("all questions have expired; nothing can be allocated")
    ceiling = registry.budget.least_ceiling_nanos
    if total_nanos > ceiling:
        raise PlanError(
            f"the lowest ceiling in [budget] is {as_float(ceiling):.6g}; allocate no more, or raise it first"
        )
    free = total_nanos - sum(cost(metric, registry) for metric in registry.metrics.values() if metric.name not in names)
    if free <= 0:
        raise PlanError("the metrics that keep their epsilon use up the whole total; allocate a larger total")
    if free < _least_cost(names, registry):
        raise PlanError(f"the total is too small: no epsilon can be below {LEAST_EPSILON:f}; allocate a larger total")
    before = _Candidate.from_metrics([registry.metrics[name] for name in names], registry.budget.answers)
    goals = np.array([target_errors[name] for name in names])
    tried = [before, *_search(candidates, before, goals, free / NANOS)]
    costs = sorted((cost(metric, registry) for metric in before.metrics), reverse=True)
    if sum(costs[: before.answers]) > free:
        del tried[0]
    after = min(tried, key=lambda candidate: float(np.max(candidate.errors / goals)))
    return _allocation(text, name, before, after, goals, devices)


def cost(metric: Metric, registry: Registry) -> int:
    """Return the total epsilon of one device's reports on a metric, in billionths.

    The total is for a window of the budget.
    """
    return IN_WINDOW[registry.budget.window][metric.window] * metric.epsilon_nanos


def _least_cost(names: Sequence[str], registry: Registry) -> int:
    """Return the cost of a window's reports at the lowest valid epsilon, in billionths.

    With ``strategy = "sample"``, a device may answer only one metric per window. The result is then
    the cost of the metric with the most reports.
    """
    counts = [IN_WINDOW[registry.budget.window][registry.metrics[name].window] for name in names]
    reports = max(counts) if registry.budget.strategy is Strategy.SAMPLE else sum(counts)
    return reports * int(LEAST_EPSILON * NANOS)


def _search(candidates: Candidates, start: _Candidate, goals: Floats, total: float) -> Iterator[_Candidate]:
    """Yield one candidate per round. The largest ratio of error to target usually decreases."""
    registry, candidate = candidates.registry, start
    epsilons = np.zeros(goals.size)
    for _ in range(ROUNDS):
        answers, allocated = _filled(_curves(candidate, registry, goals), total, registry)
        texts = [written(epsilon) for epsilon in allocated.tolist()]
        metrics = [candidates.at(metric.name, text) for metric, text in zip(start.metrics, texts, strict=True)]
        candidate = _Candidate.from_metrics(metrics, answers, texts)
        yield candidate
        if float(np.max(np.abs(allocated - epsilons) / allocated)) <= STILL:
            break
        epsilons = allocated


def _filled(curves: Curves, total: float, registry: Registry) -> tuple[int | None, Floats]:
    """Minimize the largest ratio, and return the number of answers per window and the epsilons.

    The ratio is a metric's error divided by its target. The number of answers is None if a device
    answers all metrics.
    """
    if registry.budget.strategy is not Strategy.SAMPLE:
        return None, curves.fill(total, None)[1]
    filled = {answers: curves.fill(total, answers) for answers in range(1, curves.targets.size + 1)}
    best = min(filled, key=lambda answers: filled[answers][0])
    return best, filled[best][1]


def _curves(candidate: _Candidate, registry: Registry, goals: Floats) -> Curves:
    epsilons = np.array([as_float(metric.epsilon_nanos) for metric in candidate.metrics])
    floor = np.array([_floor(metric) for metric in candidate.metrics])
    noise = np.maximum(candidate.variances - floor, candidate.variances * RESOLVED) * 4 * np.sinh(epsilons / 2) ** 2
    most = [
        as_float(metric.channel.permanent_nanos) if metric.channel.permanent_nanos else float(GREATEST_EPSILON)
        for metric in candidate.metrics
    ]
    counts = [float(IN_WINDOW[registry.budget.window][metric.window]) for metric in candidate.metrics]
    return Curves(goals, floor, noise, np.array(most), np.array(counts))


def _allocation(  # noqa: PLR0913, PLR0917 both sides and the measures of their comparison
    text: str, name: str, before: _Candidate, after: _Candidate, goals: Floats, devices: int
) -> Allocation:
    names = [metric.name for metric in before.metrics]
    new = rewritten(text, dict(zip(names, after.texts, strict=True)), after.answers) if after.texts else text
    sides = [
        [
            AtEpsilon(as_float(metric.epsilon_nanos), error)
            for metric, error in zip(side.metrics, (side.errors / math.sqrt(devices)).tolist(), strict=True)
        ]
        for side in (before, after)
    ]
    rows = [AllocatedMetric(*row) for row in zip(names, goals.tolist(), *sides, strict=True)]
    return Allocation(
        metrics=tuple(rows),
        largest=LargestError(
            max(row.before.standard_error / row.wanted for row in rows),
            max(row.after.standard_error / row.wanted for row in rows),
        ),
        answers=AnswersInWindow(before.answers, after.answers),
        diff=diff(name, text, new),
        text=new,
    )


def _floor(metric: Metric) -> float:
    """Return the variance that a report would have if the channel added no noise.

    All shares are assumed to be equal. If the metric has no shares, return the largest possible
    variance.
    """
    analysis = analysis_of(metric)
    if analysis.squares is None:
        return analysis.width**2 / 4
    share = 1 / analysis.share_count
    return analysis.factor**2 * share * (1 - share)


@dataclass(frozen=True, slots=True)
class Candidates:
    """A registry with its present epsilons, and the TOML table of each metric."""

    registry: Registry
    tables: Mapping[str, Mapping[str, Any]]

    @classmethod
    def from_toml(cls, text: str) -> Candidates:
        """Parse the TOML of a registry."""
        return cls(Registry.parse(text), tomllib.loads(text, parse_float=Decimal)["metric"])

    def at(self, name: str, epsilon: str) -> Metric:
        """Return the metric with its channel at another epsilon.

        ``epsilon`` is a TOML number. Raise `PlanError` if no channel can have this epsilon.
        """
        metric, table = self.registry.metrics[name], self.tables[name]
        delta, utility, permanent = (table.get(key) for key in ("delta", "utility", "permanent_epsilon"))
        try:
            channel = channel_for(
                metric.kind,
                RequestedEpsilon.parse(Decimal(epsilon)),
                table.get("mechanism", AUTO),
                delta=None if delta is None else Fraction(delta),
                utility=None if utility is None else tuple(tuple(map(Fraction, row)) for row in utility),
                permanent=None if permanent is None else RequestedEpsilon.parse(permanent),
                has_no_answer=metric.has_no_answer,
            )
        except ValueError as error:
            raise PlanError(
                f"{name}: {error}; allocate a larger total, or accept larger errors of the other metrics"
            ) from error
        return replace(metric, channel=channel)


def written(epsilon: float) -> str:
    """Return an epsilon as TOML, rounded down to `DIGITS` significant digits."""
    number = Decimal(epsilon * LOST)
    last = Decimal(1).scaleb(number.adjusted() - DIGITS + 1)
    return format(number.quantize(last, ROUND_DOWN).normalize(), "f")


def rewritten(text: str, epsilons: Mapping[str, str], answers: int | None = None) -> str:
    """Return the text of a registry with new epsilons.

    ``epsilons`` contains the epsilon of each metric as a TOML number.

    The text may use any TOML notation for tables. If ``answers`` is None, the number of answers per
    window does not change.
    """
    document = tomlkit.parse(text)
    for name, epsilon in epsilons.items():
        _set(document, ("metric", name, "epsilon"), epsilon)
    if answers is not None:
        _set(document, ("budget", "answers"), str(answers))
    return tomlkit.dumps(document)


def diff(name: str, before: str, after: str) -> str:
    """Return a unified diff that the command ``patch`` applies to the file ``name``."""
    lines = difflib.unified_diff(before.splitlines(keepends=True), after.splitlines(keepends=True), name, name)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _set(document: Container, keys: tuple[str, ...], value: str) -> None:
    """Set a value in a TOML document. Keep the spaces and the comment on the value's line."""
    *tables, key = keys
    table = document
    for name in tables:
        table = table[name]
    table[key] = tomlkit.value(value)


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """The errors of all metrics as functions of epsilon. All arrays have shape (metrics,).

    Attributes:
        targets: the target standard errors, in the metrics' units.
        floor: the variance that one report would have if the channel added no noise, in squared
            units.
        noise: the variance of the noise, multiplied by 4 sinh(epsilon / 2)**2. A curve treats this
            product as constant.
        most: the largest epsilon that each metric may have.
        reports: the number of reports that a device sends on each metric in a window of the budget.

    """

    targets: Floats
    floor: Floats
    noise: Floats
    most: Floats
    reports: Floats

    def epsilons(self, multiple: float, part: float) -> Floats:
        """Return the epsilons at which each metric's ratio of error to target is ``multiple``.

        ``part`` is the fraction of devices that answer a metric in a window.
        """
        left = np.maximum((multiple * self.targets) ** 2 * part - self.floor, self.noise * RESOLVED)
        epsilons: Floats = np.clip(2 * np.arcsinh(np.sqrt(self.noise / left) / 2), float(LEAST_EPSILON), self.most)
        return epsilons

    def fill(self, total: float, answers: int | None) -> tuple[float, Floats]:
        """Return the smallest possible ratio of error to target, and the epsilons for this ratio.

        ``total`` is the total epsilon of a device's reports in a window. ``answers`` is the number
        of metrics that a device answers in a window, or None for all.
        """
        part = 1.0 if answers is None else answers / self.targets.size
        low, high = 1 / HIGHEST, HIGHEST
        for _ in range(HALVINGS):
            middle = math.sqrt(low * high)
            costs = np.sort(self.reports * self.epsilons(middle, part))[::-1]
            low, high = (low, middle) if costs[:answers].sum() <= total else (middle, high)
        return high, self.epsilons(high, part)
