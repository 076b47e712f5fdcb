"""Do groups really differ? The p-values of differences, corrected for all that a report compares of its groups.

Every question in every window has the same weight, however many groups and answers it has, and shares it among its
differences. Those of which reports are too few to say anything take no part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from estimator.results.joint import Difference, Joint
from estimator.results.metric import MetricEstimate
from estimator.statistics.holm import holm


def corrected_differences(estimates: Iterable[MetricEstimate]) -> tuple[MetricEstimate, ...]:
    """Return what was estimated, with the p-values of differences corrected for all of it."""
    found = tuple(estimates)
    tested = [(p, 1 / len(some)) for one in found if one.joint and (some := one.joint.p_values) for p in some]
    corrected = iter(holm([p for p, _ in tested], [weight for _, weight in tested]))
    return tuple(one if one.joint is None else replace(one, joint=_filled(one.joint, corrected)) for one in found)


def _filled(joint: Joint, corrected: Iterator[float]) -> Joint:
    differences: list[Difference] = []
    for some in joint.comparisons:
        p_value = None if some[0].p_value is None else next(corrected)
        differences += [replace(one, corrected=p_value) for one in some]
    return replace(joint, differences=tuple(differences))
