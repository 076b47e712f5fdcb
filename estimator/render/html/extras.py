"""What is there only where it is asked for: clusters of answers, and what made-up reports could have done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from estimator.render.html.figures import label_of, short
from estimator.render.html.numbers import PERCENT, PLAIN
from estimator.render.text.poisoning import verdict_of
from estimator.render.words import cluster_words
from estimator.results.metric import MetricEstimate
from estimator.text import mean_word


@dataclass(frozen=True, slots=True)
class Extra:
    """A table with a title and a sentence on it."""

    title: str
    note: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def extras_of(estimated: MetricEstimate, positions: Sequence[int]) -> Iterator[Extra]:
    """Yield the further tables of one window.

    Args:
        estimated: what it tells.
        positions: of the values that are shown.

    """
    if estimated.clusters is not None:
        yield _clusters(estimated)
    if estimated.fakes is not None:
        yield _fakes(estimated, positions)


def _clusters(estimated: MetricEstimate) -> Extra:
    found = estimated.clusters
    assert found is not None  # noqa: S101 its caller looked
    number = len(found.clusters)
    how_often = PERCENT.plain(found.numbers[number - 1], 0)
    rows = tuple(
        (
            short(cluster_words(one)),
            PERCENT.value(one.share.estimate or 0.0, one.share.low, one.share.high),
            PERCENT.interval(one.share.low, one.share.high),
            f"{PERCENT.plain(one.stability, 0)}{PERCENT.suffix}",
        )
        for one in (found.clusters if number > 1 else ())
    )
    how_many = f"{number} clusters" if number > 1 else "no clusters that can be told apart"
    return Extra(
        "Clusters of answers",
        f"{how_many}; as many in {how_often}{PERCENT.suffix} of resampled tallies."
        + (" Intervals: by resampling." if number > 1 else ""),
        ("Answers", "Share of people", "Interval", "Found again"),
        rows,
    )


def _fakes(estimated: MetricEstimate, positions: Sequence[int]) -> Extra:
    found = estimated.fakes
    assert found is not None  # noqa: S101 its caller looked
    moves = [] if found.shares is None else [found.shares[position] for position in positions]
    rows = [(label_of(label), *(_points(one) for one in (move.down, move.up))) for label, move in moves]
    if found.mean is not None:
        ends = (PLAIN.value(one, 0.0, one) for one in (found.mean.down, found.mean.up))
        rows.append((mean_word(estimated.metric.kind), *ends))
    return Extra(
        f"If {100 * found.fraction:.3g}{PERCENT.suffix} of the reports were made up",
        f"{verdict_of(found.test)[0].upper()}{verdict_of(found.test)[1:]}.",
        ("What", "Moved down by at most", "Moved up by at most"),
        tuple(rows),
    )


def _points(share: float) -> str:
    return f"{PERCENT.plain(share, PERCENT.decimals(0.0, share))}{PERCENT.change}"
