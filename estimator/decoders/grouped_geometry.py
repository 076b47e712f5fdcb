"""The inverse of grouped geometry for one group, from the reports that support each cell.

The group's public hash function maps each text to a cell. The cells and the reports are points of a
projective geometry. A report supports the cells that are orthogonal to its point. A report supports
a cell of the sender's texts with probability p, and any other cell with a lower probability q
(`client_sdk.protocol.mechanisms.grouped_geometry`). The number of reports that support a cell is
therefore binomial, as in the module `support`. If an answer is a list, the shares of all cells do
not add up to 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from client_sdk.protocol.channel import COIN_SCALE
from client_sdk.protocol.mechanisms.grouped_geometry import GroupedGeometry
from estimator.decoders import pair_geometry, projective_geometry, sampling
from estimator.decoders.projective_geometry import Orthogonality
from estimator.decoders.support import REMEMBERED, Support, support_counts
from estimator.statistics.arrays import Counts


@dataclass(frozen=True, slots=True)
class CellSupport:
    """The probabilities that a report supports cells, and the cells that each report supports.

    Attributes:
        support: the probability p for a cell of the sender's texts, and q for any other cell.
        incidence: the cells that each report supports.
        points: K, the number of cells, including the dummies that pad short lists.
        dummies: the number of dummies, which are the last cells.
        supported: the number of cells that each report supports.
    """

    support: Support
    incidence: Orthogonality
    points: int
    dummies: int
    supported: int

    @property
    def cells(self) -> int:
        """The number of cells, not counting the dummies."""
        return self.points - self.dummies

    @property
    def by_chance(self) -> float:
        """The probability that a report supports the cell of a text that nobody has.

        The result is an average over all cells except the dummies. If people have fewer texts than
        a list may contain, the true probability is slightly lower.
        """
        of_texts = Fraction(max(1, self.dummies), self.cells)
        return float(self.support.other + (self.support.own - self.support.other) * of_texts)

    @property
    def total(self) -> float:
        """The sum of the estimated shares of all K cells. Every tally has the same sum.

        The sum is 1 if an answer is one text. If an answer is a list, the sum is below the number
        of cells in the list. The reason is that some cells outside the list, namely those on a line
        with two cells of the list, get estimates that are too small.
        """
        return float(self.support.slope * self.supported + self.support.intercept * self.points)

    def counts(self, tally: Counts) -> Counts:
        """Return the number of reports that support each cell, shape (K,)."""
        return support_counts(self.incidence, tally)


@lru_cache(maxsize=REMEMBERED)
def cell_support(channel: GroupedGeometry) -> CellSupport:
    """Return the probabilities that reports support cells, in any group of a channel."""
    pairs = channel.pairs
    if pairs is None:
        support = projective_geometry.inverse(channel.points).support
    else:
        of_pair, other = pairs.blocks.support(Fraction(pairs.keep_numerator, COIN_SCALE))
        support = Support(other + (of_pair - other) * Fraction(2, pairs.drawn), other)  # two of m cells are drawn
    incidence = Orthogonality.from_channel(channel.points)
    return CellSupport(support, incidence, channel.inputs, channel.dummies, channel.points.orthogonal)


GroupSampler = Callable[[Counts, Counts, np.random.Generator], Counts]
"""A function that draws a random tally of one group, shape (K,).

The first argument contains the cell of each input in this group, shape (inputs,). For m cells per
input, the shape is (inputs, m). The second argument is the number of devices with each input.
"""


def group_sampler(channel: GroupedGeometry) -> GroupSampler:
    """Return a function that draws tallies of any group of a channel."""
    pairs = channel.pairs
    if pairs is None:
        draw = sampling.by_blocks(channel.points, sampling.of_geometry(channel.points))
        return lambda inputs, devices, generator: draw(
            np.bincount(inputs, devices, channel.inputs).astype(np.int64), generator
        )
    surplus, drawn = pair_geometry.surplus(pairs), pairs.drawn

    def sample(inputs: Counts, devices: Counts, generator: np.random.Generator) -> Counts:
        kept = generator.binomial(devices, surplus)
        lists = np.repeat(inputs, kept, axis=0)
        first, steps = generator.integers([[drawn], [drawn - 1]], size=(2, len(lists)))
        places = np.stack([first, (first + 1 + steps) % drawn], axis=1)
        vectors = pair_geometry.point_vectors(pairs, np.take_along_axis(lists, places, axis=1))
        return pair_geometry.tally_of_pairs(pairs, vectors, int(devices.sum() - kept.sum()), generator)

    return sample
