"""Cyclic designs: a device reports a block of values, usually one that contains the answer.

The values are 0..k-1. A base block plus a shift, modulo k, is a block. Base blocks are
pseudo-random and equally likely. `block_design` defines the probabilities and names the sources.
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
"""The only block size for which base blocks are not pseudo-random. These base blocks are {0, 1},
{0, 2} and so on, so that every pair of values occurs equally often."""

WORDS_OF = b"hearsay cyclic design 1"
"""The prefix of the hashed data that determines a base block. The number of values, the block size
and the base block's index follow, each as 8 big-endian bytes."""


@dataclass(frozen=True, slots=True)
class CyclicDesign(BlockDesign):
    """The channel whose symbols represent shifted pseudo-random base blocks.

    The number of values, k, is at least 3. The block size d is from 2 to k - 1. All other
    attributes are as in `BlockDesign`.
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
        """Return the channel for a request. `designs.design_of` selects the design."""
        block_size, base_blocks = design_of(cls.name, request.size, request.epsilon.odds)
        return cls.within(request.epsilon, request.size, block_size, base_blocks)

    @classmethod
    def within(cls, epsilon: RequestedEpsilon, inputs: int, block_size: int, base_blocks: int) -> CyclicDesign:
        """Return the channel with the largest `keep_numerator` that ``epsilon`` allows."""
        return cls(inputs, block_size, base_blocks, keep_within(epsilon, inputs, block_size))

    @property
    def points(self) -> int:
        """The modulus v, which is the number of values."""
        return self.inputs

    @property
    def integers(self) -> dict[str, int]:
        """The integers that define the channel, keyed by name."""
        return {
            "inputs": self.inputs,
            "block_size": self.block_size,
            "base_blocks": self.base_blocks,
            "keep_numerator": self.keep_numerator,
        }

    def base_block(self, index: int) -> tuple[int, ...]:
        """Return the values of base block ``index`` in ascending order.

        A base block of two values is {0, index + 1}. For larger blocks, SHAKE-256 hashes
        `WORDS_OF`, the number of values, the block size and the index. The hash yields one 64-bit
        big-endian integer (word) for each value. The d values with the smallest words form the base
        block. For equal words, the lower value comes first.
        """
        return self._order(index)[: self.block_size]

    def _element(self, index: int, place: int) -> int:
        return self._order(index)[place]

    def _order(self, index: int) -> tuple[int, ...]:
        """Return the members of a base block, then all other values, both in ascending order."""
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
