"""Cyclic block designs: a report names a block of d values, a shift of one of a few base blocks.

A symbol stands for a block: the values of base block i, each plus a shift, modulo k. With a known
probability the block holds the answer; otherwise it does not. Within either case all blocks are
equally likely. Shifts make the channel the same for every value, so that a few base blocks do what
all C(k, d) subsets would do.

Sources: Park, Nam & Lee 2023, "Block design schemes for the locally differentially private discrete
distribution estimation", section IV (the channel of a design); Ye & Barg 2018 (all subsets: the
variance that is approached).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import shake_256
from typing import TYPE_CHECKING, ClassVar

from client_sdk.protocol.channel import Channel
from client_sdk.protocol.coins import COIN_SCALE, Coins
from client_sdk.protocol.mechanisms.designs import design_of
from client_sdk.protocol.requested_epsilon import RequestedEpsilon

if TYPE_CHECKING:
    from client_sdk.protocol.mechanisms.mechanism import ChannelRequest

PAIR = 2
"""The block size whose base blocks are all differences, and hence exactly balanced. The base blocks
of larger sizes are drawn."""

WORDS_OF = b"hearsay cyclic design 1"
"""The prefix of the digest that yields pseudo-random base blocks; k, d and i follow, as 8
big-endian bytes each."""


@dataclass(frozen=True, slots=True)
class CyclicDesign(Channel):
    """The channel of the shifts of ``base_blocks`` blocks.

    Symbol i * k + shift stands for the values of base block i, each plus ``shift``, modulo k.

    Attributes:
        inputs: k, at least 3.
        block_size: d, from 2 to k - 1.
        base_blocks: j, the number of base blocks.
        keep_numerator: the probability that the reported block holds the answer, times 2**64.

    """

    name: ClassVar[str] = "cyclic-design"

    inputs: int
    block_size: int
    base_blocks: int
    keep_numerator: int
    _orders: dict[int, tuple[int, ...]] = field(init=False, repr=False, compare=False, default_factory=dict)

    @classmethod
    def build(cls, request: ChannelRequest) -> CyclicDesign:
        """Return the channel of the design of least variance.

        Raises:
            ValueError: if there is no design.

        """
        block_size, base_blocks = design_of(cls.name, request.size, request.epsilon.odds)
        return cls.within(request.epsilon, request.size, block_size, base_blocks)

    @classmethod
    def within(cls, epsilon: RequestedEpsilon, inputs: int, block_size: int, base_blocks: int) -> CyclicDesign:
        """Return the channel with the largest keep-probability within the requested epsilon."""
        weight = epsilon.odds * block_size
        keep_numerator = int(COIN_SCALE * weight / (weight + inputs - block_size))
        return cls(inputs, block_size, base_blocks, keep_numerator)

    @property
    def symbols(self) -> int:
        """The number of blocks: every shift of every base block."""
        return self.base_blocks * self.inputs

    @property
    def integers(self) -> dict[str, int]:
        """The integers that define the law."""
        return {
            "inputs": self.inputs,
            "block_size": self.block_size,
            "base_blocks": self.base_blocks,
            "keep_numerator": self.keep_numerator,
        }

    @property
    def worst_ratio(self) -> Fraction:
        """P(a block that holds the answer) / P(a block that does not)."""
        outside = self.inputs - self.block_size
        return Fraction(self.keep_numerator * outside, (COIN_SCALE - self.keep_numerator) * self.block_size)

    def base_block(self, index: int) -> tuple[int, ...]:
        """Return the values of base block ``index``, from 0 to base_blocks - 1, in rising order.

        Pairs are {0, index + 1}. Larger blocks hold the d values with the smallest words. The words
        are 64-bit big-endian integers, one per value, of the SHAKE-256 of `WORDS_OF`, k, d and the
        index. Of two equal words the one of the lower value counts as smaller.
        """
        return self._order(index)[: self.block_size]

    def probability(self, symbol: int, given: int) -> Fraction:
        """Return P(symbol | given)."""
        index, shift = divmod(symbol, self.inputs)
        if (given - shift) % self.inputs in self.base_block(index):
            return Fraction(self.keep_numerator, COIN_SCALE * self.base_blocks * self.block_size)
        others = self.base_blocks * (self.inputs - self.block_size)
        return Fraction(COIN_SCALE - self.keep_numerator, COIN_SCALE * others)

    def likeliest(self, symbol: int) -> Sequence[int]:
        """Return the values of the symbol's block."""
        base, shift = divmod(symbol, self.inputs)
        return sorted((value + shift) % self.inputs for value in self.base_block(base))

    def perturb(self, value: int, coins: Coins) -> int:
        """Return a shift of a random base block that maps a member, or a non-member, to the value.

        A member and a non-member are drawn in either case: a draw made for only one case would
        reveal by its time which case it was. The base block is drawn without looking at the value.
        """
        index = coins.below(self.base_blocks)
        keep = coins.bernoulli(self.keep_numerator)
        kept = coins.below(self.block_size)
        lie = coins.below(self.inputs - self.block_size)
        element = self._order(index)[kept if keep else self.block_size + lie]
        return index * self.inputs + (value - element) % self.inputs

    def _order(self, index: int) -> tuple[int, ...]:
        """Return all values: the members of a base block, then the others, both rising.

        The order is derived when it is first needed: a device reports few of a hundred base blocks.
        """
        order = self._orders.get(index)
        if order is None:
            members = (0, index + 1) if self.block_size == PAIR else self._smallest_words(index)
            others = sorted(set(range(self.inputs)).difference(members))
            order = self._orders[index] = (*members, *others)
        return order

    def _smallest_words(self, index: int) -> list[int]:
        seed = WORDS_OF + struct.pack(">3Q", self.inputs, self.block_size, index)
        words = struct.unpack(f">{self.inputs}Q", shake_256(seed).digest(8 * self.inputs))
        return sorted(sorted(range(self.inputs), key=words.__getitem__)[: self.block_size])
