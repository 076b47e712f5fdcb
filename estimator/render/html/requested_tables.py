"""Further tables: of texts, clusters, what made-up reports could have done, and public strata."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from estimator.render.html.wording import change_interval_text, change_text, p_text
from estimator.render.rounding import PERCENT, exact_percent, unit_of, whole_percent
from estimator.render.text.report import shown_figures
from estimator.render.words import (
    AMONG_ALL_NOTE,
    cluster_words,
    made_up_test,
    made_up_words,
    move_cells,
    shown_moves,
    taking_part_words,
    text_notes,
)
from estimator.report.highlights import clearest_changes
from estimator.report.strata import MOST_EFFECTS
from estimator.results.estimate import Figure
from estimator.results.group import FigureGroup
from estimator.results.metric import AmongAll, Cluster, Clusters, Fakes, MetricEstimate
from estimator.results.report import Effect
from estimator.words import joined, short

MOST_TEXTS: Final = 200
"""The most texts of a list on the page."""

TOO_FEW: Final = "too few reports"


@dataclass(frozen=True, slots=True)
class Extra:
    """A further table of a question.

    Attributes:
        title: above it.
        note: a sentence about it.
        head: the names of its columns.
        rows: its cells, row by row.

    """

    title: str
    note: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def extras_of(estimated: MetricEstimate, positions: Sequence[int]) -> Iterator[Extra]:
    """Yield the further tables of one window.

    Args:
        estimated: the figures of the window.
        positions: which values are shown.

    """
    yield from _text_tables(estimated)
    if estimated.among_all is not None:
        yield _among_all_table(estimated.among_all, positions)
    if estimated.clusters is not None:
        yield _clusters_table(estimated.clusters)
    if estimated.fakes is not None:
        yield _fakes_table(estimated, estimated.fakes, positions)


def _text_tables(estimated: MetricEstimate) -> Iterator[Extra]:
    """Yield the texts that were found, and those that were named."""
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
        head=("What", "Bounds"),
        rows=tuple(
            (group.label(bounds), unit_of(group).rounded(bounds).interval)
            for group in among_all.groups
            for bounds in shown_figures(group, positions)
        ),
    )


def _clusters_table(clusters: Clusters) -> Extra:
    number = len(clusters.clusters)
    how_often = whole_percent(clusters.numbers[number - 1])
    how_many = f"{number} clusters" if number > 1 else "no clusters that can be told apart"
    return Extra(
        title="Clusters of answers",
        note=f"{how_many}; this number in {how_often} of resampled tallies."
        + (" Found again: how much of a cluster they have in common, on average." if number > 1 else ""),
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
        title=f"If {exact_percent(fakes.fraction)} of the reports were made up",
        note=f"{verdict[0].upper()}{verdict[1:]}.",
        head=("What", "Moved down by at most", "Moved up by at most"),
        rows=tuple(
            (joined(label), down, up)
            for label, down, up in (move_cells(estimated, move) for move in shown_moves(estimated, positions))
        ),
    )


def effects_table(effects: Sequence[Effect]) -> Extra:
    """Return the table of pairs of strata: of each the figure that differs most clearly.

    Args:
        effects: the pairs of a question in one window, at least one, in the order in which they are
            shown.

    """
    return Extra(
        title="Differences between strata",
        note="of each pair the figure that differs most clearly; p-values are corrected for all pairs. "
        f"At most {MOST_EFFECTS} pairs are shown; JSON and CSV have all.",
        head=("Strata", "Figure", "Difference", "Interval", "p, corrected"),
        rows=tuple(map(_row, effects)),
    )


def _row(effect: Effect) -> tuple[str, ...]:
    group, change = clearest_changes(effect)[0]
    unit = unit_of(group)
    return (
        f"{effect.second} less {effect.first}",
        group.label(change),
        change_text(change, unit),
        change_interval_text(change, unit),
        p_text(change.p_value_corrected, TOO_FEW),
    )
