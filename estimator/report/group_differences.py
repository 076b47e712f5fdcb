"""Differences between groups: p-values corrected for all comparisons in a report.

Every question in every window has the same weight, however many groups and answers it has, and
divides it among its differences. Differences with too few reports take no part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from estimator.results.joint import Difference, Joint
from estimator.results.metric import MetricEstimate
from estimator.statistics.holm import holm


def corrected_differences(estimates: Iterable[MetricEstimate]) -> tuple[MetricEstimate, ...]:
    """Return estimates with the p-values of their differences corrected for all of them."""
    uncorrected = tuple(estimates)
    joints = [estimate.joint.p_values for estimate in uncorrected if estimate.joint]
    tested = [(p, 1 / len(p_values)) for p_values in joints for p in p_values]
    corrected = iter(holm([p for p, _ in tested], [weight for _, weight in tested]))
    return tuple(
        estimate if estimate.joint is None else replace(estimate, joint=_filled(estimate.joint, corrected))
        for estimate in uncorrected
    )


def _filled(joint: Joint, corrected: Iterator[float]) -> Joint:
    differences: list[Difference] = []
    for comparison in joint.comparisons:
        p_value = None if comparison[0].p_value is None else next(corrected)
        differences += [replace(difference, p_value_corrected=p_value) for difference in comparison]
    return replace(joint, differences=tuple(differences))
