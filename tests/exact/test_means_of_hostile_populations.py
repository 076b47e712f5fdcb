"""Intervals of hostile populations' means hold with few reports and little noise.

Elsewhere they are not too wide. The joint law of the mean and of the variance over all symbols is
beyond enumeration, so tallies are drawn. How many follows from the rates of error.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from client_sdk.protocol import Channel
from client_sdk.protocol.mechanisms.exponential import Exponential, by_distance
from client_sdk.protocol.mechanisms.hierarchical import Hierarchical
from client_sdk.protocol.mechanisms.k_ary_randomized_response import KAryRandomizedResponse
from client_sdk.protocol.mechanisms.laplace import Laplace
from client_sdk.protocol.mechanisms.optimal_mean import OptimalMean
from client_sdk.protocol.mechanisms.square_wave import SquareWave
from estimator.analyses.means import Contrast, Mean, UnbiasedScores, means_of
from estimator.decoders.inversions import decoder_of, grid_law, inverse_of
from estimator.statistics.arrays import Counts
from estimator.statistics.confidence import Z
from tests.support.core.tables import for_each
from tests.support.estimates.coverage import BATCH, PROMISED, check_held, drawn_tallies
from tests.support.estimates.inverses import requested
from tests.support.estimates.populations import POPULATIONS, Population

ROUNDED = 2.0**-40
"""Of the range: truths at its ends are sums of floats."""

FEW_REPORTS: dict[str, tuple[Channel, int]] = {
    "optimal mean": (OptimalMean.within(requested(8)), 50),
    "optimal mean beyond its tables": (OptimalMean.within(requested(12)), 50),
    "square wave": (SquareWave.within(requested(8)), 50),
    "laplace": (Laplace.within(requested(7)), 60),
    "tree": (Hierarchical.within(requested(8)), 60),
    "count": (KAryRandomizedResponse.within(requested(7), 7), 60),
    "scale": (Exponential.within(requested(8), by_distance(5)), 50),
}
"""With the reports of each: few people at an end of the range outweigh all noise."""


def scored(channel: Channel) -> UnbiasedScores:
    return decoder_of(channel) or Contrast.from_positions(inverse_of(channel), np.linspace(0, 1, channel.inputs))


def drawn(channel: Channel, population: Population, reports: int) -> Iterator[Counts]:
    law = grid_law(channel) if decoder_of(channel) else inverse_of(channel)
    return drawn_tallies(np.maximum(law.symbol_law(population.on_grid(channel.inputs)), 0.0), reports, 5)


def estimated(channel: Channel, population: Population, reports: int) -> Iterator[list[Mean]]:
    """Yield the means of one batch of tallies after another."""
    every = np.full((BATCH, 1), reports)
    return (means_of(scored(channel), batch, every) for batch in drawn(channel, population, reports))


@pytest.mark.long
@for_each("population", POPULATIONS)
@for_each("name", FEW_REPORTS)
def test_the_mean_of_few_reports_with_little_noise_is_held_as_often_as_promised(name: str, population: str) -> None:
    channel, reports = FEW_REPORTS[name]
    people = POPULATIONS[population](reports)
    check_held(
        (
            np.array([mean.low - ROUNDED <= people.mean <= mean.high + ROUNDED for mean in means])
            for means in estimated(channel, people, reports)
        ),
        PROMISED,
    )


def test_normal_intervals_of_so_few_reports_are_refused() -> None:
    """What the other interval is for.

    Of 50 reports a third hold none of the 2% of the people at the high end.
    """
    channel, reports = FEW_REPORTS["optimal mean"]
    people = POPULATIONS["2% at the high end, the rest at the low end"](reports)
    columns = (
        np.array([mean[:2] for mean in means], dtype=np.float64).T for means in estimated(channel, people, reports)
    )
    with pytest.raises(AssertionError):
        check_held((np.abs(unbiased - people.mean) <= Z * errors for unbiased, errors in columns), PROMISED)


@pytest.mark.parametrize(("epsilon", "reports"), [("1", 50), ("3", 100), ("5", 500), ("8", 1000)])
def test_normal_intervals_are_kept_where_they_hold(epsilon: str, reports: int) -> None:
    channel = OptimalMean.within(requested(epsilon))
    scores = scored(channel)
    tallies = next(drawn(channel, POPULATIONS["smooth (beta 2, 5)"](reports), reports))
    for mean in means_of(scores, tallies, np.full((len(tallies), 1), reports)):
        assert mean.unbiased is not None
        assert mean.standard_error is not None
        assert mean.high == min(1.0, mean.unbiased + Z * mean.standard_error)
