"""The tables on request: clusters of answers, and what made-up reports could have done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from estimator.render.html.numbers import PERCENT, Unit, unit_of, whole_percent
from estimator.render.sentences import made_up_words, taking_part_words, text_notes
from estimator.render.text.lines import SHARE_DECIMALS, bound_lines
from estimator.render.text.poisoning import verdict_of
from estimator.render.words import AMONG_ALL_NOTE, ANY_COEFFICIENT, cluster_words, label_of, short, text_label
from estimator.results.clusters import Cluster, Clusters
from estimator.results.estimate import Share
from estimator.results.metric import MetricEstimate
from estimator.results.participation import AmongAll
from estimator.results.poisoning import Fakes
from estimator.results.texts import TextFindings
from estimator.words import mean_word

MOST_TEXTS: Final = 200
"""The most texts of a list on the page."""


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
    if estimated.texts is not None:
        yield from _text_tables(estimated.texts, estimated.reports)
    if estimated.among_all is not None:
        yield _among_all_table(estimated, estimated.among_all, positions)
    if estimated.clusters is not None:
        yield _clusters_table(estimated.clusters)
    if estimated.fakes is not None:
        yield _fakes_table(estimated.fakes, estimated.kind, unit_of(estimated.unit), positions)


def _text_tables(texts: TextFindings, reports: int) -> Iterator[Extra]:
    """Yield the texts that were found, and those that were named."""
    notes = [*text_notes(texts)] + (
        [] if texts.made_up is None else [f"{made_up_words(texts.made_up, reports).capitalize()}."]
    )
    for title, shares in (("Texts found", texts.found), ("Texts named", texts.named)):
        if shares is not None:
            rows = tuple(_text_row(shares[position]) for position in range(min(len(shares), MOST_TEXTS)))
            more = [f"{len(shares) - MOST_TEXTS:,} more are in JSON and CSV."] if len(shares) > MOST_TEXTS else []
            yield Extra(title, " ".join([*notes, *more]), ("Text", "Share of devices", "Interval"), rows)
            notes = []


def _text_row(share: Share) -> tuple[str, ...]:
    rounded = PERCENT.rounded(share)
    return text_label(share.value), f"{rounded.estimate}{rounded.suffix}", rounded.interval


def _among_all_table(estimated: MetricEstimate, among_all: AmongAll, positions: Sequence[int]) -> Extra:
    units = {SHARE_DECIMALS: PERCENT, None: unit_of(estimated.unit, estimated.mean_range)}
    return Extra(
        title=f"Among all {among_all.installs:,} installations",
        note=f"{taking_part_words(among_all)}. {AMONG_ALL_NOTE}",
        head=("What", "Bounds"),
        rows=tuple(
            (short(str(line.label)), units[line.decimals].rounded(line.figure).interval)
            for line in bound_lines(estimated, among_all, positions, label_of)
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


def _fakes_table(fakes: Fakes, kind: str, unit: Unit, positions: Sequence[int]) -> Extra:
    moves = [] if fakes.estimates is None else [fakes.estimates[position] for position in positions]
    rows = [(label_of(move.value), PERCENT.size(move.down), PERCENT.size(move.up)) for move in moves]
    if fakes.mean is not None:
        rows.append((mean_word(kind), unit.size(fakes.mean.down), unit.size(fakes.mean.up)))
    if fakes.coefficients is not None:
        rows.append((ANY_COEFFICIENT, unit.size(fakes.coefficients.down), unit.size(fakes.coefficients.up)))
    verdict = verdict_of(fakes.test)
    return Extra(
        title=f"If {100 * fakes.fraction:.3g}{PERCENT.suffix} of the reports were made up",
        note=f"{verdict[0].upper()}{verdict[1:]}.",
        head=("What", "Moved down by at most", "Moved up by at most"),
        rows=tuple(rows),
    )
