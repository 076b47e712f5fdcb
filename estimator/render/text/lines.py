"""The lines of a table on one tally: the figures, and what stands beneath the shares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from estimator.render.rounding import PERCENT, ShownFigure, exact_percent, shown, unit_of, whole_percent
from estimator.render.sentences import move_cells, taking_part_words, text_notes
from estimator.render.text.style import Style, wrapped
from estimator.render.words import cluster_words, made_up_test, p_equals, short_loss, shown_moves
from estimator.report.conclusions import Conclusion, clearest_first, conclusion
from estimator.report.group_differences import differences_of
from estimator.results.estimate import Figures
from estimator.results.extras import Central, Composed
from estimator.results.group import SHARES, Ends, FigureGroup
from estimator.results.metric import MetricEstimate
from estimator.results.report import SHOWN_VALUES
from estimator.words import plural

TOO_FEW = "too few to tell"
"""Stands for a share within a group that has hardly any members, or none."""

SHOWN_DIFFERENCES = 3
"""How many differences between groups are shown, the clearest first."""


CENTRAL_FOOTNOTE = """\
central epsilon: what the answer of a device loses, if of all reports only the
tallies of closed windows are published, and if those counted are honest.
"""


def lines_of(group: FigureGroup, positions: Sequence[int], *, have_bars: bool = True) -> Iterator[ShownFigure]:
    """Yield the figures of a statistic as lines.

    Args:
        group: the figures.
        positions: which values are shown, if it has a figure for each value.
        have_bars: whether they have bars.

    """
    unit, ends = unit_of(group), bar_ends(group) if have_bars else None
    for figure in shown_figures(group, positions):
        yield shown(group.about.parts(figure.value), figure, unit, ends)


def shown_figures(group: FigureGroup, positions: Sequence[int]) -> Figures:
    """Return the figures of the values that are shown, or of any other statistic the first ones."""
    return group.figures.at(positions if group.about.by_value else range(min(SHOWN_VALUES, len(group.figures))))


def bar_ends(group: FigureGroup) -> Ends | None:
    """Return the ends of the bars; of numbers without ends, those of the farthest interval."""
    if group.ends is not None or not group.about.by_value:
        return group.ends
    most = float(max(abs(group.figures.lows).max(), abs(group.figures.highs).max()))
    return (-most, most) if most else None


def part_lines(estimated: MetricEstimate, style: Style) -> Iterator[str]:
    """Yield the figures that have a heading of their own, and what is concluded from them."""
    names = [style.cut(name) for name in estimated.names or ()]
    for group in estimated.groups:
        heading = group.about.table_heading
        if not heading:
            continue
        counted = f": {len(group.figures):,}" if estimated.texts is not None else ""
        yield f"  {heading.format(*names)}, {window_of(estimated)}{counted}"
        for line in lines_of(group, ()):
            yield style.row("", line, TOO_FEW)
        if len(group.figures) > SHOWN_VALUES:
            yield f"  … and {len(group.figures) - SHOWN_VALUES:,} more; --format json and csv have all"
    yield from (f"  {line}" for note in text_notes(estimated) for line in wrapped(note, style.width - len("  ")))
    differences = differences_of(estimated)
    if differences is not None:
        yield from _differences(differences, style)
    if estimated.independence is not None:
        test = estimated.independence
        yield f"  if {names[0]} and {names[1]} had nothing to do with each other:"
        yield f"  p {p_equals(test.p_value)} (chi-square {test.statistic:.1f}, {test.degrees_of_freedom} d.f.)"


def among_all_lines(estimated: MetricEstimate, positions: Sequence[int], style: Style) -> Iterator[str]:
    """Yield the bounds on figures of all installations.

    Args:
        estimated: the figures of one window.
        positions: which values are shown.
        style: of the table.

    """
    among_all = estimated.among_all
    if among_all is None:
        return
    whole = f"  among all {among_all.installs:,} installations, {window_of(estimated)}"
    yield style.shown(f"{whole}; {taking_part_words(among_all)}")
    for group in among_all.groups:
        for line in lines_of(group, positions):
            yield style.row("", line, "bounds")


def cluster_lines(estimated: MetricEstimate, style: Style) -> Iterator[str]:
    """Yield how many clusters there are and how sure that is, then each of several clusters."""
    clusters = estimated.clusters
    if clusters is None:
        return
    number = len(clusters.clusters)
    how_often = f"{whole_percent(clusters.numbers[number - 1])} of resampled tallies"
    yield f"  {plural(number, 'cluster')}, {window_of(estimated)}: this number in {how_often}"
    for cluster in clusters.clusters if number > 1 else ():
        stable = f"stable {whole_percent(cluster.stability)}"
        yield style.row(stable, shown(cluster_words(cluster), cluster.share, PERCENT, SHARES))


def fakes_lines(estimated: MetricEstimate, positions: Sequence[int], style: Style) -> Iterator[str]:
    """Yield how far made-up reports could have moved each shown value, and the result of the test.

    Args:
        estimated: the figures of one window.
        positions: which values are shown.
        style: of the table.

    """
    fakes = estimated.fakes
    if fakes is None:
        return
    yield f"  if {exact_percent(fakes.fraction)} of the reports were made up, {window_of(estimated)}: down, up"
    for move in shown_moves(estimated, positions):
        label, down, up = move_cells(estimated, move)
        yield f"  {style.filled(label, style.value_width)} {down:>16}  {up:>16}"
    yield f"  {made_up_test(fakes.test)}"


def _differences(differences: FigureGroup, style: Style) -> Iterator[str]:
    """Yield how many comparisons lead to each conclusion, then the clearest comparisons."""
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
        yield style.row("", shown(f"{concluded}, p {p_value}", difference, unit_of(differences)))


def window_of(estimated: MetricEstimate) -> str:
    """Return the name of a window, with an asterisk where it is still open."""
    return estimated.window + ("" if estimated.closed else "*")


def central_line(estimated: MetricEstimate) -> str:
    """Return the line of a tally, or an empty text where there is no central epsilon."""
    if estimated.central is None:
        return ""
    return f"  {estimated.window}: {_central_words(estimated.central)}, if only tallies are public"


def composed_lines(composed: tuple[Composed, ...]) -> str:
    """Return a line for each window on all of its tallies together."""
    return "".join(
        f"{window.window}, {plural(window.tallies, 'tally', 'tallies')} together: "
        f"{'nothing holds at this delta' if window.central is None else _central_words(window.central)}\n"
        for window in composed
    )


def _central_words(central: Central) -> str:
    return f"central epsilon {short_loss(central.epsilon)} at delta {short_loss(central.delta)}"
