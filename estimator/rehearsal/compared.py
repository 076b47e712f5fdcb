"""What a rehearsal compares with the truth, and how often intervals hold it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Final

from estimator.rehearsal.truths import Truths
from estimator.results.estimate import Estimate, Figure
from estimator.results.group import FigureKey
from estimator.results.metric import MetricEstimate
from estimator.results.record import Record, says

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
