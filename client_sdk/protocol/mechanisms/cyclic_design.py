"""Cyclic designs: the blocks of d values are shifts of pseudo-random base blocks, modulo k.

`block_design` defines the probabilities and names its sources. All base blocks have the same
probability.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from hashlib import shake_256
from typing import TYPE_CHECKING, ClassVar

from client_sdk.protocol.mechanisms.block_design import BlockDesign, keep_within
from client_sdk.protocol.mechanisms.designs import design_of
from client_sdk.protocol.requested_epsilon import RequestedEpsilon

if TYPE_CHECKING:
    from client_sdk.protocol.mechanisms.catalogue import ChannelRequest

PAIR = 2
"""With this block size, base blocks contain every difference, and are therefore exactly balanced.
Base blocks of larger sizes are pseudo-random."""

WORDS_OF = b"hearsay cyclic design 1"
"""The prefix of the input of the hash that yields pseudo-random base blocks. It is followed by k, d
and i, as 8 big-endian bytes each."""


@dataclass(frozen=True, slots=True)
class CyclicDesign(BlockDesign):
    """The channel whose blocks are the shifts of ``base_blocks`` base blocks.

    Attributes:
        inputs: k, at least 3.
        block_size: d, from 2 to k - 1.
        base_blocks: j, the number of base blocks.
        keep_numerator: the probability that the reported block contains the answer, times 2**64.

    """

    name: ClassVar[str] = "cyclic-design"
    weights: ClassVar[tuple[int, ...]] = (1,)
    _ends: ClassVar[tuple[int, ...]] = (1,)

    inputs: int
    block_size: int
    base_blocks: int
    keep_numerator: int
    _orders: dict[int, tuple[int, ...]] = field(init=False, repr=False, compare=False, default_factory=dict)

    @classmethod
    def build(cls, request: ChannelRequest) -> CyclicDesign:
        """Return the channel of the design that `designs` selects.

        Raises:
            ValueError: if there is no design for this number of values.

        """
        block_size, base_blocks = design_of(cls.name, request.size, request.epsilon.odds)
        return cls.within(request.epsilon, request.size, block_size, base_blocks)

    @classmethod
    def within(cls, epsilon: RequestedEpsilon, inputs: int, block_size: int, base_blocks: int) -> CyclicDesign:
        """Return the channel with the largest keep-probability within the requested epsilon."""
        return cls(inputs, block_size, base_blocks, keep_within(epsilon, inputs, block_size))

    @property
    def points(self) -> int:
        """The modulus v, which is the number of values."""
        return self.inputs

    @property
    def integers(self) -> dict[str, int]:
        """The integers that define the channel."""
        return {
            "inputs": self.inputs,
            "block_size": self.block_size,
            "base_blocks": self.base_blocks,
            "keep_numerator": self.keep_numerator,
        }

    def base_block(self, index: int) -> tuple[int, ...]:
        """Return the ascending values of base block ``index``, from 0 to base_blocks - 1.

        A block of two values is {0, index + 1}. For larger blocks, the SHAKE-256 of `WORDS_OF`, k,
        d and the index gives each value a word, which is a 64-bit big-endian integer. The block
        consists of the d values with the smallest words. If two words are equal, the lower value
        comes first.
        """
        return self._order(index)[: self.block_size]

    def _element(self, index: int, place: int) -> int:
        return self._order(index)[place]

    def _order(self, index: int) -> tuple[int, ...]:
        """Return all values: the members of a base block, then the others, each in ascending order.

        The order is derived on first use: a device reports only a few of the hundred base blocks.
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
