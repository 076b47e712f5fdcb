"""Differences between groups: p-values corrected for all comparisons in a report.

Every question in every window has the same weight, however many groups and answers it has, and
divides it among its differences. Differences with too few reports take no part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final, TypeVar

from msgspec.structs import replace

from estimator.results.estimate import Figure, FigureLabel, Figures
from estimator.results.group import FigureGroup
from estimator.results.metric import MetricEstimate
from estimator.statistics.holm import PAIR, holm

Estimated = TypeVar("Estimated", bound=MetricEstimate)
"""The estimates of a report, or of a rehearsal, which has truths beside them."""

STATISTICS: Final = ("difference", "difference_of_means")


def differences_of(estimated: MetricEstimate) -> FigureGroup | None:
    """Return the differences between the groups of a question. None for other questions."""
    groups = (estimated.group(statistic) for statistic in STATISTICS)
    return next((group for group in groups if group is not None), None)


def comparisons(differences: FigureGroup) -> list[tuple[Figure, ...]]:
    """Return differences by comparison. Of two outcomes the second mirrors the first."""
    of_pairs = groupby(differences.figures, key=lambda difference: _pair(difference)[-PAIR:])
    by_pair = [tuple(figures) for _, figures in of_pairs]
    return by_pair if all(len(each) == PAIR for each in by_pair) else [(each,) for of in by_pair for each in of]


def _pair(difference: Figure) -> tuple[FigureLabel, ...]:
    assert isinstance(difference.value, tuple)  # noqa: S101 a difference names its groups
    return difference.value


def corrected_differences(estimates: Iterable[Estimated]) -> tuple[Estimated, ...]:
    """Return estimates with the p-values of their differences corrected for all of them."""
    uncorrected = tuple(estimates)
    by_question = [p_values for each in uncorrected if (p_values := _p_values(differences_of(each)))]
    tested = [(p, 1 / len(p_values)) for p_values in by_question for p in p_values]
    corrected = iter(holm([p for p, _ in tested], [weight for _, weight in tested]))
    return tuple(_filled(estimate, corrected) for estimate in uncorrected)


def _p_values(differences: FigureGroup | None) -> list[float]:
    """Return the p-value of each comparison that has enough reports."""
    compared = [] if differences is None else comparisons(differences)
    return [first.p_value for first, *_ in compared if first.p_value is not None]


def _filled(estimated: Estimated, corrected: Iterator[float]) -> Estimated:
    differences = differences_of(estimated)
    if differences is None:
        return estimated
    figures: list[Figure] = []
    for comparison in comparisons(differences):
        p_value = None if comparison[0].p_value is None else next(corrected)
        figures += [replace(difference, p_value_corrected=p_value) for difference in comparison]
    filled = replace(differences, figures=Figures.from_rows(figures))
    return replace(estimated, groups=tuple(filled if group is differences else group for group in estimated.groups))
