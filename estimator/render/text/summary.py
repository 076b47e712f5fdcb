"""The report for a glance: a sentence for each question, a line for each figure of one window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from estimator.render.rounding import SENTENCE_FIGURES, Range, Rounded, number, percent, within
from estimator.render.sentences import (
    OFTEN,
    answer_of,
    error_of,
    known_group_means,
    leader,
    made_up_words,
    participation_of,
    possible_coordinate,
    text_notes,
)
from estimator.render.text import central, poisoning
from estimator.render.text.columns import FigureCells, figure_lines
from estimator.render.text.lines import SHARES, window_of
from estimator.render.text.report import NOTHING, NOTHING_SKIPPED, PRELIMINARY_FOOTNOTE, has_a_point
from estimator.render.text.style import PLAIN, Style
from estimator.render.text.widths import wrapped
from estimator.render.words import (
    AMONG_ALL_NOTE,
    at_least_words,
    coordinate_words,
    label_of,
    left_out_words,
    p_equals,
    range_words,
    tested_words,
    text_label,
    untested_words,
)
from estimator.report.changes import untested_figures
from estimator.report.conclusions import Conclusion, change_conclusion, clearest_changes
from estimator.results.changes import Change, Changes, ShareChange
from estimator.results.distribution import Figure
from estimator.results.estimate import Estimate, Shares
from estimator.results.highlight import SHOWN_VALUES, Highlight
from estimator.results.metric import MetricEstimate
from estimator.results.poisoning import Fakes
from estimator.results.pooled import Pooled
from estimator.results.report import EstimateReport
from estimator.results.texts import TextFindings
from estimator.words import mean_word, plural

SHOWN_TEXTS = 10
"""How many texts are shown: a list of texts is what was asked for."""

SHOWN_SHARES = 5
"""How many values of a question are shown: the most common ones. ``--verbose`` shows more."""

COMPARED = 2
"""How many windows are compared: the first and the last one."""

SHOWN_WINDOWS = 10
"""How many other windows a question names: a glance is no history."""

HEADING = "estimate ± standard error, {confidence:.0%} interval{together}; --verbose shows all"

NEXT_LOOK = "the next look comes after --snapshot-interval, an hour by default."

POINT_NOTE = "An interval of one point is no certainty: the tally lies beyond what any answers make likely."

OUTCOMES = {
    Conclusion.DIFFER: "Changed",
    Conclusion.MAY_DIFFER: "Perhaps changed",
    Conclusion.NO_DIFFERENCE: "No change in {tested} seen",
    Conclusion.TOO_FEW: "Too few reports to see a change",
}
"""What is said of the change between two windows."""


def as_summary(report: EstimateReport, style: Style = PLAIN) -> str:
    """Return the report as text for a glance."""
    if not report.metrics:
        return NOTHING_SKIPPED if report.skipped else NOTHING
    highlights = {highlight.shown.metric: highlight for highlight in report.highlights}
    changes = {of_metric.metric: of_metric for of_metric in report.changes}
    pooled = {of_metric.metric: of_metric for of_metric in report.pooled}
    shown = [highlight.shown for highlight in report.highlights]
    common = window_of(shown[0]) if len({window_of(each) for each in shown}) == 1 else None
    lines = [*_heading(report, common, style)]
    for metric, windows in groupby(report.metrics, key=lambda estimated: estimated.metric):
        lines += _block(highlights[metric], list(windows), pooled.get(metric), common, style)
        lines += _together(highlights[metric], pooled.get(metric), changes.get(metric), style)
    if report.composed:
        lines += [central.composed_lines(report.composed).rstrip("\n"), *_wrapped(central.FOOTNOTE, style)]
    lines += _notes(report, style)
    return style.shown("".join(f"{line.rstrip()}\n" for line in lines))


def _heading(report: EstimateReport, common: str | None, style: Style) -> Iterator[str]:
    """Yield what every figure is, and the window where it is the same for all."""
    together = ", all of a question together" if report.simultaneous else ""
    words = HEADING.format(confidence=report.confidence, together=together)
    yield from _wrapped(words if common is None else f"Window {common}; {words}", style)


def _block(
    highlight: Highlight, windows: Sequence[MetricEstimate], pooled: Pooled | None, common: str | None, style: Style
) -> Iterator[str]:
    shown = highlight.shown
    where = "" if common else f" in {window_of(shown)}"
    answer = answer_of(shown, highlight.independence)
    counted = f"{answer.removesuffix('.')}; {plural(shown.reports, 'report')}{where}."
    yield from _titled(shown.metric, counted if shown.reports else f"No reports{where}.", style)
    if shown.reports:
        yield from figure_lines([*_cells(shown, highlight)], style)
    if shown.texts is not None and shown.reports:
        yield from _of_texts(shown.texts, style)
    left_out = len(shown.estimates or shown.coordinates or ()) - SHOWN_SHARES
    if shown.reports and left_out > 0:
        more = left_out_words(left_out, shown.kind)
        yield from _sentence(f"… and {more}; --verbose shows up to {SHOWN_VALUES}.", style)
    others = [each for each in windows if each.window != shown.window and pooled is None]
    if others:
        is_long = len(others) > SHOWN_WINDOWS
        which = f", the last {SHOWN_WINDOWS} of {len(others):,} (--verbose shows all)" if is_long else ""
        yield from _sentence(f"Other windows{which}: {_listed(others[-SHOWN_WINDOWS:], leader(shown))}.", style)
    yield from _details(shown, style)


def _of_texts(texts: TextFindings, style: Style) -> Iterator[str]:
    """Yield the most common of the texts, and what their list lacks."""
    for shares in (texts.found, texts.named):
        if shares is None:
            continue
        rows = [shares[position] for position in range(min(len(shares), SHOWN_TEXTS))]
        yield from figure_lines(
            [FigureCells(text_label(row.value), share_of(row), value_of(row), SHARES) for row in rows], style
        )
        if len(shares) > SHOWN_TEXTS:
            more = plural(len(shares) - SHOWN_TEXTS, "more text")
            yield from _sentence(f"… and {more}; --verbose shows up to {SHOWN_VALUES}.", style)
    for sentence in text_notes(texts):
        yield from _sentence(sentence, style)


def _titled(title: str, sentence: str, style: Style) -> Iterator[str]:
    """Yield a sentence behind a title that stands out."""
    first, *rest = wrapped(f"{title}: {sentence}", style.width, others="  ")
    yield style.strong(first[: len(title) + 1]) + first[len(title) + 1 :]
    yield from rest


def _sentence(sentence: str, style: Style) -> Iterator[str]:
    lines = wrapped(sentence, style.width, "  ", "  ")
    yield from map(style.quiet, lines)


def _cells(shown: MetricEstimate, highlight: Highlight) -> Iterator[FigureCells]:
    """Yield the figures of a window that have a line."""
    for position in _positions(shown, highlight.positions):
        share = (shown.estimates or ())[position]
        yield FigureCells(label_of(share.value), share_of(share), value_of(share), SHARES)
    for share in shown.answered[-1:]:
        yield FigureCells(f"{label_of(share.value)}, of answers", share_of(share), value_of(share), SHARES)
    yield from _coordinates(shown, highlight.positions)
    if shown.mean is not None:
        yield FigureCells(
            mean_word(shown.kind),
            number_of(shown.mean, shown.unit, shown.mean_range),
            value_of(shown.mean),
            shown.mean_range,
        )
    for group, mean in known_group_means(shown):
        rounded = number_of(mean, shown.unit, shown.mean_range)
        yield FigureCells(f"mean, {label_of(group)}", rounded, value_of(mean), shown.mean_range)
    for share in shown.at_least:
        yield FigureCells(at_least_words(share.value), share_of(share), value_of(share), SHARES)
    if shown.distribution is not None:
        for quantile in shown.distribution.quantiles:
            label = f"{quantile.quantile:.0%} at most"
            rounded = number_of(quantile, shown.unit, shown.mean_range)
            yield FigureCells(label, rounded, value_of(quantile), shown.mean_range)
        for range_share in shown.distribution.ranges:
            yield FigureCells(range_words(range_share), share_of(range_share), value_of(range_share), SHARES)


def _positions(shown: MetricEstimate, positions: Sequence[int]) -> Sequence[int]:
    """Return which values have a line.

    Of yes and no it is yes; of many the most common ones; of days of use none.
    """
    shares = None if shown.at_least else shown.estimates
    if shares is None or list(shares.labels) == [False, True]:
        return [] if shares is None else [1]
    most_common = sorted(positions, key=lambda position: -shares.unbiased[position])[:SHOWN_SHARES]
    return sorted(most_common)


def _coordinates(shown: MetricEstimate, positions: Sequence[int]) -> Iterator[FigureCells]:
    """Yield the largest coordinates of vectors, or coefficients of a model."""
    if shown.coordinates is None or shown.norm is None:
        return
    for position in _largest(shown.coordinates, positions):
        coordinate, ends = shown.coordinates[position], (-shown.norm, shown.norm)
        label = coordinate_words(coordinate.value)
        yield FigureCells(label, number_of(coordinate, "", possible_coordinate(shown)), value_of(coordinate), ends)
    if shown.learned is not None and shown.learned.auc is not None:
        auc = shown.learned.auc
        yield FigureCells("AUC", number_of(auc, "", SHARES), value_of(auc), SHARES)


def _largest(coordinates: Shares, positions: Sequence[int]) -> Sequence[int]:
    """Return which coordinates have a line, rising."""
    return sorted(sorted(positions, key=lambda position: -abs(coordinates.unbiased[position]))[:SHOWN_SHARES])


def value_of(figure: Estimate | Figure) -> float | None:
    """Return where the estimate of a figure is drawn."""
    return within(figure.estimate, figure.low, figure.high)


def share_of(figure: Estimate | Figure) -> Rounded:
    """Return a share as texts."""
    return percent(figure.estimate, figure.low, figure.high, error_of(figure))


def number_of(figure: Estimate | Figure, unit: str, possible: Range | None = None) -> Rounded:
    """Return a number as texts, with its unit; what is possible stays possible."""
    return number(figure.estimate, figure.low, figure.high, error_of(figure), unit, possible=possible)


def _listed(windows: Sequence[MetricEstimate], position: int) -> str:
    return ", ".join(f"{_leading(each, position)} in {window_of(each)}" for each in windows)


def _leading(estimated: MetricEstimate, position: int) -> str:
    """Return the figure of a window that the sentence on another window is about."""
    if not estimated.reports:
        return "no reports"
    if estimated.estimates is not None:
        share = estimated.at_least[OFTEN] if estimated.at_least else estimated.estimates[position]
        label = at_least_words(share.value) if estimated.at_least else label_of(share.value)
        rounded = percent(share.estimate, share.low, share.high, share.standard_error, SENTENCE_FIGURES)
        return f"{label} {rounded.estimate}{rounded.suffix}"
    if estimated.coordinates is not None:
        coordinate = estimated.coordinates[position]
        if coordinate.estimate is None:
            return "too few reports"
        return (
            f"{coordinate_words(coordinate.value)} {number_of(coordinate, '', possible_coordinate(estimated)).estimate}"
        )
    if estimated.mean is None:
        return plural(estimated.reports, "report")
    rounded = number_of(estimated.mean, estimated.unit, estimated.mean_range)
    return f"{rounded.estimate}{rounded.suffix}"


def _details(shown: MetricEstimate, style: Style) -> Iterator[str]:
    """Yield what was asked for besides the figures."""
    if shown.central is not None:
        yield central.line_of(shown)
    if shown.clusters is not None:
        number_of_clusters = len(shown.clusters.clusters)
        sure = shown.clusters.numbers[number_of_clusters - 1]
        yield from _sentence(f"{plural(number_of_clusters, 'cluster')}, in {sure:.0%} of resampled tallies.", style)
    if shown.fakes is not None:
        yield from _sentence(_fakes_words(shown, shown.fakes), style)


def _fakes_words(shown: MetricEstimate, fakes: Fakes) -> str:
    """Return how far made-up reports could have moved the answer's figure, and the test result."""
    what = "nothing moved"
    if fakes.estimates is not None:
        move = fakes.estimates[leader(shown)]
        moved = percent(0.0, -move.down, move.up, figures=SENTENCE_FIGURES)
        what = f"“{label_of(move.value)}” moved by {moved.low} to {moved.high} points at most"
    elif shown.texts is not None:
        what = "no text moved" if shown.texts.made_up is None else made_up_words(shown.texts.made_up, shown.reports)
    elif fakes.mean is not None:
        moved = number(0.0, -fakes.mean.down, fakes.mean.up, unit=shown.unit, figures=SENTENCE_FIGURES)
        what = f"mean moved by {moved.interval} at most"
    return f"{100 * fakes.fraction:.3g} % made up: {what}; {poisoning.brief(fakes.test)}."


