"""What is true of a crowd, for each figure of a report that a rehearsal can check."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from estimator.rehearsal.population import Crowd
from estimator.results.group import FigureKey
from estimator.results.metric import MetricEstimate
from estimator.statistics.arrays import Counts, Floats

Truths = Mapping[FigureKey, float]

_Truth = Callable[[Crowd, Floats | Counts, Sequence[Any]], Sequence[float]]
"""From a crowd, the weights of its answers, and what each figure is of, to the truth of each."""


def truths_of(crowd: Crowd, weights: Floats | Counts, estimated: MetricEstimate) -> dict[FigureKey, float]:
    """Return the truth of weighted answers for each figure that has one.

    Args:
        crowd: its answers.
        weights: of the answers, shape (len(answers),).
        estimated: the figures.

    """
    known = (
        (group.keys, TRUTHS[group.statistic](crowd, weights, group.figures.labels))
        for group in estimated.groups
        if group.statistic in TRUTHS
    )
    every = ((key, truth) for keys, truths in known for key, truth in zip(keys, truths, strict=True))
    return {key: truth for key, truth in every if not math.isnan(truth)}


def _shares(crowd: Crowd, weights: Floats | Counts, labels: Sequence[Any]) -> list[float]:
    shares = crowd.shares_of(weights)
    return [shares.get(label, 0.0) for label in labels]


def _at_least(crowd: Crowd, weights: Floats | Counts, days: Sequence[int]) -> list[float]:
    shares = crowd.shares_of(weights)
    every = [(value, share) for value, share in shares.items() if isinstance(value, int)]
    return [math.fsum(share for value, share in every if value >= least) for least in days]


TRUTHS: Final[dict[str, _Truth]] = {
    "share": _shares,
    "share_at_least": _at_least,
    "found_text": _shares,
    "coordinate": lambda crowd, weights, _: crowd.coordinates(weights).tolist(),
    "mean": lambda crowd, weights, _: [crowd.mean(weights)],
    "mean_position": lambda crowd, weights, _: [crowd.mean(weights)],
    "mean_size": lambda crowd, weights, _: [crowd.mean(weights)],
    "variance": lambda crowd, weights, _: [crowd.numbers(weights).variance],
    "quantile": lambda crowd, weights, levels: crowd.numbers(weights).quantiles(levels),
    "range": lambda crowd, weights, ends: crowd.numbers(weights).ranges(ends),
    "at_most": lambda crowd, weights, places: crowd.numbers(weights).at_most(places),
    "bin": lambda crowd, weights, bins: crowd.numbers(weights).bins([start for start, _ in bins]),
    "mean_within": lambda crowd, weights, groups: crowd.group_means(weights, groups),
}
"""The truths of the figures of each statistic that has them; NaN where there is none."""
