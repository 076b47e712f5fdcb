"""The verbose report (``--verbose``) as text. Each metric has a block of lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, zip_longest

from estimator.render.rounding import (
    PERCENT,
    ShownFigure,
    bar_ends,
    exact_percent,
    shown,
    shown_figures,
    unit_of,
    whole_percent,
)
from estimator.render.text.style import LEAST_WIDTH, PLAIN, Style, wrapped
from estimator.render.words import (
    AMONG_ALL_NOTE,
    CENTRAL_FOOTNOTE,
    NOTHING,
    NOTHING_SKIPPED,
    PRELIMINARY_FOOTNOTE,
    TRIAL,
    central_line,
    cluster_words,
    compared_words,
    composed_lines,
    has_a_point,
    made_up_test,
    mechanism_words,
    move_cells,
    notes_of,
    outcome_words,
    p_equals,
    participation_of,
    shown_moves,
    taking_part_words,
    titled,
    untested_words,
    window_of,
)
from estimator.report.conclusions import (
    Conclusion,
    by_value,
    clearest_changes,
    clearest_first,
    conclusion,
    differences_of,
    suggested,
)
from estimator.report.strata import clearest_effects
from estimator.results.group import SHARES, FigureGroup
from estimator.results.metric import MetricEstimate, Pooled
from estimator.results.report import SHOWN_VALUES, Changes, ChangeVerdict, Effect, EstimateReport, Highlight
from estimator.statistics.confidence import SIGNIFICANT
from estimator.words import in_unit, plural

TOO_FEW = "too few to tell"
"""The text for a share within a group that may be empty."""

SHOWN_DIFFERENCES = 3
"""The maximum number of differences between groups that are shown."""

FOOTNOTES = """\
estimate ± error: the unbiased estimate with its standard error. An estimate
outside its interval is shown as the nearer end; --format json and csv contain
the original. Shares within a group, and their differences, are ratios of
estimates, which are slightly biased if there are few reports.
Intervals are rounded outwards. Standard errors and intervals treat the devices
as a random sample of a population. They cover both the sampling and the
mechanism's noise.
"""

DIFFERENCES_FOOTNOTE = """\
Groups differ: unlikely to be chance; p is at most 0.05 after correction for all
group differences in this report. May differ: only the uncorrected p is at most
0.05, or the interval excludes 0. By chance alone, a few of many intervals
exclude 0.
"""

BAR_FOOTNOTE = """\
Bars show estimates. A full bar stands for all participating devices, or for the
upper end of the range.
"""

LIKELIEST_FOOTNOTE = """\
likeliest: the maximum-likelihood estimate in the possible range, biased
near its ends.
"""

POINT_FOOTNOTE = """\
If an interval is a single point, the tally is very unlikely, whatever people
answer. The point is the nearest end of the range, not a certainty.
"""

DISTRIBUTION_FOOTNOTE = """\
Variance, quantiles, ranges: estimates come from a smoothed histogram, and are
slightly biased where the histogram bends. Their intervals are valid for every
population. An estimate outside its interval is moved to the nearer end.
--format json contains the histogram and the distribution function.
"""

THRESHOLDS_FOOTNOTE = """\
Quantiles between thresholds: their intervals are valid for every population.
Their estimates assume that answers are uniform between adjacent thresholds.
"""

CLUSTERS_FOOTNOTE = """\
Clusters: their number and their stability are determined by resampling tallies.
Shares refer to the named answers. Each interval is valid on its own.
"""

TOGETHER_FOOTNOTE = """\
The confidence above the intervals is the probability that all intervals of a
question in a window contain their true values.
"""

MADE_UP_FOOTNOTE = """\
fabricated reports: down and up are the largest moves of each estimate that such
reports could have caused. The test asks whether any population could have
produced the tally. A passed test proves nothing, because false answers that
follow the protocol look like those of a population.
"""

POOLED_FOOTNOTE = """\
Windows together: the same people may have answered in every window, so only the
mechanism's fresh noise averages out.
"""

SINCE_FOOTNOTE = """\
Changes: all reports since the chosen window are compared with earlier ones.
Intervals are valid even if the same people answered in all windows. A change is
reported if its p-value is at most 0.05 after correction for all figures of all
questions.
"""

CHANGES_FOOTNOTE = """\
Changes: the tests compare the last closed window with the first, fit a straight
line through all windows, and look for a step after each window. Intervals are
valid even if the same people answered in all windows. A change is reported if
its p-value is at most 0.05 after correction for all figures of all questions.
Wait for the next window to confirm a new change.
"""


def as_table(report: EstimateReport, style: Style = PLAIN) -> str:
    """Return the verbose report as text."""
    if not report.metrics:
        return NOTHING_SKIPPED if report.skipped else NOTHING
    report = titled(report)
    highlights = {highlight.shown.metric: highlight for highlight in report.highlights}
    blocks = [
        _block(highlights[metric], list(windows), report.confidence, style)
        for metric, windows in groupby(report.metrics, key=lambda estimated: estimated.metric)
    ]
    preliminary = any(not estimated.closed for estimated in report.metrics)
    point = any(has_a_point(estimated) for estimated in report.metrics)
    notes = {
        FOOTNOTES: True,
        LIKELIEST_FOOTNOTE: style.has_likeliest,
        DIFFERENCES_FOOTNOTE: any(differences_of(estimated) is not None for estimated in report.metrics),
        BAR_FOOTNOTE: any(estimated.reports for estimated in report.metrics),
        TOGETHER_FOOTNOTE: report.simultaneous,
        POINT_FOOTNOTE: point,
        DISTRIBUTION_FOOTNOTE: any(estimated.group("bin") is not None for estimated in report.metrics),
        THRESHOLDS_FOOTNOTE: any(estimated.group("share_above") is not None for estimated in report.metrics),
        CLUSTERS_FOOTNOTE: any(estimated.clusters is not None for estimated in report.metrics),
        CENTRAL_FOOTNOTE: bool(report.composed),
        MADE_UP_FOOTNOTE: any(estimated.fakes is not None for estimated in report.metrics),
        POOLED_FOOTNOTE: bool(report.pooled),
        CHANGES_FOOTNOTE: any(changes.since is None for changes in report.changes),
        SINCE_FOOTNOTE: any(changes.since is not None for changes in report.changes),
        _note(AMONG_ALL_NOTE): any(estimated.among_all is not None for estimated in report.metrics),
        _note(participation_of([highlight.shown for highlight in report.highlights])): True,
        PRELIMINARY_FOOTNOTE: preliminary,
        _snapshot_note(report): preliminary and report.snapshot_at is not None,
    }
    together = [_pooled_block(pooled, highlights[pooled.metric], style) for pooled in report.pooled]
    together += [_changes_block(changes, highlights[changes.metric], style) for changes in report.changes]
    titles = {estimated.metric: estimated.title for estimated in report.metrics}
    together += [_effect_block(effect, titles, style) for effect in clearest_effects(report.effects)]
    together += [composed_lines(report.composed)] if report.composed else []
    blocks = [_note(TRIAL), *blocks] if report.is_trial else blocks
    return style.shown("\n".join([*blocks, *together, "".join(note for note, applies in notes.items() if applies)]))


def _note(sentences: str) -> str:
    return "".join(f"{line}\n" for line in wrapped(sentences, LEAST_WIDTH))


def _snapshot_note(report: EstimateReport) -> str:
    at = report.snapshot_at
    return "" if at is None else f"Open windows are shown as they were at {at:%Y-%m-%d %H:%M:%S} UTC.\n"


def _block(highlight: Highlight, windows: Sequence[MetricEstimate], confidence: float, style: Style) -> str:
    metric = highlight.shown
    lines = [
        style.strong(in_unit(f"{metric.target}: {metric.kind}", metric.unit)),
        f"  {mechanism_words(metric)}",
        *(f"  reports in {window_of(estimated)}: {estimated.reports:,}" for estimated in windows),
        style.heading(confidence),
        *_rows(windows, highlight, style),
        *(line for estimated in windows for line in part_lines(estimated, style)),
        *filter(None, map(central_line, windows)),
        *(
            line
            for estimated in windows
            for line in (
                *among_all_lines(estimated, highlight.positions, style),
                *cluster_lines(estimated, style),
                *fakes_lines(estimated, highlight.positions, style),
            )
        ),
        *(line for note in next_thresholds(metric) for line in wrapped(note, style.width, "  ", "  ")),
    ]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def next_thresholds(estimated: MetricEstimate) -> Iterator[str]:
    """Yield advice on thresholds that would enclose the median more closely."""
    better = suggested(estimated)
    if better:
        listed = ", ".join(f"{threshold:.12g}" for threshold in better)
        yield f"To narrow down the median, ask with thresholds = [{listed}] in the next release."


def _pooled_block(pooled: Pooled, highlight: Highlight, style: Style) -> str:
    first, *_, last = pooled.windows
    windows, reports = plural(len(pooled.windows), "window"), plural(pooled.reports, "report")
    title = f"{pooled.target}: {windows} together, {first} to {last}, {reports}"
    titles = map(style.strong, wrapped(title, style.width, others="  "))
    lines = [*titles, *_group_rows(pooled.groups, highlight.positions, style)]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _changes_block(changes: Changes, highlight: Highlight, style: Style) -> str:
    title = f"{highlight.shown.title}: {compared_words(changes)}"
    lines = [style.strong(title)]
    for group in changes.groups:
        if not (group.about.members and group.about.is_share):
            lines += _group_rows([group], highlight.positions, style, are_differences=True)
            continue
        names = map(style.cut, highlight.shown.names or ())
        lines.append(f"  {group.about.table_heading.format(*names)}")
        lines += style.rows([("", line) for line in lines_of(group, (), are_differences=True)], TOO_FEW)
    lines += wrapped(f"{outcome_words(changes)}{_chance_words(changes)}", style.width, "  ", "  ")
    untested = untested_words(changes.untested)
    if untested:
        lines += wrapped(f"changes in {untested} are not tested", style.width, "  ", "  ")
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _chance_words(changes: Changes) -> str:
    """Return a clause if a p-value is significant only without correction, and "" otherwise."""
    _, clearest = clearest_changes(changes)[0]
    p_value = clearest.p_value
    if changes.verdict is not ChangeVerdict.NO_CHANGE or p_value is None or p_value > SIGNIFICANT:
        return ""
    often = f"among {changes.tests} comparisons, one is often as clear by chance"
    return f": the clearest difference has p {p_equals(p_value)}, but {often}"


def _effect_block(effect: Effect, titles: Mapping[str, str], style: Style) -> str:
    title = titles.get(effect.metric, effect.metric)
    lines = [style.strong(f"{title} in {effect.window}: {effect.second} less {effect.first}")]
    lines += _group_rows(effect.groups, range(SHOWN_VALUES), style, are_differences=True)
    if effect.p_value_corrected is not None:
        lines.append(f"  clearest difference: p {p_equals(effect.p_value_corrected)}, corrected")
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _group_rows(
    groups: Iterable[FigureGroup], positions: Sequence[int], style: Style, *, are_differences: bool = False
) -> Iterator[str]:
    for group in groups:
        lines = lines_of(group, [at for at in positions if at < len(group.figures)], are_differences=are_differences)
        yield from style.rows([("", line) for line in lines])


def _rows(windows: Sequence[MetricEstimate], highlight: Highlight, style: Style) -> Iterator[str]:
    """Yield a line for each value and window, value by value.

    The last figure of a model is its AUC, which is missing in a window with too few reports.
    """
    in_table = ([group for group in estimated.groups if group.about.in_table] for estimated in windows)
    tracks = zip_longest(
        *([line for group in groups for line in lines_of(group, highlight.positions)] for groups in in_table)
    )
    rows: list[tuple[str, ShownFigure]] = []
    for lines in tracks:
        known = [(window, line) for window, line in zip(windows, lines, strict=True) if line is not None]
        rows += [
            (window_of(estimated), line if index == 0 else line._replace(label=""))
            for index, (estimated, line) in enumerate(known)
        ]
    yield from style.rows(rows)
    group = by_value(highlight.shown)
    if highlight.left_out and group is not None:
        yield f"  … and {group.more(highlight.left_out)}; --format json and csv have all"


def lines_of(group: FigureGroup, positions: Sequence[int], *, are_differences: bool = False) -> Iterator[ShownFigure]:
    """Yield a line for each shown figure of a statistic. Differences have no bars.

    ``positions`` are the positions of the shown values. If the statistic does not have one figure
    per value, ``positions`` is ignored.
    """
    unit, ends = (unit_of(group).for_differences, None) if are_differences else (unit_of(group), bar_ends(group))
    for figure in shown_figures(group, positions):
        yield shown(group.about.parts(figure.value), figure, unit, ends)


def part_lines(estimated: MetricEstimate, style: Style) -> Iterator[str]:
    """Yield lines on statistics that have a separate heading, with conclusions on differences."""
    names = [style.cut(name) for name in estimated.names or ()]
    for group in estimated.groups:
        heading = group.about.table_heading
        if not heading:
            continue
        counted = f": {len(group.figures):,}" if estimated.texts is not None else ""
        yield f"  {heading.format(*names)}, {window_of(estimated)}{counted}"
        lines = [("", line) for line in lines_of(group, ())]
        yield from style.rows(lines, TOO_FEW)
        if len(group.figures) > len(lines):
            yield f"  … and {len(group.figures) - len(lines):,} more; --format json and csv have all"
    yield from (f"  {line}" for note in notes_of(estimated) for line in wrapped(note, style.width - len("  ")))
    differences = differences_of(estimated)
    if differences is not None:
        yield from _differences(differences, style)
    if estimated.independence is not None:
        test = estimated.independence
        yield f"  test whether {names[0]} and {names[1]} are associated:"
        yield f"  p {p_equals(test.p_value)} (chi-square {test.statistic:.1f}, {test.degrees_of_freedom} d.f.)"


def among_all_lines(estimated: MetricEstimate, positions: Sequence[int], style: Style) -> Iterator[str]:
    """Yield lines with the bounds on the figures of all installations.

    ``positions`` are the positions of the shown values among all values of the metric.
    """
    among_all = estimated.among_all
    if among_all is None:
        return
    whole = f"  among all {among_all.installs:,} installations, {window_of(estimated)}"
    yield style.shown(f"{whole}; {taking_part_words(among_all)}")
    for group in among_all.groups:
        yield from style.rows([("", line) for line in lines_of(group, positions)], "bounds")


def cluster_lines(estimated: MetricEstimate, style: Style) -> Iterator[str]:
    """Yield a line on the number of clusters and, if there are several, a line for each."""
    clusters = estimated.clusters
    if clusters is None:
        return
    number = len(clusters.clusters)
    how_often = f"{whole_percent(clusters.numbers[number - 1])} of resampled tallies"
    yield f"  {plural(number, 'cluster')}, {window_of(estimated)}: the same number in {how_often}"
    for cluster in clusters.clusters if number > 1 else ():
        stable = f"stable {whole_percent(cluster.stability)}"
        yield style.row(stable, shown(cluster_words(cluster), cluster.share, PERCENT, SHARES))


def fakes_lines(estimated: MetricEstimate, positions: Sequence[int], style: Style) -> Iterator[str]:
    """Yield lines on the possible effect of fabricated reports, and on the test for such reports.

    ``positions`` are the positions of the shown values among all values of the metric.
    """
    fakes = estimated.fakes
    if fakes is None:
        return
    yield f"  if {exact_percent(fakes.fraction)} of the reports were fabricated, {window_of(estimated)}: down, up"
    for move in shown_moves(estimated, positions):
        label, down, up = move_cells(estimated, move)
        yield f"  {style.filled(label, style.value_width)} {down:>16}  {up:>16}"
    yield f"  {made_up_test(fakes.test)}"


def _differences(differences: FigureGroup, style: Style) -> Iterator[str]:
    clearest = clearest_first(differences)
    counts = Counter(map(conclusion, clearest))
    counted = ", ".join(f"{counts[concluded]:,} {concluded}" for concluded in Conclusion if counts[concluded])
    yield f"  differences between groups, of {len(clearest):,}: {counted}"
    may_differ = (Conclusion.DIFFER, Conclusion.MAY_DIFFER)
    differing = [difference for difference in clearest[:SHOWN_DIFFERENCES] if conclusion(difference) in may_differ]
    for difference in differing or clearest[:1]:
        if difference.p_value is None or difference.p_value_corrected is None:
            return
        yield f"  {style.cut(differences.label(difference), style.width - len('  '))}"
        concluded = conclusion(difference)
        if concluded is Conclusion.MAY_DIFFER:
            p_value = f"{p_equals(difference.p_value)} alone"
        else:
            p_value = p_equals(difference.p_value_corrected)
        yield style.row("", shown(f"{concluded}, p {p_value}", difference, unit_of(differences).for_differences))
