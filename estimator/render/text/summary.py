"""The summary of a report: a sentence and the last window's figures for each metric."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from estimator.render.rounding import (
    SENTENCE_FIGURES,
    ShownFigure,
    bar_ends,
    exact_percent,
    shown,
    unit_of,
    whole_percent,
)
from estimator.render.text.style import PLAIN, SHORTEST_BAR, Style, aligned, columns_of, padded, wrapped
from estimator.render.words import (
    AMONG_ALL_NOTE,
    CENTRAL_FOOTNOTE,
    NOTHING,
    NOTHING_SKIPPED,
    PRELIMINARY_FOOTNOTE,
    TRIAL,
    answer_of,
    central_line,
    composed_lines,
    has_a_point,
    made_up_words,
    move_label,
    move_unit,
    notes_of,
    outcome_words,
    participation_of,
    titled,
    untested_words,
    window_of,
)
from estimator.results.estimate import Estimate, Figure
from estimator.results.group import Figured, FigureGroup, FigureKey
from estimator.results.metric import Fakes, MetricEstimate, Move, Pooled
from estimator.results.report import SHOWN_VALUES, Changes, EstimateReport, Highlight
from estimator.words import is_yes_or_no, joined, plural, shown_of

SHORTEST_LABEL = 6
"""The minimum number of columns for a label, even next to long figures."""

LONGEST_BAR = 20

COMPARED = 2
"""The minimum number of windows for a comparison."""

SHOWN_WINDOWS = 10
"""The maximum number of windows that the summary lists for a metric, in addition to the window
whose figures it shows in full.
"""

HEADING = "estimate ± standard error, {confidence:.0%} interval{together}; --verbose shows all"

NEXT_LOOK = "; the next snapshot follows after --snapshot-interval, an hour by default"

POINT_NOTE = "An interval of a single point is not a certainty: this tally is very unlikely, whatever people answer."


def as_summary(report: EstimateReport, style: Style = PLAIN) -> str:
    """Return the report as a summary."""
    if not report.metrics:
        return NOTHING_SKIPPED if report.skipped else NOTHING
    report = titled(report)
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
        lines += [composed_lines(report.composed).rstrip("\n"), *_wrapped(CENTRAL_FOOTNOTE, style)]
    lines += _notes(report, style)
    return style.shown("".join(f"{line.rstrip()}\n" for line in lines))


def _heading(report: EstimateReport, common: str | None, style: Style) -> Iterator[str]:
    if report.is_trial:
        yield from _wrapped(TRIAL, style)
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
    yield from _titled(shown.target, counted if shown.reports else f"No reports{where}.", style)
    if shown.reports:
        yield from _figures(shown, highlight, style)
    others = [each for each in windows if each.window != shown.window and pooled is None]
    if others:
        is_long = len(others) > SHOWN_WINDOWS
        which = f", the last {SHOWN_WINDOWS} of {len(others):,} (--verbose shows all)" if is_long else ""
        yield from _sentence(f"Other windows{which}: {_listed(others[-SHOWN_WINDOWS:], shown)}.", style)
    yield from _details(shown, style)


def _figures(shown: MetricEstimate, highlight: Highlight, style: Style) -> Iterator[str]:
    groups = [group for group in shown.groups if group.about.line]
    leading = [group for group in groups if not group.about.by_value or group is shown.leading]
    positions = [_positions(group, highlight.positions) for group in leading]
    yield from figure_lines(
        [cells for group, at in zip(leading, positions, strict=True) for cells in _cells(group, at)], style
    )
    for group, at in zip(leading, positions, strict=True):
        is_told = is_yes_or_no(group.figures.labels)
        if len(at) < len(group.figures) and not is_told and group.about.most_lines:
            more = group.more(len(group.figures) - len(at))
            yield from _sentence(f"… and {more}; --verbose shows up to {SHOWN_VALUES}.", style)
    for sentence in notes_of(shown):
        yield from _sentence(sentence, style)


def _titled(title: str, sentence: str, style: Style) -> Iterator[str]:
    first, *rest = wrapped(f"{title}: {sentence}", style.width, others="  ")
    yield style.strong(first[: len(title) + 1]) + first[len(title) + 1 :]
    yield from rest


def _sentence(sentence: str, style: Style) -> Iterator[str]:
    lines = wrapped(sentence, style.width, "  ", "  ")
    yield from map(style.quiet, lines)


def _cells(group: FigureGroup, positions: Sequence[int]) -> Iterator[ShownFigure]:
    unit, ends = unit_of(group), bar_ends(group)
    for figure in group.figures.at(positions):
        yield shown(group.about.line.format(group.label(figure)), figure, unit, ends)


def _positions(group: FigureGroup, positions: Sequence[int]) -> Sequence[int]:
    """Return the positions of the figures that get a line in the summary.

    * For the answers "yes" and "no", only "yes" gets a line.
    * If the number of lines is limited, the largest figures get a line.
    * Otherwise, all figures with an estimate get a line.
    """
    figures, most = group.figures, group.about.most_lines
    if is_yes_or_no(figures.labels):
        return [1]
    if not most:
        return [at for at, figure in enumerate(figures) if figure.estimate is not None]
    of_group = positions if group.about.by_value else range(len(figures))
    sizes = figures.unbiased if group.about.is_share else abs(figures.unbiased)
    largest = sorted(of_group, key=lambda position: -sizes[position])
    return sorted(largest[: shown_of(len(figures), most)])


def figure_lines(rows: Sequence[ShownFigure], style: Style) -> Iterator[str]:
    """Yield a line for each figure: label, estimate, error, interval and, if it fits, a bar."""
    estimates = aligned([row.rounded.estimate or "?" for row in rows])
    errors = aligned([row.rounded.error for row in rows])
    lows, highs = aligned([row.rounded.low for row in rows]), aligned([row.rounded.high for row in rows])
    unit_width = max((columns_of(row.rounded.suffix) for row in rows), default=0)
    figures = [
        f"{estimate}{padded(row.rounded.suffix, unit_width)} {_error(error)}  {low} to {high}"
        for row, estimate, error, low, high in zip(rows, estimates, errors, lows, highs, strict=True)
    ]
    longest = max((columns_of(figure) for figure in figures), default=0)
    columns = max(SHORTEST_LABEL, min(_longest_label(rows, style), style.width - longest - len("  ") - len("  ")))
    for row, figure in zip(rows, figures, strict=True):
        label = f"  {style.filled(row.label, columns)}  "
        yield f"{label}{figure}{_bar(row, style.width - columns_of(label) - longest - 2, style)}"


def _error(text: str) -> str:
    """Return "±" and a standard error, or spaces of the same width if there is no error."""
    return f"± {text}" if text.strip() else " " * (len("± ") + len(text) if text else 0)


def _longest_label(rows: Sequence[ShownFigure], style: Style) -> int:
    return max(SHORTEST_LABEL, min(style.value_width, max((columns_of(joined(row.label)) for row in rows), default=0)))


def _bar(row: ShownFigure, room: int, style: Style) -> str:
    if row.filled is None or room < SHORTEST_BAR:
        return ""
    return f"  {style.colored(style.bar(row.filled, min(room, LONGEST_BAR)), 'cyan')}"


def _listed(windows: Sequence[MetricEstimate], shown: MetricEstimate) -> str:
    return ", ".join(f"{_leading(each, shown)} in {window_of(each)}" for each in windows)


def _leading(estimated: MetricEstimate | Pooled, shown: MetricEstimate) -> str:
    """Look up the main figure of ``shown`` in ``estimated``, and return it as text."""
    group, figure = _headline(estimated, shown)
    if not estimated.reports:
        return "no reports"
    if group is None or figure is None:
        return plural(estimated.reports, "report")
    if figure.estimate is None:
        return "too few reports"
    rounded = unit_of(group).rounded(figure, SENTENCE_FIGURES)
    label = "" if group.about.is_mean else f"{group.label(figure)} "
    return f"{label}{rounded.estimate}{rounded.suffix}"


def _headline(estimated: Figured, shown: MetricEstimate) -> tuple[FigureGroup | None, Figure | None]:
    """Look up the main figure of ``shown`` in ``estimated``, and return it with its statistic.

    If ``estimated`` lacks the statistic, return the main figure of ``estimated``.
    """
    key = shown.headline
    if key is None or estimated.group(key.statistic) is None:
        key = estimated.headline
    return (None, None) if key is None else (estimated.group(key.statistic), estimated.figure(key))


def _details(shown: MetricEstimate, style: Style) -> Iterator[str]:
    if shown.central is not None:
        yield central_line(shown)
    if shown.clusters is not None:
        number_of_clusters = len(shown.clusters.clusters)
        sure = whole_percent(shown.clusters.numbers[number_of_clusters - 1])
        yield from _sentence(f"{plural(number_of_clusters, 'cluster')}, in {sure} of resampled tallies.", style)
    if shown.fakes is not None:
        yield from _sentence(_fakes_words(shown, shown.fakes), style)


def _fakes_words(shown: MetricEstimate, fakes: Fakes) -> str:
    key, what = shown.headline, "nothing would move"
    moves = {FigureKey(move.statistic, move.value): move for move in fakes.moves}
    move = moves.get(key) if key is not None else None
    if shown.texts is not None:
        what = (
            "no text would move" if shown.texts.made_up is None else made_up_words(shown.texts.made_up, shown.reports)
        )
    elif move is not None or fakes.moves:
        what = _moved_words(shown, move or fakes.moves[-1])
    verdict = "The tally looks fabricated" if fakes.test.impossible else "No sign of fabrication"
    return f"If {exact_percent(fakes.fraction)} of reports were fabricated, {what}. {verdict}."


def _moved_words(shown: MetricEstimate, move: Move) -> str:
    group = shown.group(move.statistic)
    is_share, unit = group is not None and group.about.is_share, move_unit(shown, move)
    moved = unit.rounded(Estimate(0.0, None, -move.down, move.up), SENTENCE_FIGURES)
    named = joined(move_label(shown, move))
    return f"{f'“{named}”' if is_share else named} could be off by {moved.low} to {moved.high}{unit.of_difference}"


def _together(highlight: Highlight, pooled: Pooled | None, changes: Changes | None, style: Style) -> Iterator[str]:
    words = []
    if changes is not None:
        words.append(outcome_words(changes))
    statistics = highlight.shown.untested if changes is None else changes.untested
    untested = untested_words(statistics) if changes is not None or pooled is not None else ""
    if untested:
        words.append(f"changes in {untested} are not tested")
    if pooled is not None:
        together = _pooled_words(pooled, highlight.shown)
        unlike = ", whether or not they differ" if len(pooled.windows) > COMPARED else ""
        words.append(f"{plural(len(pooled.windows), 'window')} pooled{unlike}: {together}")
    if words:
        sentence = "; ".join(words)
        yield from _sentence(f"{sentence[0].upper()}{sentence[1:]}.", style)


def _pooled_words(pooled: Pooled, shown: MetricEstimate) -> str:
    group, figure = _headline(pooled, shown)
    if group is None or figure is None:
        return plural(pooled.reports, "report")
    return f"{_leading(pooled, shown)} ({unit_of(group).rounded(figure, SENTENCE_FIGURES).interval})"


def _notes(report: EstimateReport, style: Style) -> Iterator[str]:
    yield from _wrapped(participation_of([highlight.shown for highlight in report.highlights]), style)
    if any(highlight.shown.among_all is not None for highlight in report.highlights):
        yield from _wrapped(AMONG_ALL_NOTE, style)
    if any(has_a_point(highlight.shown) for highlight in report.highlights):
        yield from _wrapped(POINT_NOTE, style)
    if any(not estimated.closed for estimated in report.metrics):
        yield from _wrapped(PRELIMINARY_FOOTNOTE, style)
        if report.snapshot_at is not None:
            at = f"{report.snapshot_at:%Y-%m-%d %H:%M:%S}"
            note = f"Open windows are shown as they were at {at} UTC{'' if report.is_trial else NEXT_LOOK}."
            yield from _wrapped(note, style)


def _wrapped(note: str, style: Style) -> Iterator[str]:
    yield from map(style.quiet, wrapped(note, style.width))