def _together(highlight: Highlight, pooled: Pooled | None, changes: Changes | None, style: Style) -> Iterator[str]:
    """Yield what several windows say together."""
    words = []
    if changes is not None:
        clearest = clearest_changes(changes)[0]
        conclusion, p_value = change_conclusion(clearest, changes.tests), clearest.p_value_corrected
        may_differ = conclusion in {Conclusion.DIFFER, Conclusion.MAY_DIFFER}
        chance = f" (p {p_equals(p_value)})" if may_differ and p_value is not None else ""
        size = f": {_change_words(clearest, highlight.shown.unit)}" if may_differ else ""
        between = f"between {changes.first} and {changes.last}"
        outcome = OUTCOMES[conclusion].format(tested=tested_words(changes))
        words.append(f"{outcome} {between}{size}{chance}")
    untested = untested_words(untested_figures(highlight.shown)) if changes is not None or pooled is not None else ""
    if untested:
        words.append(f"not tested: whether {untested} changed")
    if pooled is not None:
        together = _pooled_words(pooled, highlight.shown)
        unlike = ", whether or not they differ" if len(pooled.windows) > COMPARED else ""
        words.append(f"{plural(len(pooled.windows), 'window')} pooled{unlike}: {together}")
    if words:
        sentence = "; ".join(words)
        yield from _sentence(f"{sentence[0].upper()}{sentence[1:]}.", style)


