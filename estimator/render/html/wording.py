"""The wording of the page: figures, p-values, labels, headlines and conclusions.

The templates use `FILTERS`. A headline is a figure in large type, with its interval and a phrase. A
conclusion states whether the answers changed, or that there are too few reports to tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from client_sdk.protocol.metric import Metric
from estimator.render.rounding import NO_UNIT, PERCENT, SENTENCE_FIGURES, Unit, relative_size, unit_of, within
from estimator.render.words import (
    NO_REPORTS,
    TOO_FEW,
    answer_of,
    change_words,
    changed_label,
    compared_words,
    outcome_words,
    p_words,
    short_loss,
    threshold_words,
    untested_words,
)
from estimator.report.conclusions import Conclusion, clearest_changes, conclusion
from estimator.results.estimate import Estimate, Figure
from estimator.results.group import FigureGroup, FigureKey
from estimator.results.metric import MetricEstimate
from estimator.results.report import TOO_FAR, Change, Changes, ChangeVerdict, Precision
from estimator.statistics.confidence import SIGNIFICANT
from estimator.words import label_of, plural, short

if TYPE_CHECKING:
    from estimator.render.html.tables import JointView

NONE: Final = "\N{EN DASH}"
"""The text of a table's cell that has no figure."""

LONGEST_PURPOSE = 400
"""The maximum length of a metric's purpose on the page, in characters."""

YES: Final = label_of(value=True)

FAR_FIGURES: Final = 3
"""The number of significant digits of an interval's half-width. With one digit less, a half-width
that is too wide could look equal to the fraction `TOO_FAR` of the range.
"""

CODES: Final[dict[StrEnum, str]] = {
    **dict.fromkeys(ChangeVerdict, "changed"),
    Conclusion.DIFFER: "changed",
    Conclusion.MAY_DIFFER: "perhaps",
    Conclusion.NO_DIFFERENCE: "same",
    Conclusion.TOO_FEW: "unknown",
    ChangeVerdict.PERHAPS_CHANGED: "perhaps",
    ChangeVerdict.NO_CHANGE: "same",
    ChangeVerdict.TOO_FEW: "unknown",
}
"""The CSS class of each conclusion. Pages color and sort metrics by this class."""

PERMANENT_NOTE: Final = (
    " Answers are permanent: both windows may contain the same noise, so the real uncertainty is smaller than shown."
)


def estimate_text(estimate: Estimate, unit: Unit = PERCENT, unknown: str = "no estimate") -> str:
    """Format an estimate with its unit, or return ``unknown`` if there is no estimate."""
    return unknown if estimate.estimate is None else f"{unit.rounded(estimate).estimate}{unit.suffix}"


def shown_value(figure: Estimate) -> float:
    """Return an estimate, moved to the nearer end if it lies outside its interval.

    Returns 0 if the estimate is unknown.
    """
    return within(figure.estimate, figure.low, figure.high) or 0.0


def interval_text(estimate: Estimate, unit: Unit = PERCENT) -> str:
    """Format the interval of an estimate with its unit."""
    return unit.rounded(estimate).interval


def likeliest_text(estimate: Estimate, unit: Unit = PERCENT) -> str:
    """Format a maximum-likelihood value with its unit, or return a dash if it was not computed."""
    return NONE if estimate.maximum_likelihood is None else f"{unit.likeliest(estimate)}{unit.suffix}"


def difference_text(difference: Estimate, unit: Unit = PERCENT) -> str:
    """Format a difference between groups, without a plus sign.

    Returns an empty string if the difference is unknown.
    """
    return "" if difference.estimate is None else unit.changed(difference).lstrip("+")


def p_text(p_value: float | None, unknown: str = "") -> str:
    """Format a p-value, or return ``unknown`` if there is no p-value."""
    return unknown if p_value is None else p_words(p_value)


def purpose_text(purpose: str) -> str:
    """Return a purpose, shortened to `LONGEST_PURPOSE`."""
    return short(purpose, LONGEST_PURPOSE)


