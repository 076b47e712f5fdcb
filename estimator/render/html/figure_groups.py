"""The figures of a question, in groups that belong together: shares, the mean, quantiles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from estimator.render.html.numbers import PERCENT, Unit, unit_of
from estimator.render.rounding import UNBROKEN
from estimator.render.sentences import possible_coordinate
from estimator.render.words import at_least_words, coordinate_words, label_of, range_words, short
from estimator.results.distribution import Figure
from estimator.results.estimate import Estimate, Share
from estimator.results.joint import Joint
from estimator.results.metric import MetricEstimate
from estimator.words import mean_word

SHARES: Final = "Share of devices"

COORDINATES: Final = "Mean of each coordinate"

COEFFICIENTS: Final = {
    "model": "Change of the label as a feature rises by half its range",
    "model-of-crosses": "Log-odds of yes by feature",
}
"""What the coordinates of a model are, by kind."""

AUC: Final = "How often a yes is ranked above a no, if scores are normal"

AUC_OF_STEPS: Final = "How often a yes is at a higher step than a no"

ROC_OF_STEPS: Final = "Share from a step on, of those who say no and of those who say yes"

QUANTILES: Final = "Quantiles"
"""The histogram marks the figures of this group."""


@dataclass(frozen=True, slots=True)
class FigureGroup:
    """Figures of one kind in one window.

    Attributes:
        title: what they are.
        unit: the unit in which they are shown.
        figures: the label and the estimate of each figure. The labels are the same in every window
            of a question.

    """

    title: str
    unit: Unit
    figures: tuple[tuple[str, Estimate], ...]

    @property
    def is_titled(self) -> bool:
        """Whether the title says more than the label of its only figure."""
        return [label.casefold() for label, _ in self.figures] != [self.title.casefold()]


def groups_of(estimated: MetricEstimate, positions: Sequence[int]) -> Iterator[FigureGroup]:
    """Yield the groups of one window.

    They are the same in every window of a question that has reports. A model has none in a window
    of which too little was learned.

    Args:
        estimated: the figures of the window.
        positions: which values are shown.

    """
    shares = estimated.estimates
    if shares is not None:
        yield FigureGroup(SHARES, PERCENT, labelled([shares[position] for position in positions]))
    if estimated.answered:
        yield FigureGroup("Share of those who answered", PERCENT, labelled(estimated.answered))
    if estimated.at_least:
        yield FigureGroup("Share of devices that were used on", PERCENT, at_least_labelled(estimated.at_least))
    if estimated.coordinates is not None:
        of_positions = [estimated.coordinates[position] for position in positions]
        shown = ((coordinate_words(each.value), each) for each in of_positions)
        yield FigureGroup(
            COEFFICIENTS.get(estimated.kind, COORDINATES), unit_of("", possible_coordinate(estimated)), tuple(shown)
        )
    yield from _aucs(estimated)
    if estimated.joint is not None and estimated.joint.is_of_means:
        yield group_means_of(estimated.joint, unit_of(estimated.unit, estimated.mean_range))
    if estimated.mean is not None:
        mean = ((mean_word(estimated.kind), estimated.mean),)
        yield FigureGroup(mean_title(estimated.kind), unit_of(estimated.unit, estimated.mean_range), mean)
    if estimated.distribution is not None:
        quantiles = tuple(
            (f"{100 * quantile.quantile:g}{UNBROKEN}% are at most", plain_estimate(quantile))
            for quantile in estimated.distribution.quantiles
        )
        yield FigureGroup(QUANTILES, unit_of(estimated.unit, estimated.mean_range), quantiles)
        ranges = tuple((range_words(share), plain_estimate(share)) for share in estimated.distribution.ranges)
        if ranges:
            yield FigureGroup("Share of devices within a range", PERCENT, ranges)


def _aucs(estimated: MetricEstimate) -> Iterator[FigureGroup]:
    if estimated.learned is not None and estimated.learned.auc is not None:
        yield FigureGroup(AUC, unit_of(""), (("AUC", estimated.learned.auc),))
    if estimated.joint is not None and estimated.joint.auc is not None:
        yield FigureGroup(AUC_OF_STEPS, unit_of(""), (("AUC", estimated.joint.auc),))
        points = tuple(
            (f"{label_of(said)}: from {label_of(point.value)} on", share)
            for point in estimated.joint.roc
            for said, share in ((False, point.no), (True, point.yes))
        )
        yield FigureGroup(ROC_OF_STEPS, PERCENT, points)


def group_means_of(joint: Joint, unit: Unit) -> FigureGroup:
    """Return the means of the groups."""
    groups, number = map(short, joint.names)
    means = tuple((label_of(group.group), group.estimates[0]) for group in joint.groups)
    return FigureGroup(f"Mean of {number} by {groups}", unit, means)


def mean_title(kind: str) -> str:
    """Return the title of the group that holds the mean of a kind of question."""
    return mean_word(kind).capitalize()


def labelled(shares: Sequence[Share]) -> tuple[tuple[str, Estimate], ...]:
    """Return each share with its label."""
    return tuple((label_of(share.value), share) for share in shares)


def at_least_labelled(shares: Sequence[Share]) -> tuple[tuple[str, Estimate], ...]:
    """Return each share of devices with the days on which they were used at least."""
    return tuple((at_least_words(share.value), share) for share in shares)


def plain_estimate(figure: Figure) -> Estimate:
    """Return a figure of a distribution as an estimate without a standard error."""
    return Estimate(figure.estimate, None, figure.low, figure.high)
