"""What can be concluded, in words: whether something changed, and whether there are reports enough."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from client_sdk.protocol.mechanisms.permanent import Permanent
from estimator.plan.target_error import reports_needed, unit_variance
from estimator.plan.variance import mean_range
from estimator.render.conclusions import SIGNIFICANT
from estimator.render.html.figures import label_of
from estimator.render.html.numbers import PERCENT, PLAIN, Unit, count_words
from estimator.render.words import p_equals, p_words
from estimator.results.changes import Change, Changes
from estimator.results.metric import MetricEstimate
from estimator.statistics.confidence import EXACT_BELOW, Z
from estimator.text import mean_word

TOO_FAR: Final = 0.1
"""To a side, of all people or of the range of a mean: so wide an interval hardly tells a half from a third."""

YES: Final = label_of(value=True)

PERMANENT_NOTE: Final = (
    " Answers are permanent here: the same noise may stand in both windows,"
    " so that the difference is surer than is said."
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether something changed.

    Attributes:
        code: ``changed``, ``perhaps``, ``same`` or ``unknown``.
        brief: for the overview.
        words: a sentence or two.

    """

    code: str
    brief: str
    words: str


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """One line of the table of changes."""

    label: str
    difference: str
    interval: str
    p_value: str
    corrected: str
    value: float
    low: float
    high: float


def verdict_of(changes: Changes | None, windows: int) -> Verdict:
    """Return whether the answers to a question changed.

    Args:
        changes: from its first closed window to the last, or none.
        windows: how many closed ones have reports.

    """
    if changes is None:
        brief = "only one window so far" if windows else "no data"
        return Verdict(
            "unknown", brief, "A change shows between two closed windows with reports; there are not two yet."
        )
    between = f"from {changes.first.text} to {changes.last.text}"
    label, unit, clearest = min(labelled_changes(changes), key=_clearness)
    label = f"“{label}”" if unit is PERCENT and label != YES else label
    if clearest.p_value is None or clearest.corrected is None:
        return Verdict("unknown", "too few reports", f"Too few reports to see a change {between}.")
    one = clearest.estimate
    moved = f"{label} {unit.changed(one.unbiased or 0.0, one.low, one.high)}"
    said = f"{moved} ({unit.change_interval(one.low, one.high)})"
    note = PERMANENT_NOTE if isinstance(changes.metric.channel, Permanent) else ""
    if clearest.corrected <= SIGNIFICANT:
        sure = f"so much is hardly chance (p {p_equals(clearest.corrected)}, corrected for everything compared here)"
        return Verdict("changed", f"changed: {moved}", f"It changed {between}: {said}; {sure}.{note}")
    alone = min(1.0, clearest.p_value * changes.tests)
    if alone <= SIGNIFICANT:
        doubt = "of one question alone that would pass for a change, but among so many it may be chance"
        corrected = f"(p {p_equals(alone)}, corrected for everything compared here {p_equals(clearest.corrected)})"
        return Verdict(
            "perhaps", f"perhaps: {moved}", f"It may have changed {between}: {said}; {doubt} {corrected}.{note}"
        )
    chance = (
        f"; of {changes.tests} comparisons one is often as clear by chance" if clearest.p_value <= SIGNIFICANT else ""
    )
    return Verdict("same", "no change seen", f"No change was seen {between}; the clearest is {said}{chance}.{note}")


def change_rows(changes: Changes | None, most: int) -> tuple[ChangeRow, ...]:
    """Return the lines of the table of changes, those with the least p-values first."""
    ordered = sorted(labelled_changes(changes), key=_clearness) if changes else []
    return tuple(_row(label, unit, change) for label, unit, change in ordered[:most])


def labelled_changes(changes: Changes) -> Sequence[tuple[str, Unit, Change]]:
    """Return everything that was compared, with its label and unit; of yes and no only yes, which says it all."""
    values = [value for value, _ in changes.shares]
    told = changes.shares[1:] if values == [False, True] else changes.shares
    shares = [(label_of(value), PERCENT, change) for value, change in told]
    return shares if changes.mean is None else [*shares, (mean_word(changes.metric.kind), PLAIN, changes.mean)]


def too_few(estimated: MetricEstimate) -> str | None:
    """Return a sentence where intervals are too wide to conclude, with how many reports it would take; else none."""
    reach, scale = _reach(estimated)
    if reach <= TOO_FAR * scale:
        return None
    needed = max(EXACT_BELOW, reports_needed(unit_variance(estimated.metric), TOO_FAR * scale / Z))
    unit = PLAIN if scale != 1 or estimated.shares is None else PERCENT
    target = unit.changed(TOO_FAR * scale, 0.0, TOO_FAR * scale).lstrip("+")
    have = count_words(estimated.reports, "report")
    if needed <= estimated.reports:
        return f"Too uncertain to conclude from {have}: an interval reaches {_far(unit, reach)} to a side."
    return (
        f"Too few reports to conclude: with {have} an interval reaches {_far(unit, reach)} to a side."
        f" For at most {target}, whatever the answers are, it takes about {needed:,} reports in a window."
    )


def _far(unit: Unit, reach: float) -> str:
    return unit.changed(reach, 0.0, reach / 10).lstrip("+")  # three digits: of what is wanted it may differ little


def _reach(estimated: MetricEstimate) -> tuple[float, float]:
    """Return how far an interval of a question reaches to a side at worst, and the length of the range it lies in."""
    shares = estimated.shares
    if shares is not None:
        return float((shares.highs - shares.lows).max()) / 2, 1.0
    mean = estimated.mean
    return (0.0 if mean is None else (mean.high - mean.low) / 2), mean_range(estimated.metric)


def _clearness(one: tuple[str, Unit, Change]) -> tuple[float, float]:
    _, _, change = one
    return (math.inf, math.inf) if change.corrected is None else (change.corrected, change.p_value or 0.0)


def _row(label: str, unit: Unit, change: Change) -> ChangeRow:
    one = change.estimate
    difference = one.unbiased or 0.0
    return ChangeRow(
        label,
        unit.changed(difference, one.low, one.high),
        unit.change_interval(one.low, one.high),
        "too few reports" if change.p_value is None else p_words(change.p_value),
        "too few reports" if change.corrected is None else p_words(change.corrected),
        difference,
        one.low,
        one.high,
    )
