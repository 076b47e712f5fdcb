"""Block designs: a report names a block of d values, which is a shifted base block.

A symbol represents a block: the values of a base block, each plus a shift, modulo v. With a known
probability, the block contains the answer; otherwise, it does not. In both cases, a base block is
drawn with a probability in proportion to its weight, and a shift is drawn uniformly. Because of the
shifts, the channel treats all values alike. Therefore a few base blocks can replace all C(v, d)
subsets.

Sources: Park, Nam & Lee 2023, "Block design schemes for the locally differentially private discrete
distribution estimation", section IV (the channel of a design); Ye & Barg 2018 (the channel of all
subsets, whose variance block designs approach).
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from client_sdk.protocol.channel import COIN_SCALE, Channel, Coins
from client_sdk.protocol.requested_epsilon import RequestedEpsilon


class BlockDesign(Channel):
    """The channel whose blocks are the shifts of weighted base blocks.

    Symbol b * v + shift represents the values of base block b, each plus ``shift``, modulo v. The
    base blocks form families of equal size, and all base blocks of a family have the same weight.

    Attributes:
        points: v, at least the number of inputs.
        block_size: d, the number of values of a block.
        base_blocks: the number of base blocks.
        weights: for each family, the relative frequency at which each of its base blocks is drawn.
        keep_numerator: the probability that the reported block contains the answer, times 2**64.

    """

    __slots__ = ()

    if TYPE_CHECKING:  # some designs have these as fields, and properties would become the fields' defaults

        @property
        @abstractmethod
        def points(self) -> int: ...  # noqa: D102 described above

        @property
        @abstractmethod
        def block_size(self) -> int: ...  # noqa: D102 described above

        @property
        @abstractmethod
        def base_blocks(self) -> int: ...  # noqa: D102 described above

        @property
        @abstractmethod
        def weights(self) -> tuple[int, ...]: ...  # noqa: D102 described above

        @property
        @abstractmethod
        def keep_numerator(self) -> int: ...  # noqa: D102 described above

        @property
        @abstractmethod
        def _ends(self) -> tuple[int, ...]:
            """The running sums of the weights."""

    @abstractmethod
    def base_block(self, index: int) -> tuple[int, ...]:
        """Return the ascending values of base block ``index``, from 0 to base_blocks - 1."""

    @abstractmethod
    def _element(self, index: int, place: int) -> int:
        """Return the value at a place in a base block's order: members first, then the others."""

    @property
    def symbols(self) -> int:
        """The number of blocks: every shift of every base block."""
        return self.base_blocks * self.points

    @property
    def worst_ratio(self) -> Fraction:
        """The probability of a block with the answer, divided by that of a block without it."""
        outside = self.points - self.block_size
        return Fraction(self.keep_numerator * outside, (COIN_SCALE - self.keep_numerator) * self.block_size)

    def chance(self, index: int) -> Fraction:
        """Return the probability that base block ``index`` is drawn."""
        of_family = self.base_blocks // len(self.weights)
        return Fraction(self.weights[index // of_family], self._ends[-1] * of_family)

    def probability(self, symbol: int, given: int) -> Fraction:
        """Return P(symbol | given): the probability of a symbol, given an input."""
        index, shift = divmod(symbol, self.points)
        if (given - shift) % self.points in self.base_block(index):
            return self.chance(index) * Fraction(self.keep_numerator, COIN_SCALE * self.block_size)
        others = self.points - self.block_size
        return self.chance(index) * Fraction(COIN_SCALE - self.keep_numerator, COIN_SCALE * others)

    def likeliest(self, symbol: int) -> Sequence[int]:
        """Return the values in a symbol's block; all values if the block contains none of them."""
        index, shift = divmod(symbol, self.points)
        held = sorted((value + shift) % self.points for value in self.base_block(index))
        return [value for value in held if value < self.inputs] or range(self.inputs)

    def perturb(self, value: int, coins: Coins) -> int:
        """Return a random base block, shifted so that it does or does not contain the value.

        A member and a non-member are always drawn. If only the needed value were drawn, the time of
        the draw could reveal which of the two was needed. The draw of the base block does not
        depend on the value.
        """
        points, size, ends = self.points, self.block_size, self._ends
        of_family, total = self.base_blocks // len(ends), ends[-1]
        place, weight = divmod(coins.below(total * of_family), total)
        index = bisect_right(ends, weight) * of_family + place
        keep = coins.bernoulli(self.keep_numerator)
        kept = coins.below(size)
        lie = coins.below(points - size)
        element = self._element(index, kept if keep else size + lie)
        return index * points + (value - element) % points


def keep_within(epsilon: RequestedEpsilon, points: int, block_size: int) -> int:
    """Return the largest keep-probability within the requested epsilon, times 2**64."""
    weight = epsilon.odds * block_size
    return int(COIN_SCALE * weight / (weight + points - block_size))
