"""The inverse of pair geometry: shares of elements, from the number of blocks that contain them.

A device pads its set with dummies to m elements, and reports a block of elements
(`client_sdk.protocol.mechanisms.pair_geometry`). The reported block contains an element of the set
with a higher probability, and any other element with a lower probability. The number of reported
blocks that contain an element is therefore binomial, as in the module `support`.

The probability of a single block depends on which elements occur together in sets. The shares of
elements do not determine this probability, so `symbol_law` and `expectations` raise errors.
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
from estimator.decoders import sampling
from estimator.decoders.decoder import Squares
from estimator.decoders.projective_geometry import Orthogonality
from estimator.decoders.sampling import Sampler
from estimator.decoders.support import Balanced, Block, Support
from estimator.statistics.arrays import Counts, Floats, Reports


@dataclass(frozen=True, slots=True, eq=False)
class Elements:
    """An `Incidence` that states which blocks contain which elements.

    Attributes:
        geometry: the orthogonal points of each point of the geometry. A point also stands for a
            block: the elements at its orthogonal points.
        points: the index of each element's point, shape (k,).
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
        """Return the total score of the blocks that contain each element, shape (..., k)."""
        return self.geometry.of_values(scores)[..., self.points]

    def of_symbols(self, shares: Floats) -> Floats:
        """Return, for each block, the sum of the shares of its elements, shape (..., m)."""
        of_points = np.zeros((*shares.shape[:-1], self.geometry.firsts[-1]))
        of_points[..., self.points] = shares
        return self.geometry.of_values(of_points)


@dataclass(frozen=True, slots=True)
class PairShares:
    """An `Inverse` for padded sets of m elements.

    If one random element is drawn from each set, an element's share is the fraction of draws that
    give this element. An element that every set contains therefore has the share 1 / m, not 1.

    Attributes:
        balanced: the inverse that the methods of this class use. The probability that a block
            contains an element is a linear function of the element's share. `Support` specifies the
            function by its values at the shares 0 and 1, although no share exceeds 1 / m.
        lightest: the smallest probability of a block, given any set.
        ratio: the largest probability of a block, given any set, divided by the smallest.
        drawn: m, the number of elements of a padded set.
    """

    balanced: Balanced
    lightest: float
    ratio: float
    drawn: int

    def shares(self, counts: Counts, reports: Reports) -> Floats:
        """Return the unbiased estimate of each element's share, shape (..., k)."""
        return self.balanced.shares(counts, reports)

    def standard_errors(self, counts: Counts, reports: Reports) -> Floats:
        """Return the standard error of each share, shape (..., k), including the sampling error."""
        return self.balanced.standard_errors(counts, reports)

    def intervals(self, counts: Counts, reports: Reports, family: int = 1) -> tuple[Floats, Floats]:
        """Return the ends of the shares' intervals, converted from intervals of binomial counts."""
        return self.balanced.intervals(counts, reports, family)

    def contrast(self, weights: Floats) -> Floats:
        """Return the score of each block in the estimate of a weighted sum of shares."""
        return self.balanced.contrast(weights)

    def squares(self, inputs: int) -> Squares:
        """Return a report's mean squared scores for the sender's value and for other values."""
        return self.balanced.squares(inputs)

    def extremes(self) -> tuple[Floats, Floats]:
        """Return the score of a block without a given element, and of a block with this element.

        Both arrays have shape (1,).
        """
        return self.balanced.extremes()

    def support_counts(self, counts: Counts) -> Counts:
        """Return the number of reported blocks that contain each element, shape (..., k)."""
        return self.balanced.support_counts(counts)

    def chances(self) -> tuple[float, float]:
        """Return two probabilities that a reported block contains a given element.

        * the probability for an element outside the set
        * the probability for an element of the set
        """
        other, own = self.balanced.support.other, self.balanced.support.own
        return float(other), float(other + (own - other) / self.drawn)

    def symbol_law(self, shares: Floats) -> Never:  # noqa: ARG002 of other channels
        """Raise TypeError, because probabilities depend on which elements occur together."""
        raise TypeError("shares of elements do not determine the law of blocks")

    def expectations(self, scores: Floats) -> Never:  # noqa: ARG002 of other channels
        """Raise TypeError, because expected scores depend on all elements of a set."""
        raise TypeError("an element alone does not determine the law of blocks")


def inverse(channel: PairGeometry) -> PairShares:
    """Return the inverse of a pair-geometry channel."""
    keep = Fraction(channel.keep_numerator, COIN_SCALE)
    of_pair, other = channel.blocks.support(keep)
    others = (1 - keep) / (channel.symbols - channel.blocks.favored)
    block = Block(float(keep / channel.blocks.favored), float(others))
    # an element with the share s is in the drawn pair with probability 2 s, because pairs have two
    # elements; `own` is the value of the linear function at s = 1
    support = Support(own=other + 2 * (of_pair - other), other=other)
    balanced = Balanced(support, block, Elements.from_channel(channel))
    return PairShares(balanced, float(others), float(channel.worst_ratio), channel.drawn)