def windows_text(windows: Sequence[str]) -> str:
    """Return a phrase that names one window, or the range and the number of several windows."""
    return windows[0] if len(windows) == 1 else f"{min(windows)} to {max(windows)}, {len(windows):,} windows"


FILTERS: Final[dict[str, Callable[..., str | float]]] = {
    "difference": difference_text,
    "estimate": estimate_text,
    "interval": interval_text,
    "label": label_of,
    "likeliest": likeliest_text,
    "loss": short_loss,
    "p": p_text,
    "plural": plural,
    "purpose": purpose_text,
    "short": short,
    "value": shown_value,
    "windows": windows_text,
}


@dataclass(frozen=True, slots=True)
class WordedConclusion:
    """A conclusion on one metric, in words.

    ``code`` is ``changed``, ``perhaps``, ``same`` or ``unknown``. ``brief`` is for the overview of
    all metrics, and ``sentence`` for the part of the page about the metric. ``words`` explains the
    conclusion in more detail. ``brief`` and ``sentence`` are empty if nothing can be compared.
    """

    code: str
    brief: str
    words: str
    sentence: str = ""


def verdict_of(metric: Metric, changes: Changes | None, windows: int, untested: Sequence[str] = ()) -> WordedConclusion:
    """Return the conclusion on whether the answers to a metric changed.

    ``changes`` is None if there are fewer than two closed windows. ``windows`` is the number of
    closed windows with reports. ``untested`` names the statistics that are not tested for changes.
    """
    not_tested = untested_words(untested)
    if changes is None:
        words = (
            f"Changes in {not_tested or 'the answers'} are not tested."
            if windows > 1
            else f"Changes need two closed windows with reports; this report has {'one' if windows else 'none'}."
        )
        return WordedConclusion("unknown", "", words)
    code, words = CODES[changes.verdict], outcome_words(changes)
    if changes.found:
        clearest = changes.found[0]
        brief = change_words(clearest, changes, is_brief=True)
        new = "; not yet confirmed by another window" if clearest.is_new else ""
        sentence = f"{change_words(clearest, changes)}{new}"
    elif changes.verdict is ChangeVerdict.TOO_FEW:
        return WordedConclusion(code, "too few reports", f"{words}.", f"{words}.")
    else:
        brief = "no change detected"
        sentence = words
        group, clearest_end = clearest_changes(changes)[0]
        label, unit = group.label(clearest_end), unit_of(group)
        label = f"“{label}”" if unit is PERCENT and label != YES else label
        moved = f"{label} {unit.changed(clearest_end)} ({unit.change_interval(clearest_end)})"
        is_clear_alone = clearest_end.p_value is not None and clearest_end.p_value <= SIGNIFICANT
        chance = f"; among {changes.tests} comparisons, one is often as clear by chance" if is_clear_alone else ""
        words = f"{words}; the clearest difference, {compared_words(changes)}: {moved}{chance}"
    note = PERMANENT_NOTE if metric.channel.permanent_nanos > 0 else ""
    if not_tested:
        note += f" Changes in {not_tested} are not tested."
    return WordedConclusion(code, brief, f"{words}.{note}", f"{sentence}.")


def labeled_changes(changes: Changes | None) -> Sequence[tuple[str, Unit, Figure]]:
    """Return the label, unit and change of every tested figure, the most significant change first.

    For a figure that changed or may have changed, the change is the entry in ``changes.found``. For
    other figures, the change is the difference between the last window and the first.
    """
    if changes is None:
        return []
    found = {FigureKey(each.statistic, each.value) for each in changes.found}
    rows: list[tuple[str, Unit, Figure]] = []
    for change in changes.found:
        group = changes.group_of(change)
        rows.append((f"{changed_label(group, change)}: {found_words(change, changes)}", unit_of(group), change))
    others = [
        (group, each)
        for group, each in clearest_changes(changes)
        if FigureKey(group.statistic, each.value) not in found
    ]
    return rows + [(changed_label(group, change), unit_of(group), change) for group, change in others]


def found_words(change: Change, changes: Changes) -> str:
    """Return a phrase on the size and the time of a figure's change, for the table of changes."""
    words = change.verdict.value
    since, new = change.since or changes.since, ", new" if change.is_new else ""
    if since is None:
        return f"{words} between {changes.first} and {changes.last}{new}"
    return f"{words.removesuffix(' since')} since {since}{new}"


