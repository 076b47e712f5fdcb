"""Block designs: a device reports a block of values, usually one that contains the answer.

There are v values, 0..v-1. A *base block* is a fixed set of d values. A base block plus a shift,
modulo v, is a *block*. Each symbol represents one block. For example, with v = 7, the base block
{0, 1, 3} and the shift 5 yield the block {5, 6, 1}.

The device draws a base block with a probability proportional to the weight of the base block. Then
the device draws a shift. With probability `keep_numerator` / 2**64, the shifted block contains the
answer; otherwise, it does not. Because of the shifts, every value is in the same number of blocks.
Therefore a few base blocks suffice, instead of all C(v, d) sets of d values.

Sources: Park, Nam & Lee 2023, "Block design schemes for the locally differentially private discrete
distribution estimation", section IV; Ye & Barg 2018 (subset selection, which uses all sets of d
values).
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
    """The channel whose symbols represent shifted base blocks.

    Symbol b * v + shift represents base block b plus ``shift``, modulo v. The base blocks are
    divided into families of equal size. All base blocks of a family have the same weight.

    Attributes:
        points: v, the modulus, at least the number of inputs.
        block_size: d, the number of values of a block.
        base_blocks: the number of base blocks.
        weights: for each family, the relative frequency of each base block in the family.
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
        """Return the values of base block ``index`` in ascending order."""

    @abstractmethod
    def _element(self, index: int, place: int) -> int:
        """Return element ``place`` of a base block's d members followed by all other values."""

    @property
    def symbols(self) -> int:
        """The number of symbols: one for each shift of each base block."""
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
        """Return the probability of ``symbol`` if the input is ``given``."""
        index, shift = divmod(symbol, self.points)
        if (given - shift) % self.points in self.base_block(index):
            return self.chance(index) * Fraction(self.keep_numerator, COIN_SCALE * self.block_size)
        others = self.points - self.block_size
        return self.chance(index) * Fraction(COIN_SCALE - self.keep_numerator, COIN_SCALE * others)

    def likeliest(self, symbol: int) -> Sequence[int]:
        """Return the inputs in a symbol's block, or all inputs if no input is in the block."""
        index, shift = divmod(symbol, self.points)
        held = sorted((value + shift) % self.points for value in self.base_block(index))
        return [value for value in held if value < self.inputs] or range(self.inputs)

    def perturb(self, value: int, coins: Coins) -> int:
        """Return the symbol of a random block, which usually contains the value.

        The base block is drawn independently of the value. Then a member and a non-member of the
        base block are drawn. The shift turns either the member or the non-member into ``value``. If
        only one of the two were drawn, the duration of the call could reveal whether the reported
        block contains ``value``.
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
    """Return the largest `keep_numerator` that keeps a design's epsilon within ``epsilon``."""
    weight = epsilon.odds * block_size
    return int(COIN_SCALE * weight / (weight + points - block_size))
