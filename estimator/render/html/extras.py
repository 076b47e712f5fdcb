"""The tables on request: clusters of answers, and what made-up reports could have done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from estimator.render.html.numbers import PERCENT, Unit, unit_of
from estimator.render.text.poisoning import verdict_of
from estimator.render.words import cluster_words, label_of, short
from estimator.results.clusters import Cluster, Clusters
from estimator.results.metric import MetricEstimate
from estimator.results.poisoning import Fakes
from estimator.text import mean_word


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
    if estimated.clusters is not None:
        yield _clusters_table(estimated.clusters)
    if estimated.fakes is not None:
        yield _fakes_table(estimated.fakes, estimated.kind, unit_of(estimated.unit), positions)


def _clusters_table(clusters: Clusters) -> Extra:
    number = len(clusters.clusters)
    how_often = PERCENT.plain(clusters.numbers[number - 1], 0)
    how_many = f"{number} clusters" if number > 1 else "no clusters that can be told apart"
    return Extra(
        title="Clusters of answers",
        note=f"{how_many}; this number in {how_often}{PERCENT.suffix} of resampled tallies."
        + (" Found again: how much of a cluster they have in common, on average." if number > 1 else ""),
        head=("Answers", "Share of people", "Interval", "Found again"),
        rows=tuple(map(_cluster_row, clusters.clusters)) if number > 1 else (),
    )


def _cluster_row(cluster: Cluster) -> tuple[str, ...]:
    share = cluster.share
    return (
        short(cluster_words(cluster)),
        PERCENT.value(share.estimate or 0.0, share.low, share.high),
        PERCENT.interval(share.low, share.high),
        f"{PERCENT.plain(cluster.stability, 0)}{PERCENT.suffix}",
    )


def _fakes_table(fakes: Fakes, kind: str, unit: Unit, positions: Sequence[int]) -> Extra:
    moves = [] if fakes.estimates is None else [fakes.estimates[position] for position in positions]
    rows = [(label_of(move.value), _points(move.down), _points(move.up)) for move in moves]
    if fakes.mean is not None:
        down, up = (unit.value(move, 0.0, move) for move in (fakes.mean.down, fakes.mean.up))
        rows.append((mean_word(kind), down, up))
    verdict = verdict_of(fakes.test)
    return Extra(
        title=f"If {100 * fakes.fraction:.3g}{PERCENT.suffix} of the reports were made up",
        note=f"{verdict[0].upper()}{verdict[1:]}.",
        head=("What", "Moved down by at most", "Moved up by at most"),
        rows=tuple(rows),
    )


def _points(share: float) -> str:
    return f"{PERCENT.plain(share, PERCENT.decimals(0.0, share))}{PERCENT.change}"
