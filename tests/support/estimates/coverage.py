"""How often intervals contain a truth: exact sums over tallies, and a derived number of draws."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from estimator.analyses.means import UnbiasedScores, means_of
from estimator.statistics.arrays import Counts, Floats
from tests.support.laws.sampling import accepts_each

PROMISED_TO_FEW, PROMISED = 0.95, 0.93
"""The promised coverage at every truth: below 50 reports, and from there on."""

LOST = 0.07
"""A loss of coverage that draws must be able to detect."""

BATCH = 64
"""Tallies that are drawn at a time."""


def promised(reports: int) -> float:
    return PROMISED_TO_FEW if reports < 50 else PROMISED


def drawn_tallies(law: Floats, reports: int, seed: int, size: int = BATCH) -> Iterator[Counts]:
    """Yield tallies of a law of symbols without end, ``size`` at a time, shape (size, m)."""
    generator = np.random.default_rng(seed)
    while True:
        yield generator.multinomial(reports, law / law.sum(), size=size)


def check_held(held: Iterable[NDArray[np.bool_]], right: float, lost: float = LOST) -> None:
    """Each column of intervals contains the truth as often as promised, not `lost` less often.

    Args:
        held: of the tallies of one batch after another, shape (tallies, intervals).
        right: the promised coverage.
        lost: a loss that must be detected.

    """
    is_held = accepts_each(held, right, right - lost)
    assert is_held.all(), f"intervals {np.flatnonzero(~is_held)} hold the truth less often than {right}"


def intervals_of_means(of_symbols: UnbiasedScores, tallies: Counts, reports: int) -> tuple[Floats, Floats]:
    """Return both ends of the interval of each tally's mean."""
    means = means_of(of_symbols, tallies, np.full((len(tallies), 1), reports))
    lows, highs = np.array([(mean.low, mean.high) for mean in means]).T
    return lows, highs


@lru_cache(maxsize=64)
def compositions(total: int, parts: int) -> Counts:
    """Return all tallies of a number of reports, one in each row.

    Each is a row of reports with ``parts - 1`` bars, whose places determine the tally.
    """
    places = list(combinations(range(total + parts - 1), parts - 1))
    bars = np.array(places, dtype=np.int64).reshape(len(places), parts - 1)
    ends = np.ones((len(places), 1), dtype=np.int64)
    walls = np.hstack([-ends, bars, (total + parts - 1) * ends])
    return walls[:, 1:] - walls[:, :-1] - 1


def chances(tallies: Counts, laws: Floats) -> Floats:
    """Return the probability of each tally, shape (t, m), under each law, shape (j, m): the
    multinomial, shape (t, j).
    """
    reports = int(tallies[0].sum())
    logarithms = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, reports + 1)))])
    ways = logarithms[reports] - logarithms[tallies].sum(axis=1)
    likely: Floats = np.exp(ways[:, None] + tallies @ np.log(laws).T)
    return likely


def exact_coverage(lows: Floats, highs: Floats, truths: Floats, likely: Floats) -> Floats:
    """Return how often intervals contain each truth.

    Args:
        lows: of the intervals of each tally, shape (t,).
        highs: likewise.
        truths: shape (j,).
        likely: how likely each tally is at each truth, shape (t, j).

    """
    holding = (lows[:, None] <= truths) & (truths <= highs[:, None])
    coverage: Floats = (holding * likely).sum(axis=0)
    return coverage
