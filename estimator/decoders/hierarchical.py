"""The inverse of a hierarchical histogram, by least squares over all levels together.

The range of a number is divided into the nodes of a tree, such as halves on the first level and
quarters on the second. A device draws a level at random. The device perturbs the node of this level
that contains its number, and reports the result.

Weighted least squares solves the equations of all levels together. The estimate is unbiased in
every population. If all inputs are equally common, no unbiased estimate has a smaller variance
(Aitken 1936). The usual method averages the estimates of a node and of its children (Cormode,
Kulkarni & Srivastava 2019, section 4: constrained inference). Both methods are equivalent if all
nodes of a level have equal and uncorrelated noise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from client_sdk.protocol.channel import COIN_SCALE
from client_sdk.protocol.mechanisms.cyclic_design import CyclicDesign
from client_sdk.protocol.mechanisms.hierarchical import Hierarchical, LevelChannel
from client_sdk.protocol.mechanisms.k_ary_randomized_response import KAryRandomizedResponse
from estimator.decoders.decoder import REMEMBERED, Decoder
from estimator.decoders.exponential import TableInverse
from estimator.statistics.arrays import Floats


@dataclass(frozen=True, slots=True, eq=False)
class TreeLaw:
    """The distribution of a tree's symbols, with one table for each level.

    Attributes:
        inputs: k, the number of inputs.
        spans: for each level, the number of inputs in a node.
        tables: for each level, the probability of each symbol given the device's node, shape
            (nodes, symbols). The probability of drawing the level is included.
    """

    inputs: int
    spans: tuple[int, ...]
    tables: tuple[Floats, ...]

    @classmethod
    def from_channel(cls, channel: Hierarchical) -> TreeLaw:
        """Compute the tables of a channel's levels. All levels are equally likely."""
        levels = channel.levels
        tables = tuple(_table(level.channel) / len(levels) for level in levels)
        return cls(channel.inputs, tuple(level.span for level in levels), tables)

    def symbol_law(self, shares: Floats) -> Floats:
        """Return the probability of each symbol, shape (..., symbols), for shares of the inputs."""
        parts = [
            np.add.reduceat(shares, np.arange(0, self.inputs, span), axis=-1) @ table
            for span, table in zip(self.spans, self.tables, strict=True)
        ]
        return np.concatenate(parts, axis=-1)

    def expectations(self, scores: Floats, /) -> Floats:
        """Return the expected score of a report for each input, shape (..., inputs)."""
        expected = np.zeros((*scores.shape[:-1], self.inputs))
        for span, table, of_level in zip(self.spans, self.tables, self._by_level(scores), strict=True):
            expected += np.repeat(of_level @ table.T, span, axis=-1)[..., : self.inputs]
        return expected

    def _by_level(self, scores: Floats) -> Iterator[Floats]:
        first = 0
        for table in self.tables:
            last = first + table.shape[1]
            yield scores[..., first:last]
            first = last


@lru_cache(maxsize=REMEMBERED)
def law(channel: Hierarchical) -> TreeLaw:
    """Return the distribution of a channel's symbols."""
    return TreeLaw.from_channel(channel)


@lru_cache(maxsize=REMEMBERED)
def decoder(channel: Hierarchical) -> Decoder:
    """Return the unbiased scores of the symbols for the mean, and their expected squares."""
    tree = law(channel)
    inverse = TableInverse.from_law(tree.symbol_law(np.eye(channel.inputs)))
    scores = inverse.contrast(np.linspace(0.0, 1.0, channel.inputs))
    return Decoder(scores, tree.expectations(scores**2))


def _table(channel: LevelChannel) -> Floats:
    tables: Mapping[str, Callable[[Any], Floats]] = {KAryRandomizedResponse.name: _lies, CyclicDesign.name: _design}
    return tables[channel.name](channel)


def _lies(channel: KAryRandomizedResponse) -> Floats:
    nodes, keep = channel.inputs, channel.keep_numerator / COIN_SCALE
    lies: Floats = np.full((nodes, nodes), (1 - keep) / (nodes - 1))
    np.fill_diagonal(lies, keep)
    return lies


def _design(channel: CyclicDesign) -> Floats:
    nodes, keep = channel.inputs, channel.keep_numerator / COIN_SCALE
    holds = np.zeros((channel.base_blocks, nodes), dtype=np.bool_)
    for index, held in enumerate(holds):
        held[list(channel.base_block(index))] = True
    unshifted = (np.arange(nodes)[:, np.newaxis] - np.arange(nodes)) % nodes
    is_held = holds[:, unshifted].swapaxes(0, 1).reshape(nodes, -1)
    inside = keep / (channel.base_blocks * channel.block_size)
    outside = (1 - keep) / (channel.base_blocks * (nodes - channel.block_size))
    table: Floats = np.where(is_held, inside, outside)
    return table