def _change_words(change: Change, unit: str) -> str:
    """Return by how much an answer changed, with its sign."""
    if isinstance(change, ShareChange):
        moved = percent(change.estimate, change.low, change.high, change.standard_error, SENTENCE_FIGURES)
        return f"“{label_of(change.value)}” by {moved.estimate} points ({moved.low} to {moved.high})"
    moved = number(change.estimate, change.low, change.high, change.standard_error, unit, SENTENCE_FIGURES)
    return f"the mean by {moved.estimate}{moved.suffix} ({moved.interval})"


def _pooled_words(pooled: Pooled, shown: MetricEstimate) -> str:
    """Return the figure of all windows that the sentence on one window is about."""
    position = leader(shown)
    if pooled.estimates:
        share = pooled.estimates[position]
        rounded = percent(share.estimate, share.low, share.high, share.standard_error, SENTENCE_FIGURES)
        label = "" if share.value is True else f"{label_of(share.value)} "
        return f"{label}{rounded.estimate}{rounded.suffix} ({rounded.interval})"
    if pooled.coordinates is not None:
        rounded = number_of(pooled.coordinates[position], "", possible_coordinate(shown))
        return f"{coordinate_words(position)} {rounded.estimate} ({rounded.interval})"
    if pooled.mean is None:
        return plural(pooled.reports, "report")
    rounded = number_of(pooled.mean, pooled.unit, shown.mean_range)
    return f"{rounded.estimate}{rounded.suffix} ({rounded.interval})"


def _notes(report: EstimateReport, style: Style) -> Iterator[str]:
    """Yield whom figures describe, what is preliminary, and what looks surer than it is."""
    yield from _wrapped(participation_of([highlight.shown for highlight in report.highlights]), style)
    if any(highlight.shown.among_all is not None for highlight in report.highlights):
        yield from _wrapped(AMONG_ALL_NOTE, style)
    if any(has_a_point(highlight.shown) for highlight in report.highlights):
        yield from _wrapped(POINT_NOTE, style)
    if any(not estimated.closed for estimated in report.metrics):
        yield from _wrapped(PRELIMINARY_FOOTNOTE, style)
        if report.snapshot_at is not None:
            at = f"{report.snapshot_at:%Y-%m-%d %H:%M:%S}"
            note = f"Open windows are shown as they were at {at} UTC; {NEXT_LOOK}"
            yield from _wrapped(note, style)


def _wrapped(note: str, style: Style) -> Iterator[str]:
    yield from map(style.quiet, wrapped(note, style.width))