def wide_intervals(estimated: MetricEstimate, precision: Precision) -> str | None:
    """Return a caution if intervals are too wide for most conclusions.

    This is the case if a half-width exceeds the fraction `TOO_FAR` of the range of possible
    figures. Returns None otherwise.
    """
    needed = precision.reports_needed
    if needed is None:
        return None
    leading = estimated.leading
    unit = NO_UNIT if leading is None else unit_of(leading)
    reaches = precision.reach, TOO_FAR * precision.range
    if leading is not None and leading.about.scale.is_relative:
        far, target = map(relative_size, reaches)
    else:
        far, target = unit.size(reaches[0], FAR_FIGURES), unit.size(reaches[1], direction=ROUND_HALF_EVEN)
    caution = f"Wide intervals: with {plural(estimated.reports, 'report')}, an interval extends {far} to each side."
    if needed <= estimated.reports:
        return caution
    reports = f"about {needed:,} reports, whatever the answers are"
    return f"{caution} For at most {target} to each side, a window needs {reports}."


@dataclass(frozen=True, slots=True)
class Headline:
    """A figure in large type, or a conclusion if there is no figure to show.

    ``figure`` and ``interval`` are empty if unknown. ``about`` is a phrase on the meaning of the
    figure, or on why it is unknown.
    """

    figure: str
    about: str
    interval: str = ""


def headline_of(shown: MetricEstimate, joint: JointView | None) -> Headline:
    """Return the headline of one window.

    ``joint`` is the view of a pair of metrics, or None for other metrics.
    """
    if not shown.reports:
        return Headline("", NO_REPORTS)
    if joint is not None:
        return _of_difference(joint)
    group = shown.leading
    if group is None:
        return Headline("", answer_of(shown) if shown.texts is not None else TOO_FEW)
    figure = group.figures[group.lead]
    if figure.estimate is None:
        return Headline("", TOO_FEW)
    return _headline(group, figure, PHRASES[group.statistic](shown, group))


def also_of(shown: MetricEstimate) -> Iterator[Headline]:
    """Yield headlines for the mean, unless it is the main headline, and for the median."""
    if not shown.reports or shown.names is not None:
        return
    for group in shown.groups:
        if group.about.is_mean and group is not shown.leading:
            yield _headline(group, group.figures[0], PHRASES[group.statistic](shown, group))
    quantiles = shown.group("quantile")
    if quantiles is not None:
        median = quantiles.figures[len(quantiles.figures) // 2]
        if median.estimate is not None:
            yield _headline(quantiles, median, quantiles.label(median))


def _headline(group: FigureGroup, figure: Estimate, about: str) -> Headline:
    rounded = unit_of(group).rounded(figure, SENTENCE_FIGURES)
    return Headline(f"{rounded.estimate}{rounded.suffix}", about, rounded.interval)


def compared(difference: Figure, names: tuple[str, str]) -> tuple[str, str, str]:
    """Return the answer or number that a difference compares, and the names of both groups."""
    assert isinstance(difference.value, tuple)  # noqa: S101 the label of a difference names its groups
    *outcomes, first, second = map(label_of, difference.value)
    return (outcomes[0] if outcomes else names[1]), first, second


def _of_difference(joint: JointView) -> Headline:
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


def _of_found(_: MetricEstimate, group: FigureGroup) -> str:
    others = len(group.figures) - 1
    more = f"; {plural(others, 'other text')} found" if others else ""
    return f"“{group.label(group.figures[0])}”, the most common text found{more}"


def _of_approved(_: MetricEstimate, group: FigureGroup) -> str:
    return f"“{group.label(group.figures[0])}”, the most common of the texts that may be published"


def _of_many(which: str) -> Callable[[MetricEstimate, FigureGroup], str]:
    """Return a function that describes the main figure, for example as the largest of 8 values."""

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
    "share_above": threshold_words,
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
"""For each statistic, the function that writes the phrase on the main figure in a headline."""
