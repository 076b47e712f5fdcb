"""Crosses: a device reports the label and one randomly drawn feature of a model.

A model predicts a yes-or-no label from features. The values of each feature are divided into parts.
A *cell* of a feature is a pair of a part and a label. For example, a feature with 3 parts has 6
cells.

An input is a tuple with one cell for each feature. The device draws a feature, independently of the
cells. Then the device reports the cell of the drawn feature, by k-ary randomized response or a
cyclic design. The symbol reveals the drawn feature. The channels of all features have the same
epsilon. The whole channel has this epsilon, too, because the draw of the feature does not depend on
the cells.

The alternative is to perturb a vector of products: the products of the label and each feature, and
of every two features. The vector contains more information, but its additional numbers add noise.
``docs/research/models.md`` measures for which models a vector predicts the label better.

Source: Cormode, Kulkarni & Srivastava 2019, "Answering range queries under local differential
privacy", section 4 (hierarchical histograms, which draw a level).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING, ClassVar, Final

from client_sdk.protocol.channel import Channel, Coins
from client_sdk.protocol.epsilon import ln_ceiling
from client_sdk.protocol.mechanisms import designs
from client_sdk.protocol.mechanisms.cyclic_design import CyclicDesign
from client_sdk.protocol.mechanisms.hierarchical import LevelChannel, level_channel
from client_sdk.protocol.requested_epsilon import RequestedEpsilon

if TYPE_CHECKING:
    from client_sdk.protocol.mechanisms.catalogue import ChannelRequest


@dataclass(frozen=True, slots=True)
class Crosses(Channel):
    """The channel that reports about one feature, given the cells of all features.

    Each attribute is a tuple with one item for each feature. For k-ary randomized response, the
    block size and the number of base blocks are 1.

    Attributes:
        cells: the number of cells, at least 2.
        block_sizes: the number of cells that a symbol represents.
        base_blocks: the number of base blocks of the cyclic design.
        keep_numerators: the probability that the symbol represents the true cell, times 2**64.
        features: the channel that perturbs the feature's cell. Computed from the attributes above.
        firsts: the feature's first symbol. Computed from the attributes above.
    """

    name: ClassVar[str] = "crosses"

    cells: tuple[int, ...]
    block_sizes: tuple[int, ...]
    base_blocks: tuple[int, ...]
    keep_numerators: tuple[int, ...]
    features: tuple[LevelChannel, ...] = field(init=False, repr=False, compare=False)
    firsts: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        laws = zip(self.cells, self.block_sizes, self.base_blocks, self.keep_numerators, strict=True)
        features = tuple(level_channel(*law) for law in laws)
        object.__setattr__(self, "features", features)
        object.__setattr__(self, "firsts", tuple(accumulate((each.symbols for each in features[:-1]), initial=0)))

    @classmethod
    def build(cls, request: ChannelRequest) -> Crosses:
        """Return the channel for a request about a model."""
        pairs: tuple[int, ...] = request.kind.pairs  # type: ignore[attr-defined] # no other kind has pairs
        return cls.within(request.epsilon, pairs)

    @classmethod
    def within(cls, epsilon: RequestedEpsilon, cells: Sequence[int]) -> Crosses:
        """Return the channel with at most this epsilon, given each feature's number of cells."""
        chosen = [designs.design_of_few_symbols(each, epsilon.odds) for each in cells]
        keeps = (
            CyclicDesign.within(epsilon, each, *design).keep_numerator
            for each, design in zip(cells, chosen, strict=True)
        )
        block_sizes, base_blocks = zip(*chosen, strict=True)
        return cls(tuple(cells), block_sizes, base_blocks, tuple(keeps))

    @property
    def inputs(self) -> int:
        """The number of features. An input is a tuple with one cell of each feature."""
        return len(self.cells)

    @property
    def symbols(self) -> int:
        """The number of symbols of all features. Symbols are numbered feature by feature."""
        return self.firsts[-1] + self.features[-1].symbols

    @property
    def integers(self) -> dict[str, int | tuple[int, ...]]:
        """The integers that define the channel, keyed by name."""
        return {
            "cells": self.cells,
            "block_sizes": self.block_sizes,
            "base_blocks": self.base_blocks,
            "keep_numerators": self.keep_numerators,
        }

    @property
    def worst_ratio(self) -> Fraction:
        """The largest `worst_ratio` of all features' channels."""
        return max(feature.worst_ratio for feature in self.features)

    def feature_of(self, symbol: int) -> tuple[int, int]:
        """Return the index of a symbol's feature, and the symbol's number within this feature."""
        feature = bisect_right(self.firsts, symbol) - 1
        return feature, symbol - self.firsts[feature]

    def probability(self, symbol: int, given: Sequence[int]) -> Fraction:
        """Return P(symbol | given), where ``given`` has a cell for each feature."""
        feature, own = self.feature_of(symbol)
        return self.features[feature].probability(own, given[feature]) / self.inputs

    def perturb(self, value: Sequence[int], coins: Coins) -> int:
        """Return a symbol for a randomly drawn feature; ``value`` has a cell for each feature.

        The draw of the feature does not depend on ``value``. The number of random bits that are
        then consumed may depend on the drawn feature, because the symbol reveals the feature
        anyway.
        """
        feature = coins.below(self.inputs)
        return self.firsts[feature] + self.features[feature].perturb(value[feature], coins)


BINS: Final = 6
"""The default number of equal parts into which a number's range is divided."""

FEW_BINS: Final = 3
"""The number of equal parts into which a number's range is divided if few reports are expected."""

FEW_FEATURES: Final = 10
"""The maximum number of features for which ``auto`` chooses crosses. With more features, each
feature is drawn too rarely."""

DEVICES: Final = 1300
"""A vector of products predicts better than crosses if at least DEVICES * coordinates**3 /
epsilon**2 devices report. `crosses_are_better` explains ``coordinates``."""

FEW_REPORTS: Final = 4000
"""With fewer than FEW_REPORTS * features / epsilon**2 devices, 3 parts per range usually predict
the label better than 6."""


def crosses_are_better(features: int, coordinates: int, odds: Fraction, population: int) -> bool:
    """Whether crosses are expected to predict the label better than a vector of products.

    ``coordinates`` is a sum over the features: 1 for each number, and m - 1 for each choice of m
    values. ``odds`` is e**epsilon, and ``population`` is the expected number of reporting devices.
    """
    return features <= FEW_FEATURES and population * ln_ceiling(odds) ** 2 < DEVICES * coordinates**3


def bins_for(features: int, odds: Fraction, population: int | None) -> int:
    """Return the number of equal parts into which crosses divide the range of a number."""
    few = population is not None and population * ln_ceiling(odds) ** 2 < FEW_REPORTS * features
    return FEW_BINS if few else BINS
