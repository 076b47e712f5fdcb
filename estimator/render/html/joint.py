"""Two questions asked together, as tables: shares within groups, and the differences between them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from client_sdk.protocol import Cross, Metric
from estimator.render.conclusions import SIGNIFICANT, clearest_first
from estimator.render.html.figures import label_of, short
from estimator.render.html.group_differences import DifferenceView, difference_view, verdict_on
from estimator.render.html.numbers import PERCENT
from estimator.render.html.verdicts import Verdict
from estimator.render.words import p_equals
from estimator.results.estimate import Estimate
from estimator.results.metric import MetricEstimate
from estimator.statistics.holm import holm

MOST_DIFFERENCES = 20
"""Lines of the table of differences, the clearest ones; JSON and CSV have all of them."""


@dataclass(frozen=True, slots=True)
class CellView:
    """A share within a group."""

    estimate: str
    interval: str
    value: float | None
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class JointView:
    """What a template needs of two questions asked together."""

    group: str
    outcome: str
    outcomes: tuple[str, ...]
    rows: tuple[tuple[str, tuple[CellView, ...]], ...]
    verdict: Verdict
    differences: tuple[DifferenceView, ...]
    left_out: int
    independence: str


def joint_view(estimated: MetricEstimate, independence: float | None) -> JointView | None:
    """Return the view of two questions asked together in one window; none of other questions.

    Args:
        estimated: what the window tells.
        independence: the p-value of the test, corrected for all such pairs; or none.

    """
    joint, domain = estimated.joint, estimated.metric.domain
    if joint is None or not isinstance(domain, Cross):
        return None
    clearest = clearest_first(joint)
    rows = tuple((label_of(one.label), tuple(_cell(share) for _, share in one.outcomes)) for one in joint.groups)
    return JointView(
        group=short(domain.names[0]),
        outcome=short(domain.names[1]),
        outcomes=tuple(label_of(value) for value in domain.second.labels),
        rows=rows,
        verdict=verdict_on(domain.names, clearest),
        differences=tuple(map(difference_view, clearest[:MOST_DIFFERENCES])),
        left_out=max(0, len(clearest) - MOST_DIFFERENCES),
        independence=_independence(estimated, domain, independence),
    )


def independence_of(shown: Iterable[MetricEstimate]) -> dict[Metric, float]:
    """Return the p-values of all pairs of questions whose windows are shown, corrected for their number."""
    tested = [(one.metric, one.joint.independence.p_value) for one in shown if one.joint and one.joint.independence]
    corrected = holm([p for _, p in tested], [1.0] * len(tested))
    return {metric: p for (metric, _), p in zip(tested, corrected, strict=True)}


def _cell(one: Estimate) -> CellView:
    estimate = "too few to tell" if one.unbiased is None else PERCENT.value(one.unbiased, one.low, one.high)
    return CellView(estimate, PERCENT.interval(one.low, one.high), one.unbiased, one.low, one.high)


def _independence(estimated: MetricEstimate, domain: Cross, p_value: float | None) -> str:
    first, second = (short(name) for name in domain.names)
    test = None if estimated.joint is None else estimated.joint.independence
    if test is None or p_value is None:
        return f"Too few reports to test whether {first} and {second} have to do with each other."
    figures = (
        f"p {p_equals(p_value)}, corrected for all pairs of questions here; chi-square {test.statistic:.1f},"
        f" {test.degrees_of_freedom} degrees of freedom"
    )
    if p_value <= SIGNIFICANT:
        return f"If {first} and {second} had nothing to do with each other, groups would seldom differ so ({figures})."
    return f"Groups differ no more than if {first} and {second} had nothing to do with each other ({figures})."
