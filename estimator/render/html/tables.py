"""The tables of a metric, apart from the tables of its figures. A table without rows is left out.

For a pair of metrics, tables show shares within groups, differences, and a test of independence.
Other tables show texts, clusters, the possible effect of fabricated reports, and public strata.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from estimator.render.html.wording import CODES, WordedConclusion, compared, p_text
from estimator.render.rounding import MINUS, PERCENT, Unit, exact_percent, shown_figures, unit_of, whole_percent
from estimator.render.words import (
    AMONG_ALL_NOTE,
    cluster_words,
    made_up_test,
    made_up_words,
    move_cells,
    p_equals,
    shown_moves,
    taking_part_words,
    text_notes,
)
from estimator.report.conclusions import (
    Conclusion,
    clearest_changes,
    clearest_first,
    conclusion,
    differences_of,
)
from estimator.results.estimate import Figure
from estimator.results.group import FigureGroup
from estimator.results.metric import AmongAll, Cluster, Clusters, Fakes, Independence, MetricEstimate
from estimator.results.report import MOST_EFFECTS, Effect
from estimator.statistics.confidence import SIGNIFICANT
from estimator.words import joined, label_of, short

MOST_OUTCOMES = 4
"""The maximum number of columns of shares that fit on a phone and on paper.

On a phone and on paper, a table with more columns has stacked cells.
"""

MOST_DIFFERENCES = 20
"""The maximum number of differences in the table. The table contains the most significant
differences, and JSON and CSV contain all differences.
"""

MOST_TEXTS: Final = 200
"""The maximum number of texts in a list on the page."""

TOO_FEW: Final = "too few reports"

NUMERIC: Final = frozenset({*"0123456789+", MINUS})
"""The possible first characters of a number in a cell."""


class GroupRow(NamedTuple):
    """The name of a group, and the share of each answer within it."""

    group: str
    figures: tuple[tuple[str, Figure], ...]


@dataclass(frozen=True, slots=True)
class JointView:
    """The view of a pair of metrics.

    The answers to the first metric divide devices into groups. The page compares the answers to the
    second metric between these groups.

    Attributes:
        names: the name of the metric that defines the groups, then the name of the compared metric.
        groups: the shares within each group. Empty if the second metric is a number. The means of
            the groups are then among the metric's figures.
        independence: a sentence on whether the two metrics are associated. Empty if the second
            metric is a number.
        clearest: all comparisons, the most significant first.

    """

    names: tuple[str, str]
    groups: tuple[GroupRow, ...]
    verdict: WordedConclusion
    independence: str
    clearest: Sequence[Figure]
    unit: Unit

    @property
    def more(self) -> str:
        """The heading of the column that names the group with the larger figure."""
        return "More common in" if self.groups else "Higher in"

    @property
    def has_many_outcomes(self) -> bool:
        """Whether a row of the table has too many answers for a phone."""
        return any(len(group.figures) > MOST_OUTCOMES for group in self.groups)

    @property
    def differences(self) -> Sequence[tuple[Figure, tuple[str, ...], str, str]]:
        """Each difference in the table, with its answer, groups, conclusion and CSS class."""
        shown = self.clearest[:MOST_DIFFERENCES]
        return [
            (difference, compared(difference, self.names), conclusion(difference), CODES[conclusion(difference)])
            for difference in shown
        ]

    @property
    def left_out(self) -> int:
        """The number of differences that the table leaves out."""
        return max(0, len(self.clearest) - MOST_DIFFERENCES)


def joint_view(estimated: MetricEstimate, independence: float | None) -> JointView | None:
    """Return the view of a pair of metrics, or None for other metrics.

    ``independence`` is the p-value of the test of independence, corrected for all pairs, or None if
    there is no test.
    """
    differences, names = differences_of(estimated), estimated.names
    if differences is None or names is None:
        return None
    clearest, unit = clearest_first(differences), unit_of(differences)
    cells = estimated.group("share_within")
    return JointView(
        names=names,
        groups=() if cells is None else tuple(_rows(cells)),
        verdict=verdict_on(names, clearest, unit),
        independence="" if cells is None else _independence(estimated.independence, names, independence),
        clearest=clearest,
        unit=unit,
    )


def _rows(cells: FigureGroup) -> Iterator[GroupRow]:
    groups, outcomes = axes_of(cells)
    for row, group in enumerate(groups):
        figures = cells.figures.at(range(row * len(outcomes), (row + 1) * len(outcomes)))
        yield GroupRow(group, tuple(zip(outcomes, figures, strict=True)))


def axes_of(cells: FigureGroup) -> tuple[list[str], list[str]]:
    """Return the names of the groups and of the answers, in the order of the figures."""
    groups, outcomes = (dict.fromkeys(part) for part in zip(*cells.figures.labels, strict=True))
    return [label_of(group) for group in groups], [label_of(outcome) for outcome in outcomes]


def _independence(test: Independence | None, names: tuple[str, str], p_value: float | None) -> str:
    first, second = map(short, names)
    if test is None or p_value is None:
        return f"Too few reports to test whether {first} and {second} are associated."
    figures = (
        f"p {p_equals(p_value)}, corrected for all pairs of questions here; chi-square {test.statistic:.1f},"
        f" {test.degrees_of_freedom} degrees of freedom"
    )
    if p_value <= SIGNIFICANT:
        return f"{first} and {second} are associated ({figures})."
    return f"There is no sign that {first} and {second} are associated ({figures})."


def verdict_on(names: tuple[str, str], clearest: Sequence[Figure], unit: Unit) -> WordedConclusion:
    """Return the conclusion on whether groups differ.

    ``names`` contains the name of the metric that defines the groups, then the name of the compared
    metric. ``clearest`` contains all comparisons, the most significant first, in the given unit.
    """
    concluded = conclusion(clearest[0])
    return WordedConclusion(
        CODES[concluded], concluded, f"{_words(names, clearest, concluded, unit)}{_doubt(clearest)}"
    )


def _words(names: tuple[str, str], clearest: Sequence[Figure], concluded: Conclusion, unit: Unit) -> str:
    difference = clearest[0]
    if difference.p_value is None or difference.p_value_corrected is None:
        return "Too few reports to say whether groups differ."
    group, outcome = map(short, names)
    answer, first, second = compared(difference, names)
    first, second = f"{group} “{first}”", f"{group} “{second}”"
    more = f"{outcome} “{answer}” is more common" if unit is PERCENT else f"{outcome} is higher"
    more_common = f"{more} in {first} than in {second}"
    size = f"by {unit.changed(difference).lstrip('+')} ({unit.change_interval(difference)})"
    p_value = f"p {p_equals(difference.p_value_corrected)}, corrected for every difference between groups here"
    if concluded is Conclusion.DIFFER:
        differing = sum(conclusion(comparison) is Conclusion.DIFFER for comparison in clearest)
        counted = f" {differing} of {len(clearest)} comparisons differ." if len(clearest) > 1 else ""
        return f"Groups differ: {more_common}, {size}; unlikely to be chance ({p_value}).{counted}"
    if concluded is Conclusion.MAY_DIFFER:
        doubt = "on its own, this would count as a difference, but among this many comparisons, it may be chance"
        alone = p_equals(difference.p_value)
        return f"Groups may differ: {more_common}, {size}; {doubt} (p {alone}; {p_value})."
    return f"No difference between groups was detected; the clearest is that {more_common}, {size} ({p_value})."


def _doubt(clearest: Sequence[Figure]) -> str:
    unknown = sum(difference.p_value is None for difference in clearest)
    if not 0 < unknown < len(clearest):
        return ""
    return f" For {unknown} of {len(clearest)} comparisons, there are too few reports to say."


@dataclass(frozen=True, slots=True)
class Extra:
    """A table of a metric, apart from the tables of its figures."""

    title: str
    note: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def is_number(self) -> tuple[bool, ...]:
        """For each column, whether all its cells are numbers. Numbers are right-aligned."""
        return tuple(all(text[:1] in NUMERIC for text in column) for column in zip(*self.rows, strict=True))


def extras_of(estimated: MetricEstimate, positions: Sequence[int]) -> Iterator[Extra]:
    """Yield the tables of one window, apart from the tables of its figures.

    ``positions`` are the positions of the shown values among all values of the metric.
    """
    yield from _text_tables(estimated)
    if estimated.among_all is not None:
        yield _among_all_table(estimated.among_all, positions)
    if estimated.clusters is not None:
        yield _clusters_table(estimated.clusters)
    if estimated.fakes is not None:
        yield _fakes_table(estimated, estimated.fakes, positions)


def _text_tables(estimated: MetricEstimate) -> Iterator[Extra]:
    if estimated.texts is None:
        return
    notes, made_up = [*text_notes(estimated)], estimated.texts.made_up
    notes += [] if made_up is None else [f"{made_up_words(made_up, estimated.reports).capitalize()}."]
    for group in estimated.groups:
        rows = tuple(_text_row(group, text) for text in group.figures.at(range(min(len(group.figures), MOST_TEXTS))))
        hidden = len(group.figures) - MOST_TEXTS
        more = [f"{hidden:,} more are in JSON and CSV."] if hidden > 0 else []
        yield Extra(group.about.title, " ".join([*notes, *more]), ("Text", "Share of devices", "Interval"), rows)
        notes = []


def _text_row(group: FigureGroup, text: Figure) -> tuple[str, ...]:
    rounded = PERCENT.rounded(text)
    return group.label(text), f"{rounded.estimate}{rounded.suffix}", rounded.interval


def _among_all_table(among_all: AmongAll, positions: Sequence[int]) -> Extra:
    return Extra(
        title=f"Among all {among_all.installs:,} installations",
        note=f"{taking_part_words(among_all)}. {AMONG_ALL_NOTE}",
        head=("Figure", "Bounds"),
        rows=tuple(
            (group.label(bounds), unit_of(group).rounded(bounds).interval)
            for group in among_all.groups
            for bounds in shown_figures(group, positions)
        ),
    )


def _clusters_table(clusters: Clusters) -> Extra:
    number = len(clusters.clusters)
    how_often = whole_percent(clusters.numbers[number - 1])
    how_many = f"{number} clusters" if number > 1 else "no clusters that can be distinguished"
    return Extra(
        title="Clusters of answers",
        note=f"{how_many}; {how_often} of resampled tallies gave the same number."
        + (" Found again: the part of a cluster that resampled tallies reproduce, on average." if number > 1 else ""),
        head=("Answers", "Share of devices", "Interval", "Found again"),
        rows=tuple(map(_cluster_row, clusters.clusters)) if number > 1 else (),
    )


def _cluster_row(cluster: Cluster) -> tuple[str, ...]:
    rounded = PERCENT.rounded(cluster.share)
    return (
        short(cluster_words(cluster)),
        f"{rounded.estimate}{rounded.suffix}",
        rounded.interval,
        whole_percent(cluster.stability),
    )


def _fakes_table(estimated: MetricEstimate, fakes: Fakes, positions: Sequence[int]) -> Extra:
    verdict = made_up_test(fakes.test)
    return Extra(
        title=f"If {exact_percent(fakes.fraction)} of the reports were fabricated",
        note=f"{verdict[0].upper()}{verdict[1:]}.",
        head=("Figure", "Moved down by at most", "Moved up by at most"),
        rows=tuple(
            (joined(label), down, up)
            for label, down, up in (move_cells(estimated, move) for move in shown_moves(estimated, positions))
        ),
    )


def effects_table(effects: Sequence[Effect]) -> Extra:
    """Return the table of pairs of strata, each with its most significant difference.

    ``effects`` has one entry per pair of strata in one window, in the order of the rows. At least
    one pair is required.
    """
    return Extra(
        title="Differences between strata",
        note="For each pair, the table shows the figure that differs most clearly. P-values are corrected for all "
        f"pairs. At most {MOST_EFFECTS} pairs are shown; JSON and CSV have all.",
        head=("Strata", "Figure", "Difference", "Interval", "p, corrected"),
        rows=tuple(map(_row, effects)),
    )


def _row(effect: Effect) -> tuple[str, ...]:
    group, change = clearest_changes(effect)[0]
    unit = unit_of(group)
    return (
        f"{effect.second} less {effect.first}",
        group.label(change),
        unit.changed(change),
        unit.change_interval(change),
        p_text(change.p_value_corrected, TOO_FEW),
    )
