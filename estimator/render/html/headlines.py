"""The headline of a card, in large type: a figure with its interval, and its meaning."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from estimator.render.html.tables import JointView, compared
from estimator.render.rounding import PERCENT, SENTENCE_FIGURES, unit_of
from estimator.render.words import NO_REPORTS, NO_TEXTS, TOO_FEW
from estimator.report.conclusions import Conclusion, conclusion
from estimator.results.estimate import Estimate
from estimator.results.group import FigureGroup
from estimator.results.metric import MetricEstimate
from estimator.words import plural, short


@dataclass(frozen=True, slots=True)
class Headline:
    """A figure, or a conclusion where there is none to show.

    Attributes:
        figure: the figure with its unit. Empty if nothing is known.
        about: what the figure is about, or why nothing is known.
        interval: the interval without brackets; empty if there is none.

    """

    figure: str
    about: str
    interval: str = ""


def headline_of(shown: MetricEstimate, joint: JointView | None) -> Headline:
    """Return the headline of one window.

    Args:
        shown: the figures of the window.
        joint: the view of two questions asked together, whose groups are compared. None for others.

    """
    if not shown.reports:
        return Headline("", NO_REPORTS)
    if joint is not None:
        return _of_difference(joint)
    group = shown.leading
    if group is None:
        return Headline("", NO_TEXTS if shown.texts is not None else TOO_FEW)
    figure = group.figures[group.lead]
    if figure.estimate is None:
        return Headline("", TOO_FEW)
    return _figure(group, figure, PHRASES[group.statistic](shown, group))


def also_of(shown: MetricEstimate) -> Iterator[Headline]:
    """Yield the mean and the median of answers if the headline is another figure."""
    if not shown.reports or shown.names is not None:
        return
    for group in shown.groups:
        if group.about.is_mean and group is not shown.leading:
            yield _figure(group, group.figures[0], PHRASES[group.statistic](shown, group))
    quantiles = shown.group("quantile")
    if quantiles is not None:
        median = quantiles.figures[len(quantiles.figures) // 2]
        if median.estimate is not None:
            yield _figure(quantiles, median, quantiles.label(median))


def _figure(group: FigureGroup, figure: Estimate, about: str) -> Headline:
    rounded = unit_of(group).rounded(figure, SENTENCE_FIGURES)
    return Headline(f"{rounded.estimate}{rounded.suffix}", about, rounded.interval)


def _of_difference(joint: JointView) -> Headline:
    """Return the clearest difference between groups."""
    difference = joint.clearest[0]
    concluded = conclusion(difference)
    if concluded is Conclusion.TOO_FEW:
        return Headline("", "Too few reports to say whether groups differ.")
    if concluded is Conclusion.NO_DIFFERENCE:
        return Headline("No difference", "between groups detected")
    outcome, first, second = compared(difference, joint.names)
    which = f"“{outcome}” more common" if joint.unit is PERCENT else f"{short(outcome)} higher"
    perhaps = "perhaps " if concluded is Conclusion.MAY_DIFFER else ""
    rounded = joint.unit.rounded(difference, SENTENCE_FIGURES)
    unit = joint.unit.of_difference
    return Headline(
        f"{rounded.estimate}{unit}",
        f"{perhaps}{which} for “{first}” than for “{second}”",
        f"{rounded.low} to {rounded.high}{unit}",
    )


def _of_share(_: MetricEstimate, group: FigureGroup) -> str:
    shares, share = group.figures, group.figures[group.lead]
    if share.value is True:
        return "say yes"
    rival = shares[int((-shares.unbiased).argsort(kind="stable")[1])]
    if rival.high >= share.low:
        return f"“{group.label(share)}”, too close to call against “{group.label(rival)}”"
    return f"“{group.label(share)}”, the most common"


def _of_threshold(shown: MetricEstimate, group: FigureGroup) -> str:
    threshold = group.label(group.figures[group.lead])
    return f"answer {threshold.replace(' ', f' {shown.unit} ', 1) if shown.unit else threshold}"


def _of_found(_: MetricEstimate, group: FigureGroup) -> str:
    others = len(group.figures) - 1
    more = f"; {plural(others, 'other text')} found" if others else ""
    return f"“{group.label(group.figures[0])}”, the most common text found{more}"


def _of_approved(_: MetricEstimate, group: FigureGroup) -> str:
    return f"“{group.label(group.figures[0])}”, the most common of the texts that may be published"


def _of_many(which: str) -> Callable[[MetricEstimate, FigureGroup], str]:
    """Return a function that names one of many coordinates: the largest, or the clearest."""

    def named(_: MetricEstimate, group: FigureGroup) -> str:
        return (
            f"{group.label(group.figures[group.lead])}, the {which} of {plural(len(group.figures), group.about.noun)}"
        )

    return named


def _of_mean(_: MetricEstimate, group: FigureGroup) -> str:
    return group.about.title.lower()


def _of_position(shown: MetricEstimate, group: FigureGroup) -> str:
    scale = "" if group.ends is None else f" of {group.ends[1]:g}"
    return f"{_of_mean(shown, group)}{scale}"


PHRASES: Final[dict[str, Callable[[MetricEstimate, FigureGroup], str]]] = {
    "share": _of_share,
    "share_at_least": lambda _, group: f"were used on {group.label(group.figures[group.lead])}",
    "share_above": _of_threshold,
    "found_text": _of_found,
    "approved_text": _of_approved,
    "coordinate": _of_many("largest"),
    "coefficient": _of_many("clearest"),
    "log_odds": _of_many("clearest"),
    "mean": _of_mean,
    "geometric_mean": _of_mean,
    "mean_position": _of_position,
    "mean_size": _of_mean,
}
"""The words that follow the leading figure of each statistic and say what it is about."""
