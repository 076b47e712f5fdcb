"""Two questions asked together, as tables: shares within groups, and the differences between them."""

from __future__ import annotations

from dataclasses import dataclass

from client_sdk.spec import Cross
from estimator.figure import Estimate
from estimator.joint import Difference
from estimator.metric_estimate import MetricEstimate
from estimator.render.html.figures import label_of, short
from estimator.render.html.numbers import PERCENT, p_equals
from estimator.render.html.verdicts import SIGNIFICANT

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
class DifferenceView:
    """A difference between two groups, in words; bold where its interval does not hold 0."""

    label: str
    first: str
    second: str
    difference: str
    interval: str
    stands_out: bool


@dataclass(frozen=True, slots=True)
class JointView:
    """What a template needs of two questions asked together."""

    group: str
    outcome: str
    outcomes: tuple[str, ...]
    rows: tuple[tuple[str, tuple[CellView, ...]], ...]
    differences: tuple[DifferenceView, ...]
    left_out: int
    independence: str


def joint_view(estimated: MetricEstimate) -> JointView | None:
    """Return the view of two questions asked together in one window; none of other questions."""
    joint, domain = estimated.joint, estimated.metric.domain
    if joint is None or not isinstance(domain, Cross):
        return None
    clearest = sorted(joint.differences, key=_clearness, reverse=True)
    rows = tuple((label_of(one.label), tuple(_cell(share) for _, share in one.outcomes)) for one in joint.groups)
    return JointView(
        group=short(domain.names[0]),
        outcome=short(domain.names[1]),
        outcomes=tuple(label_of(value) for value in domain.second.labels),
        rows=rows,
        differences=tuple(_difference(one) for one in clearest[:MOST_DIFFERENCES]),
        left_out=max(0, len(clearest) - MOST_DIFFERENCES),
        independence=_independence(estimated, domain),
    )


def _clearness(one: Difference) -> float:
    estimate = one.estimate
    return 0.0 if estimate.unbiased is None else abs(estimate.unbiased) / (estimate.standard_error or 1.0)


def _cell(one: Estimate) -> CellView:
    estimate = "too few to tell" if one.unbiased is None else PERCENT.value(one.unbiased, one.low, one.high)
    return CellView(estimate, PERCENT.interval(one.low, one.high), one.unbiased, one.low, one.high)


def _difference(one: Difference) -> DifferenceView:
    estimate, (first, second) = one.estimate, one.groups
    difference = estimate.unbiased
    return DifferenceView(
        label_of(one.label),
        label_of(first),
        label_of(second),
        "too few to tell" if difference is None else PERCENT.changed(difference, estimate.low, estimate.high),
        PERCENT.change_interval(estimate.low, estimate.high),
        not estimate.low <= 0 <= estimate.high,
    )


def _independence(estimated: MetricEstimate, domain: Cross) -> str:
    first, second = (short(name) for name in domain.names)
    test = None if estimated.joint is None else estimated.joint.independence
    if test is None:
        return f"Too few reports to test whether {first} and {second} have to do with each other."
    figures = (
        f"p {p_equals(test.p_value)}, chi-square {test.statistic:.1f}, {test.degrees_of_freedom} degrees of freedom"
    )
    if test.p_value <= SIGNIFICANT:
        return f"If {first} and {second} had nothing to do with each other, groups would seldom differ so ({figures})."
    return f"Groups differ no more than if {first} and {second} had nothing to do with each other ({figures})."
