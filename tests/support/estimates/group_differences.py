"""How often groups that are alike are said to differ: ``python -m
tests.support.estimates.group_differences``.

Reports of several pairs of questions are drawn from populations in which the two answers are
independent, so that every difference between groups is chance.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

import numpy as np

from client_sdk.protocol import Registry, Window
from client_sdk.protocol.kinds.cross import Cross
from estimator.analyses.analysis import metric_fields
from estimator.analyses.pairs import joint_of
from estimator.analyses.ratios import Sample
from estimator.decoders.inversions import inverse_of
from estimator.report.conclusions import corrected_differences
from estimator.results.metric import MetricEstimate
from estimator.statistics.arrays import Floats
from tests.support.devices.definitions import Field, registry_text
from tests.support.estimates.inverses import uneven

WINDOW: Final = Window.parse("2026-11-20")
LEVEL: Final = 0.05
DRAWS: Final = 2000

SHAPES: Final = ((2, 2), (3, 2), (2, 4), (4, 3))
"""The numbers of groups and answers of a report's pairs of questions."""

CASES: Final = (("3", 200), ("3", 10_000), ("1", 10_000), ("1", 100_000))
"""Epsilon, and the number of reports of each question."""

Law = tuple[Floats, Floats]
"""The shares of groups, and of answers within each group: one row for each group, or one row for
all.
"""


def registry_of(epsilon: str, shapes: tuple[tuple[int, int], ...] = SHAPES) -> Registry:
    """Return pairs of questions with the given numbers of groups and answers."""
    metrics: dict[str, dict[str, Field]] = {}
    for number, sizes in enumerate(shapes):
        parts = [f"part_{number}_{part}" for part in range(2)]
        for part, size in zip(parts, sizes, strict=True):
            values = [f"{part} {value}" for value in range(size)]
            metrics[part] = {"purpose": "Why?", "kind": "category", "values": values, "epsilon": 1}
        metrics[f"pair_{number}"] = {"purpose": "Why?", "cross": parts, "epsilon": float(epsilon)}
    text = registry_text(**metrics)
    return Registry.parse(text.replace("per_window = 20", "per_window = 99"))


def nothing(groups: int, answers: int) -> Law:
    """Return a population whose groups answer alike; the groups differ in size, and the answers in
    frequency.
    """
    of_groups, within = (uneven(size) ** (1 / 3) for size in (groups, answers))
    return of_groups / of_groups.sum(), within / within.sum()


def estimates(registry: Registry, reports: int, generator: np.random.Generator) -> Iterator[MetricEstimate]:
    """Yield the estimate from a tally of each pair of questions, where no groups differ."""
    for metric in registry.metrics.values():
        if metric.kind.name == "cross":
            yield drawn(registry, metric.name, reports, np.outer(*nothing(*sizes(registry, metric.name))), generator)


def sizes(registry: Registry, name: str) -> tuple[int, int]:
    """Return the numbers of groups and answers of a pair of questions."""
    kind = registry.metric(name).kind
    assert isinstance(kind, Cross)
    return kind.first.size, kind.second.size


def drawn(registry: Registry, name: str, reports: int, truth: Floats, generator: np.random.Generator) -> MetricEstimate:
    """Return the estimate from a tally that is drawn from a population: only the part that needs
    two questions together.
    """
    metric = registry.metric(name)
    inverse = inverse_of(metric.channel)
    law = inverse.symbol_law(truth.ravel())
    counts = generator.multinomial(reports, law / law.sum())
    shares, covariance = inverse.shares(counts, reports), Sample.from_counts(inverse, counts).covariance(inverse)
    joint = joint_of(metric.kind, shares, covariance, Sample.from_counts(inverse, counts))  # type: ignore[arg-type] # it is a cross
    return MetricEstimate(
        **metric_fields(metric), window=WINDOW.text, closed=True, reports=reports, groups=joint.groups
    )


def false_alarms(epsilon: str, reports: int, seed: int = 6) -> Iterator[tuple[bool, bool]]:
    """Yield whether each report has a false alarm: by corrected and by uncorrected p-values."""
    registry, generator = registry_of(epsilon), np.random.default_rng(seed)
    while True:
        corrected = corrected_differences([*estimates(registry, reports, generator)])
        differences = [difference for estimated in corrected for difference in estimated.figures("difference")]
        yield (
            any(each.p_value_corrected is not None and each.p_value_corrected <= LEVEL for each in differences),
            any(each.p_value is not None and each.p_value <= LEVEL for each in differences),
        )


if __name__ == "__main__":
    for epsilon, reports in CASES:
        corrected, alone = np.mean([*islice(false_alarms(epsilon, reports), DRAWS)], axis=0)
        print(f"epsilon {epsilon}, {reports:,} reports: {corrected:.1%} corrected, {alone:.1%} without")  # noqa: T201 a command prints
