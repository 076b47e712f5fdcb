"""The inverse of pair geometry: how many reported blocks contain each element of padded sets.

A report's block contains an element with one of two probabilities, which depend only on whether the
element is in the set. The number of such reports is therefore binomial, as in `support`. Other
statistics of a tally also depend on which elements occur together: an element has no law of its
own, and the law of the blocks does not follow from shares.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Never

import numpy as np
from numpy.typing import NDArray

from client_sdk.protocol.channel import COIN_SCALE
from client_sdk.protocol.mechanisms.pair_geometry import PAIR, PairGeometry
from client_sdk.protocol.mechanisms.projective_geometry import ProjectiveGeometry
from estimator.decoders.decoder import Squares
from estimator.decoders.projective_geometry import Orthogonality
from estimator.decoders.sampling import Sampler
from estimator.decoders.support import Balanced, Block, Support
from estimator.statistics.arrays import Counts, Floats, Reports


@dataclass(frozen=True, slots=True, eq=False)
class Elements:
    """The relation between blocks and the elements that they contain.

    Attributes:
        geometry: the relation between all points of the geometry.
        points: the point of each element, shape (k,).

    """

    geometry: Orthogonality
    points: NDArray[np.intp]

    @classmethod
    def from_channel(cls, channel: PairGeometry) -> Elements:
        """Find the points of a channel's elements."""
        every = ProjectiveGeometry(channel.symbols, channel.prime, channel.dimension, channel.keep_numerator)
        powers = channel.prime ** np.arange(channel.dimension - 1, -1, -1)
        numbers = (np.array([channel.vector(element) for element in range(channel.inputs)]) @ powers).tolist()
        return cls(Orthogonality.from_channel(every), np.array([every.point(number) for number in numbers]))

    def of_values(self, scores: Floats) -> Floats:
        """Return the sum of the scores of the blocks that contain each element, shape (..., k)."""
        return self.geometry.of_values(scores)[..., self.points]

    def of_symbols(self, shares: Floats) -> Floats:
        """Return the sum of the shares of the elements of each block, shape (..., m)."""
        of_points = np.zeros((*shares.shape[:-1], self.geometry.firsts[-1]))
        of_points[..., self.points] = shares
        return self.geometry.of_values(of_points)


@dataclass(frozen=True, slots=True)
class PairShares:
    """An `Inverse` for padded sets. An element's share is that of a randomly drawn element.

    Attributes:
        balanced: the inverse of a channel in which a block supports one element instead of two. Its
            probability that a block contains an element, if every device has this element, is set
            so that shares are unbiased.
        lightest: the smallest probability of a block.
        ratio: the largest probability of a block, divided by the smallest.
        drawn: m, the number of elements of a set; a member has the share 1 / m.

    """

    balanced: Balanced
    lightest: float
    ratio: float
    drawn: int

    def shares(self, counts: Counts, reports: Reports) -> Floats:
        """Return the unbiased estimate of each element's share, shape (..., k)."""
        return self.balanced.shares(counts, reports)

    def standard_errors(self, counts: Counts, reports: Reports) -> Floats:
        """Return the standard error of each share, shape (..., k), including that of sampling."""
        return self.balanced.standard_errors(counts, reports)

    def intervals(self, counts: Counts, reports: Reports, family: int = 1) -> tuple[Floats, Floats]:
        """Return the ends of the shares' intervals, which follow from binomial support counts."""
        return self.balanced.intervals(counts, reports, family)

    def contrast(self, weights: Floats) -> Floats:
        """Return the score of each block in the estimate of a weighted sum of shares."""
        return self.balanced.contrast(weights)

    def squares(self, inputs: int) -> Squares:
        """Return a report's mean squared scores for the sender's answer and for other values."""
        return self.balanced.squares(inputs)

    def extremes(self) -> tuple[Floats, Floats]:
        """Return the smallest and the largest score of a report, each of shape (1,)."""
        return self.balanced.extremes()

    def support_counts(self, counts: Counts) -> Counts:
        """Return the number of reported blocks that contain each element, shape (..., k)."""
        return self.balanced.support_counts(counts)

    def chances(self) -> tuple[float, float]:
        """Return the probabilities that a block contains an element outside the set, and within."""
        other, own = self.balanced.support.other, self.balanced.support.own
        return float(other), float(other + (own - other) / self.drawn)

    def symbol_law(self, shares: Floats) -> Never:  # noqa: ARG002 of other channels
        """Refuse, because the law depends on which elements occur together."""
        raise TypeError("shares of elements do not determine the law of blocks")

    def expectations(self, scores: Floats) -> Never:  # noqa: ARG002 of other channels
        """Refuse, because expected scores depend on all elements of a set."""
        raise TypeError("an element alone does not determine the law of blocks")


def inverse(channel: PairGeometry) -> PairShares:
    """Return the inverse of a channel."""
    keep = Fraction(channel.keep_numerator, COIN_SCALE)
    of_pair, other = channel.blocks.support(keep)
    others = (1 - keep) / (channel.symbols - channel.blocks.favored)
    block = Block(float(keep / channel.blocks.favored), float(others))
    # one drawn element of m has twice the weight 1 / m in the drawn pairs
    support = Support(own=other + 2 * (of_pair - other), other=other)
    balanced = Balanced(support, block, Elements.from_channel(channel))
    return PairShares(balanced, float(others), float(channel.worst_ratio), channel.drawn)


def sampler(channel: PairGeometry) -> Sampler:
    """Return a sampler of tallies.

    The sampler takes the number of devices that drew each pair, shape (K * K,): elements a and b
    have the index a * K + b. A device reports a block drawn from all blocks, or one that its pair
    favors, which is found by drawing from all blocks until one is.
    """
    symbols, favored, prime = channel.symbols, channel.blocks.favored, channel.prime
    keep = Fraction(channel.keep_numerator, COIN_SCALE)
    surplus = float(keep - (1 - keep) * favored / (symbols - favored))
    powers = prime ** np.arange(channel.dimension - 1, -1, -1)
    numbers = np.concatenate([np.arange(power, 2 * power) for power in powers[::-1].tolist()])
    blocks = numbers[:, None] // powers % prime
    elements = np.array([channel.vector(element) for element in range(channel.inputs)])

    def sample(inputs: Counts, generator: np.random.Generator) -> Counts:
        kept = generator.binomial(inputs, surplus)
        tally = generator.multinomial(inputs.sum() - kept.sum(), np.full(symbols, 1 / symbols))
        pairs = np.repeat(np.arange(inputs.size), kept)
        while pairs.size:
            drawn = generator.integers(symbols, size=pairs.size)
            inside = np.zeros(pairs.size, dtype=np.int64)
            for element in np.divmod(pairs, channel.inputs):
                inside += (blocks[drawn] * elements[element]).sum(axis=1) % prime == 0
            is_favored = (inside == 1) | ((inside == PAIR) & (channel.drawn == PAIR))
            tally += np.bincount(drawn[is_favored], minlength=symbols)
            pairs = pairs[~is_favored]
        return tally

    return sample
