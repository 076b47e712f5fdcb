"""Cyclic block designs: the answer is reported as one of d values, all of them shifts of a few base blocks over Z_k.

A symbol stands for a block, the set of values base block i + shift (mod k). With a known probability the block holds
the answer, else it does not; within either, all blocks are alike. Shifts make the channel the same for every value, so
that a few base blocks do what all C(k, d) subsets would do.

Sources: Park, Nam & Lee 2023, "Block design schemes for the locally differentially private discrete distribution
estimation", section IV (the channel of a design); Ye & Barg 2018 (all subsets: the variance that is approached).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import shake_256
from typing import ClassVar

from client_sdk.protocol.channel import COIN_SCALE, PURE, Coins
from client_sdk.protocol.epsilon import RequestedEpsilon

PAIR = 2
"""The block size for which the base blocks are all differences, hence exactly balanced; larger ones are drawn."""

WORDS_OF = b"hearsay cyclic design 1"
"""What the words of pseudo-random base blocks are a digest of, before k, d and i as 8 bytes each, big-endian."""


@dataclass(frozen=True, slots=True)
class CyclicDesign:
    """The channel of the shifts of ``base_blocks`` blocks.

    Symbol i * k + shift stands for the values of base block i, each plus ``shift``, modulo k.

    Attributes:
        inputs: k, at least 3.
        block_size: d, from 2 to k - 1.
        base_blocks: j, how many base blocks there are.
        keep_numerator: of 2**64: how often the block that is reported holds the answer.

    """

    name: ClassVar[str] = "cyclic-design"

    delta: ClassVar[Fraction] = PURE

    inputs: int
    block_size: int
    base_blocks: int
    keep_numerator: int
    _orders: dict[int, tuple[int, ...]] = field(init=False, repr=False, compare=False, default_factory=dict)

    @classmethod
    def within(cls, epsilon: RequestedEpsilon, inputs: int, block_size: int, base_blocks: int) -> CyclicDesign:
        """Return the channel that keeps most often, of those whose epsilon is not above the requested one."""
        weight = epsilon.odds * block_size
        keep_numerator = int(COIN_SCALE * weight / (weight + inputs - block_size))
        return cls(inputs, block_size, base_blocks, keep_numerator)

    @property
    def symbols(self) -> int:
        """Every shift of every base block."""
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
        """Return the values of base block ``index``, from 0 to base_blocks - 1, rising.

        Pairs are {0, index + 1}. Larger blocks hold the d values of the k that have the smallest words; the words are
        64-bit big-endian integers, one a value, of the SHAKE-256 of `WORDS_OF`, k, d and the index; of equal words that
        of the lower value is the smaller.
        """
        return self._order(index)[: self.block_size]

    def probability(self, symbol: int, given: int) -> Fraction:
        """Return P(symbol | given)."""
        index, shift = divmod(symbol, self.inputs)
        keep = Fraction(self.keep_numerator, COIN_SCALE)
        if (given - shift) % self.inputs in self.base_block(index):
            return keep / (self.base_blocks * self.block_size)
        return (1 - keep) / (self.base_blocks * (self.inputs - self.block_size))

    def perturb(self, value: int, coins: Coins) -> int:
        """Return a shift of a random base block that puts one of its members, or a non-member, on the value.

        Member and non-member are drawn in either case: a draw that is made for one of them only would tell by its time
        which one it was. The base block is drawn whatever the value is.
        """
        index = coins.below(self.base_blocks)
        keep = coins.bernoulli(self.keep_numerator)
        kept = coins.below(self.block_size)
        lie = coins.below(self.inputs - self.block_size)
        element = self._order(index)[kept if keep else self.block_size + lie]
        return index * self.inputs + (value - element) % self.inputs

    def _order(self, index: int) -> tuple[int, ...]:
        """Return all values, first the members of a base block, rising, then the others, rising.

        It is derived when it is first needed: a device reports a few base blocks, of a hundred.
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
