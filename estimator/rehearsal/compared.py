"""What a rehearsal compares with the truth: kinds of figures, and how often they hold it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from estimator.results.distribution import Figure
from estimator.results.estimate import Estimate
from estimator.results.metric import MetricEstimate


class FigureKind(StrEnum):
    """A kind of figure that has a truth."""

    SHARES_AND_MEAN = "shares and mean"
    COORDINATES = "coordinates"
    VARIANCE = "variance"
    QUANTILES = "quantiles"
    BAND_POINTS = "points of the band, each alone"
    BAND = "band as a whole"
    BINS = "bins"
    RANGES = "ranges"
    AT_LEAST = "at least n days"
    GROUP_MEANS = "means of groups"
    TEXTS = "texts that were found"


Figures = Mapping[FigureKind, Sequence[Estimate | Figure]]
Truths = Mapping[FigureKind, Sequence[float]]


def figures_of(estimated: MetricEstimate) -> Figures:
    """Return the figures that have a truth, in the order of the report's rows."""
    figures: dict[FigureKind, Sequence[Estimate | Figure]] = {FigureKind.SHARES_AND_MEAN: estimated.shares_and_mean}
    if estimated.coordinates is not None:
        figures[FigureKind.COORDINATES] = tuple(estimated.coordinates)
    if estimated.texts is not None:
        figures[FigureKind.TEXTS] = tuple(estimated.texts.found or ())
    distribution = estimated.distribution
    if distribution is not None:
        figures |= {
            FigureKind.VARIANCE: (distribution.variance,),
            FigureKind.QUANTILES: distribution.quantiles,
            FigureKind.BAND_POINTS: distribution.band,
            FigureKind.BINS: distribution.bins,
            FigureKind.RANGES: distribution.ranges,
        }
    if estimated.at_least:
        figures[FigureKind.AT_LEAST] = estimated.at_least
    if estimated.joint is not None and estimated.joint.is_of_means:
        figures[FigureKind.GROUP_MEANS] = [group.estimates[0] for group in estimated.joint.groups]
    return figures


def holds(figure: Estimate | Figure, truth: float) -> bool:
    """Return whether the interval of a figure holds the truth."""
    return figure.low <= truth <= figure.high


def held(figures: Figures, truths: Truths) -> dict[FigureKind, float]:
    """Return the fraction of each kind's intervals that hold their truths.

    The band as a whole has 1 if all its points hold, and 0 otherwise. Kinds without figures are
    left out.
    """
    fractions = {kind: _fraction(of_kind, truths[kind]) for kind, of_kind in figures.items() if of_kind}
    if FigureKind.BAND_POINTS in fractions:
        fractions[FigureKind.BAND] = float(fractions[FigureKind.BAND_POINTS] == 1)
    return fractions


def _fraction(figures: Sequence[Estimate | Figure], truths: Sequence[float]) -> float:
    known = [holds(figure, truth) for figure, truth in zip(figures, truths, strict=True) if not math.isnan(truth)]
    return sum(known) / len(known)


@dataclass(frozen=True, slots=True)
class Coverage:
    """How often intervals held the truth, averaged over the figures of a kind.

    Attributes:
        rounds: how many times everything was drawn anew.
        population: the fraction that holds the population's truth, with new devices in each round.
            This is what an interval promises.
        noise_alone: the fraction that holds the devices' own truth, with the same devices in each
            round. It is larger, because an interval also allows for the chance of who reported.

    """

    rounds: int
    population: float
    noise_alone: float


def coverages_of(
    of_population: Sequence[Mapping[FigureKind, float]], of_devices: Sequence[Mapping[FigureKind, float]]
) -> dict[FigureKind, Coverage]:
    """Return the coverage of each kind, from what each round `held`; {} without rounds."""
    rounds = len(of_population)
    kinds = [kind for kind in FigureKind if of_population and kind in of_population[0]]

    def mean(each_round: Sequence[Mapping[FigureKind, float]], kind: FigureKind) -> float:
        return sum(fractions[kind] for fractions in each_round) / rounds

    return {kind: Coverage(rounds, mean(of_population, kind), mean(of_devices, kind)) for kind in kinds}


def pairs_of(figures: Figures, truths: Truths) -> Iterator[tuple[Estimate | Figure, float | None]]:
    """Yield each figure with its truth, in the order of the report's rows.

    Args:
        figures: of one metric.
        truths: of the same figures; empty without any device.

    """
    for kind, of_kind in figures.items():
        for figure, truth in zip(of_kind, truths.get(kind, (math.nan,) * len(of_kind)), strict=True):
            yield figure, None if math.isnan(truth) else truth
