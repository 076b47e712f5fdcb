"""The coverage of intervals for means and shares from one tally."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

import numpy as np

from benchmarks.coverage.cells import Cell, Figure, Held, holds, tallies
from client_sdk.protocol import Channel
from client_sdk.protocol.mechanisms.cyclic_design import CyclicDesign
from client_sdk.protocol.mechanisms.exponential import Exponential, by_distance
from client_sdk.protocol.mechanisms.hierarchical import Hierarchical
from client_sdk.protocol.mechanisms.k_ary_randomized_response import KAryRandomizedResponse
from client_sdk.protocol.mechanisms.laplace import Laplace
from client_sdk.protocol.mechanisms.optimal_mean import OptimalMean
from client_sdk.protocol.mechanisms.projective_geometry import ProjectiveGeometry
from client_sdk.protocol.mechanisms.square_wave import SquareWave
from estimator.analyses.means import Contrast, UnbiasedScores, means_of
from estimator.decoders.inversions import decoder_of, grid_law, inverse_of
from estimator.statistics.arrays import Floats
from tests.support.devices.definitions import CATEGORY, GAUSSIAN, metric_of
from tests.support.estimates.inverses import requested
from tests.support.estimates.populations import POPULATIONS

REPORTS: Final = (20, 50, 100, 300, 1000, 10_000)

NUMBERS: Final[Mapping[str, Channel]] = {
    f"{kind.name}, epsilon {epsilon}": kind.within(requested(epsilon))
    for kind, epsilons in (
        (OptimalMean, ("0.5", "1", "3", "5", "8", "12")),
        (SquareWave, ("0.5", "2", "8")),
        (Hierarchical, ("0.5", "2", "8")),
        (Laplace, ("0.5", "2", "7")),
    )
    for epsilon in epsilons
} | {"gaussian, epsilon 2": metric_of(GAUSSIAN).channel}

SCALES: Final[dict[str, Channel]] = {
    f"k-ary randomized response, {size} values, epsilon {epsilon}": KAryRandomizedResponse.within(
        requested(epsilon), size
    )
    for size, epsilon in ((2, "2"), (3, "1"), (7, "4"), (7, "7"), (10, "8"), (5, "12"))
} | {
    f"exponential, 5 values, epsilon {epsilon}": Exponential.within(requested(epsilon), by_distance(5))
    for epsilon in ("1", "4", "8")
}

CATEGORIES: Final[Mapping[str, Channel]] = SCALES | {
    "cyclic pairs, 8 values, epsilon 2": CyclicDesign.within(requested(2), 8, 2, 7),
    "cyclic blocks, 9 values, epsilon 1": CyclicDesign.within(requested(1), 9, 4, 3),
    "cyclic blocks, 32 values, epsilon 2": CyclicDesign.within(requested(2), 32, 9, 16),
    "projective plane, 13 values, epsilon 1": ProjectiveGeometry.within(requested(1), 13, 3, 3),
    "projective space, 14 values, epsilon 2": ProjectiveGeometry.within(requested(2), 14, 2, 4),
    "permanent answers, 3 values, epsilon 2": metric_of(CATEGORY | {"permanent_epsilon": 4, "epsilon": 2}).channel,
}


def of_numbers() -> Iterator[Cell]:
    for name, channel in NUMBERS.items():
        scores = decoder_of(channel)
        assert scores is not None
        yield from _of_means(name, scores, grid_law(channel).symbol_law, channel.inputs)


def of_scales() -> Iterator[Cell]:
    for name, channel in SCALES.items():
        inverse = inverse_of(channel)
        yield from _of_means(
            name,
            Contrast.from_positions(inverse, np.linspace(0, 1, channel.inputs)),
            inverse.symbol_law,
            channel.inputs,
        )


def of_set_sizes() -> Iterator[Cell]:
    for name, channel in CATEGORIES.items():
        if not isinstance(channel, Exponential):
            inverse, positions = inverse_of(channel), np.append(np.ones(channel.inputs - 1), 0.0)
            yield from _of_means(
                name, Contrast.from_positions(inverse, positions), inverse.symbol_law, channel.inputs, positions
            )


def of_shares(family: int = 1) -> Iterator[Cell]:
    """Yield the cells of shares. ``family`` is the number of simultaneous intervals."""
    for name, channel in CATEGORIES.items():
        for reports in REPORTS:
            for population, people in POPULATIONS.items():
                truth = people(reports).in_bins(channel.inputs)

                def held(
                    draws: int,
                    generator: np.random.Generator,
                    channel: Channel = channel,
                    reports: int = reports,
                    truth: Floats = truth,
                ) -> Held:
                    inverse = inverse_of(channel)
                    counts = tallies(inverse.symbol_law(truth), reports, draws, generator)
                    together = 1 if family == 1 else channel.inputs
                    each = holds(*inverse.intervals(counts, np.full((draws, 1), reports), together), truth)
                    return each if family == 1 else np.logical_and.reduce(each, axis=1, keepdims=True)

                yield Cell(f"{name}, {reports:,} reports", population, held)


def _of_means(
    name: str, scores: UnbiasedScores, law: Callable[[Floats], Floats], inputs: int, positions: Floats | None = None
) -> Iterator[Cell]:
    places = np.linspace(0, 1, inputs) if positions is None else positions
    for reports in REPORTS:
        for population, people in POPULATIONS.items():
            shares = people(reports).on_grid(inputs)

            def held(
                draws: int, generator: np.random.Generator, reports: int = reports, shares: Floats = shares
            ) -> Held:
                counts = tallies(law(shares), reports, draws, generator)
                means = np.array(means_of(scores, counts, np.full((draws, 1), reports)), dtype=np.float64)
                return holds(means[:, 2:3], means[:, 3:4], float(shares @ places))

            yield Cell(f"{name}, {reports:,} reports", population, held)


NORMAL_OR_BETTING: Final = "normal or betting"

FIGURES: Final = (
    Figure("mean of numbers", NORMAL_OR_BETTING, "measured; proved for betting", of_numbers),
    Figure("mean of a scale or a count", NORMAL_OR_BETTING, "measured; proved for betting", of_scales),
    Figure(
        "mean size of sets",
        "the interval of a share, or of a mean",
        "exact sums or measured",
        of_set_sizes,
    ),
    Figure(
        "a share",
        "Clopper & Pearson 1934, or Wilson 1927 with wider limits for small counts; "
        "score or Bernstein for uneven designs",
        "exact sums; proved for Bernstein; measured for score",
        of_shares,
    ),
    Figure(
        "all shares together",
        "the interval of a share, with Bonferroni correction",
        "proved or measured",
        lambda: of_shares(2),
    ),
)
