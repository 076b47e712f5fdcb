"""What is true of a crowd, for each figure of a report, and how often intervals hold it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Final

from estimator.rehearsal.population import Crowd
from estimator.results.estimate import Estimate, Figure
from estimator.results.group import FigureKey
from estimator.results.metric import MetricEstimate
from estimator.results.record import Record, says
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


WHOLE_BAND: Final = "band"
"""The name of the coverage of a distribution function at all its points together."""

BAND: Final = "at_most"
"""The statistic of its points."""


def holds(figure: Estimate, truth: float) -> bool:
    """Return whether the interval of a figure holds the truth."""
    return figure.low <= truth <= figure.high


def compared(estimated: MetricEstimate, truths: Truths) -> Iterator[tuple[FigureKey, Figure, float]]:
    """Yield each figure of which the truth is known, with its key and the truth."""
    for group in estimated.groups:
        for key, figure in zip(group.keys, group.figures, strict=True):
            if key in truths:
                yield key, figure, truths[key]


def held(estimated: MetricEstimate, truths: Truths) -> dict[str, float]:
    """Return, by statistic, the fraction of the intervals that hold their truths.

    The band as a whole has 1 if all its points hold, and 0 otherwise.
    """
    by_statistic: dict[str, list[bool]] = {}
    for key, figure, truth in compared(estimated, truths):
        by_statistic.setdefault(key.statistic, []).append(holds(figure, truth))
    fractions = {statistic: sum(each) / len(each) for statistic, each in by_statistic.items()}
    if BAND in fractions:
        fractions[WHOLE_BAND] = float(fractions[BAND] == 1)
    return fractions


class Coverage(Record, frozen=True):
    """How often intervals held the truth, averaged over the figures of a statistic."""

    rounds: Annotated[int, says("how many times everything was drawn anew.")]
    population: Annotated[
        float,
        says(
            "the fraction that holds the population's truth, with new devices in each round. This is what an interval "
            "promises."
        ),
    ]
    noise_alone: Annotated[
        float,
        says(
            "the fraction that holds the devices' own truth, with the same devices in each round. It is larger, "
            "because an interval also allows for the chance of who reported."
        ),
    ]


def coverages_of(
    of_population: Sequence[Mapping[str, float]], of_devices: Sequence[Mapping[str, float]]
) -> dict[str, Coverage]:
    """Return the coverage of each statistic, from what each round `held`; {} without rounds."""
    rounds = len(of_population)

    def mean(each_round: Sequence[Mapping[str, float]], statistic: str) -> float:
        known = [fractions[statistic] for fractions in each_round if statistic in fractions]
        return sum(known) / max(1, len(known))

    statistics = of_population[0] if of_population else {}
    return {each: Coverage(rounds, mean(of_population, each), mean(of_devices, each)) for each in statistics}
