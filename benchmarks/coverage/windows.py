"""The coverage of intervals for figures over several windows: changes, and pooled windows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Final

import numpy as np

from benchmarks.coverage.cells import Cell, Figure, Held, holds
from client_sdk.protocol import Metric, Window
from client_sdk.protocol.kinds.number import Number
from client_sdk.protocol.mechanisms.permanent import Permanent
from estimator.analyses.metric import analysis_of
from estimator.decoders.inversions import sampler_of
from estimator.report.changes import changes_of
from estimator.report.same_people import pooled
from estimator.results.metric import MetricEstimate
from estimator.results.report import PLAIN
from estimator.statistics.arrays import Counts, Floats
from estimator.tallies import Tally
from tests.support.devices.definitions import BOOLEAN, CATEGORY, NUMBER, Field, metric_of
from tests.support.estimates.populations import HOSTILE, POPULATIONS, Population

PERMANENT: Final[dict[str, Field]] = {"permanent_epsilon": 4}

METRICS: Final = {
    "boolean, epsilon 1": metric_of(BOOLEAN),
    "boolean, epsilon 6": metric_of(BOOLEAN | {"epsilon": 6}),
    "category, 3 values, epsilon 8": metric_of(CATEGORY | {"epsilon": 8}),
    "boolean, permanent answers": metric_of(BOOLEAN | PERMANENT),
    "mean, epsilon 0.5": metric_of(NUMBER),
    "mean, epsilon 8": metric_of(NUMBER | {"epsilon": 8}),
}

SIZES: Final = {
    "60 reports per window": (60, 60),
    "60 reports, then 5,000": (60, 5000),
    "2,000 reports per window": (2000, 2000),
}

WINDOWS: Final = 5

OTHERS: Final = "different people"
SAME: Final = "the same people"
OPPOSITE: Final = "the same people with opposite answers"
WHO: Final = (OTHERS, SAME, OPPOSITE)


@dataclass(frozen=True, slots=True)
class Survey:
    """A simulated metric, and the people and their answers in each window.

    Attributes:
        who: the people who answer: different people in each window, the same people, or the same
            people with opposite answers in every second window.

    """

    metric: Metric
    people: Population
    reports: tuple[int, ...]
    who: str

    @property
    def width(self) -> float:
        """The length of the range of the figures: 1 for shares."""
        return 9.0 if isinstance(self.metric.kind, Number) else 1.0

    @property
    def true_changes(self) -> Floats:
        """The true change of each share, or of the mean, from the first window to the second."""
        shares = self.people.on_grid(self.metric.channel.inputs)
        mean = 1 - 2 * self.people.mean if self.who == OPPOSITE else 0.0
        if isinstance(self.metric.kind, Number):
            return np.array([self.width * mean])
        return shares[::-1] - shares if self.who == OPPOSITE else np.zeros(shares.size)

    def estimated(self, draws: int, generator: np.random.Generator) -> Iterator[list[MetricEstimate]]:
        days = [Window.parse(f"2026-11-{day:02}") for day in range(1, len(self.reports) + 1)]
        name, edition = self.metric.name, self.metric.edition
        tallies = [
            Tally(name, edition, day, closed=True, reports=int(counts.sum()), counts=tuple(counts.tolist()))
            for _ in range(draws)
            for day, counts in zip(days, self._drawn(generator), strict=True)
        ]
        in_order = analysis_of(self.metric).estimates(tallies, PLAIN)
        for _ in range(draws):
            yield [next(in_order) for _ in days]

    def _drawn(self, generator: np.random.Generator) -> list[Counts]:
        """Return a random tally for each window. The same people keep their permanent answers."""
        channel, shares = self.metric.channel, self.people.on_grid(self.metric.channel.inputs)
        inputs = [generator.multinomial(reports, shares / shares.sum()) for reports in self.reports]
        first = inputs[0]
        if self.who == OPPOSITE:  # the noise of a permanent answer is drawn anew for another answer
            inputs = [first if place % 2 == 0 else first[::-1] for place in range(len(inputs))]
        if self.who == SAME:
            if isinstance(channel, Permanent):
                first, channel = sampler_of(channel.permanent)(first, generator), channel.instantaneous
            inputs = [first] * len(inputs)
        return [sampler_of(channel)(each, generator) for each in inputs]


def of_changes() -> Iterator[Cell]:
    """Yield the cells of changes between two windows.

    In the second window, the same people report, or different people with the same distribution.
    """
    for (name, metric), (sizes, reports), who, population in product(METRICS.items(), SIZES.items(), WHO, HOSTILE):
        if who == OTHERS or len({*reports}) == 1:
            survey = Survey(metric, POPULATIONS[population](reports[0]), reports, who)
            yield Cell(f"{name}, {sizes}, {who}", population, partial(_changes_held, survey))


def of_pooled() -> Iterator[Cell]:
    """Yield the cells of pooled windows, with the same people or different people."""
    for (name, metric), reports, who, population in product(METRICS.items(), (60, 1000), (SAME, OTHERS), HOSTILE):
        survey = Survey(metric, POPULATIONS[population](reports), (reports,) * WINDOWS, who)
        yield Cell(
            f"{name}, {who} in {WINDOWS} windows of {reports:,} reports", population, partial(_pooled_held, survey)
        )


def _changes_held(survey: Survey, draws: int, generator: np.random.Generator) -> Held:
    metrics = {survey.metric.name: survey.metric}
    changes = [changes_of(windows, metrics)[0] for windows in survey.estimated(draws, generator)]
    ends = np.array([[(change.low, change.high) for _, change in each] for each in changes])
    return holds(ends[..., 0], ends[..., 1], survey.true_changes)


def _pooled_held(survey: Survey, draws: int, generator: np.random.Generator) -> Held:
    metric, people = survey.metric, survey.people
    together = [pooled(windows, {metric.name: metric})[0] for windows in survey.estimated(draws, generator)]
    figures = [[figure for group in estimate.groups for figure in group.figures] for estimate in together]
    ends = np.array([[(figure.low, figure.high) for figure in each] for each in figures])
    truths = np.array([9 * people.mean]) if isinstance(metric.kind, Number) else people.on_grid(metric.channel.inputs)
    return holds(ends[..., 0], ends[..., 1], truths)


FIGURES: Final = (
    Figure(
        "a change between windows",
        "Zou & Donner 2008, at the worst correlation",
        "measured",
        of_changes,
        draws=100,
    ),
    Figure(
        "all windows together",
        "sum of the errors (Minkowski)",
        "measured",
        of_pooled,
        draws=100,
    ),
)