def sampler(channel: PairGeometry) -> Sampler:
    """Return a sampler of tallies, which simulates the reports of many devices at once.

    The sampler takes the number of devices that drew each pair of elements, shape (K * K,). The
    pair of elements a and b has the index a * K + b.
    """
    elements = np.array([channel.vector(element) for element in range(channel.inputs)])
    of_kept = surplus(channel)

    def sample(inputs: Counts, generator: np.random.Generator) -> Counts:
        kept = generator.binomial(inputs, of_kept)
        pairs = np.repeat(np.arange(inputs.size), kept)
        vectors = elements[np.stack(np.divmod(pairs, channel.inputs), axis=1)]
        return tally_of_pairs(channel, vectors, int(inputs.sum() - kept.sum()), generator)

    return sample


def surplus(channel: PairGeometry) -> float:
    """Return the probability of drawing a report from the favored blocks instead of all blocks."""
    keep, favored = Fraction(channel.keep_numerator, COIN_SCALE), channel.blocks.favored
    return float(keep - (1 - keep) * favored / (channel.symbols - favored))


def point_vectors(channel: PairGeometry, points: Counts) -> Counts:
    """Return the canonical vector of each point, shape (..., t) for points of shape (...)."""
    powers, firsts = sampling.powers_and_firsts(channel.prime, channel.dimension)
    digits = np.searchsorted(firsts, points, side="right") - 1
    vectors: Counts = (powers[digits] + points - firsts[digits])[..., np.newaxis] // powers[-2::-1] % channel.prime
    return vectors


def tally_of_pairs(channel: PairGeometry, pairs: Counts, others: int, generator: np.random.Generator) -> Counts:
    """Return a random tally, in which some devices report a block that their pair favors.

    A favored block is drawn as in `PairGeometry.block`. First, the inner products of the block's
    vector with the vectors of the two elements are drawn. Then, all coordinates except two are
    drawn. These two follow from the inner products. If the result is a vector of zeros, the draw is
    repeated.

    Args:
        channel: the channel.
        pairs: for each device that reports a favored block, the vectors of its two elements, shape
            (devices, 2, t).
        others: the number of devices that report a block drawn from all blocks.
        generator: the source of random numbers.
    """
    prime, inverses = channel.prime, sampling.inverses_modulo(channel.prime)
    powers, firsts = sampling.powers_and_firsts(prime, channel.dimension)
    tally = generator.multinomial(others, np.full(channel.symbols, 1 / channel.symbols))
    first, second = pairs[:, 0], pairs[:, 1]
    leading = (first != 0).argmax(axis=1)[:, np.newaxis]
    factor = np.take_along_axis(second, leading, axis=1)
    apart = (second - factor * first) % prime
    pivot = (apart != 0).argmax(axis=1)[:, np.newaxis]
    scale = inverses[np.take_along_axis(apart, pivot, axis=1)]
    products = 2 * (prime - 1) + (channel.drawn == PAIR)  # (0, 1 ...), then (1 ..., 0), then (0, 0)
    left = np.arange(len(pairs))
    while left.size:
        drawn = generator.integers(products, size=(left.size, 1))
        of_second = np.where(drawn < prime - 1, drawn + 1, 0)
        of_first = np.where((drawn >= prime - 1) & (drawn < 2 * (prime - 1)), drawn - prime + 2, 0)
        vectors = generator.integers(prime, size=(left.size, channel.dimension))
        missing = of_second - factor[left] * of_first - (vectors * apart[left]).sum(axis=1, keepdims=True)
        _add_at(vectors, pivot[left], missing * scale[left], prime)
        _add_at(vectors, leading[left], of_first - (vectors * first[left]).sum(axis=1, keepdims=True), prime)
        is_block = vectors.any(axis=1)
        blocks, left = vectors[is_block], left[~is_block]
        foremost = (blocks != 0).argmax(axis=1)
        blocks = blocks * inverses[blocks[np.arange(len(blocks)), foremost]][:, np.newaxis] % prime
        digits = channel.dimension - 1 - foremost
        tally += np.bincount(blocks @ powers[-2::-1] - powers[digits] + firsts[digits], minlength=channel.symbols)
    return tally


def _add_at(vectors: Counts, places: NDArray[np.intp], amounts: Counts, prime: int) -> None:
    changed = (np.take_along_axis(vectors, places, axis=1) + amounts) % prime
    np.put_along_axis(vectors, places, changed, axis=1)
