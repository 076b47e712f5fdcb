"""Balanced designs inverted: a report supports the values of its block.

Any two values are in a report's block equally often, so support counts are unbiased and binomial.
Their sums over all shifts of a block are convolutions over Z_v, one real FFT for each base block.

Source: Park, Nam & Lee 2023, section IV.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from client_sdk.protocol.channel import COIN_SCALE
from client_sdk.protocol.mechanisms.balanced_design import BalancedDesign
from estimator.decoders.cyclic_design import Shifts
from estimator.decoders.support import Balanced, Block, Incidence, Support
from estimator.statistics.arrays import Floats


@dataclass(frozen=True, slots=True, eq=False)
class FirstPoints:
    """Which shifts of base blocks hold which of the first k points of Z_v.

    Attributes:
        inputs: k.
        shifts: which of them hold which points.

    """

    inputs: int
    shifts: Shifts

    def of_values(self, scores: Floats) -> Floats:
        """Return for each value the score sum of the symbols whose block holds it, (..., k)."""
        return self.shifts.of_values(scores)[..., : self.inputs]

    def of_symbols(self, shares: Floats) -> Floats:
        """Return the sum of the shares of the values in each symbol's block, shape (..., m)."""
        of_points = np.zeros((*shares.shape[:-1], self.shifts.inputs))
        of_points[..., : self.inputs] = shares
        return self.shifts.of_symbols(of_points)


@dataclass(frozen=True, slots=True, eq=False)
class WeightedBlock(Block):
    """The law of a design whose blocks are not equally frequent.

    Attributes:
        frequencies: how often each symbol's block is drawn; 1 on average; shape (m,).

    """

    frequencies: Floats

    def symbol_law(self, incidence: Incidence, shares: Floats) -> Floats:
        """Return the probability of each symbol in a population: shape (..., k) to (..., m)."""
        return self.frequencies * super(WeightedBlock, self).symbol_law(incidence, shares)

    def expectations(self, incidence: Incidence, scores: Floats) -> Floats:
        """Return the expected score of a symbol given each input: shape (..., m) to (..., k)."""
        return super(WeightedBlock, self).expectations(incidence, self.frequencies * scores)


def inverse(channel: BalancedDesign) -> Balanced:
    """Return the inverse: p keeps the answer; any other value is as likely as all others."""
    points, size, blocks = channel.points, channel.block_size, channel.base_blocks
    keep = Fraction(channel.keep_numerator, COIN_SCALE)
    other = (keep * (size - 1) + (1 - keep) * size) / (points - 1)
    frequencies = np.array([float(channel.chance(index) * blocks) for index in range(blocks)])
    block = WeightedBlock(
        float(keep / (blocks * size)), float((1 - keep) / (blocks * (points - size))), np.repeat(frequencies, points)
    )
    shifts = Shifts.of_blocks(points, [channel.base_block(index) for index in range(blocks)])
    return Balanced(Support(keep, other), block, FirstPoints(channel.inputs, shifts))


def extreme(channel: BalancedDesign) -> float:
    """Return the largest probability that a report separates two answers by the whole epsilon."""
    apart = (channel.points - channel.block_size) / (channel.points - 1)
    return float(channel.keep_numerator / COIN_SCALE * apart)
