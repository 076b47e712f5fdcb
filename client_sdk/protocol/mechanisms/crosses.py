"""Crosses: one of several features, drawn by a coin, together with the label.

An input is a cell of each feature. A coin that does not depend on them draws a feature. Its cell is
reported by k-ary randomized response or a cyclic design, and the symbol shows the feature. A
mixture of channels with the same epsilon has that epsilon, for whole inputs, no matter in how many
features they differ. Drawing outside the channel, or choosing by the cells, would void this.

Source: Hierarchical histograms draw a level in the same way (Cormode, Kulkarni & Srivastava 2019,
"Answering range queries under local differential privacy", section 4).

A vector contains the products of all features, which share its noise: some d**2 numbers for d
coordinates. Crosses spend their reports on d features alone, and assume that they are independent
given the label. The more features there are, the more devices a vector needs, but it then learns
more. A cell of a third of a range has more reports than one of a sixth, but less information about
each value. Where the curves of each pair meet was measured on real data (docs/research/models.md).
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
    """The channel from a cell of each feature to a symbol of one feature.

    Attributes:
        cells: for each feature, its number of cells, at least 2.
        block_sizes: for each feature, the number of cells that a symbol represents; 1 for k-ary
            randomized response.
        base_blocks: for each feature; 1 for k-ary randomized response.
        keep_numerators: for each feature, the probability that the symbol represents the true cell,
            times 2**64.
        features: the same as channels.
        firsts: for each feature, its first symbol.

    """

    name: ClassVar[str] = "crosses"

    cells: tuple[int, ...]
    block_sizes: tuple[int, ...]
    base_blocks: tuple[int, ...]
    keep_numerators: tuple[int, ...]
    features: tuple[LevelChannel, ...] = field(init=False, repr=False, compare=False)
    firsts: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Lay out the features."""
        laws = zip(self.cells, self.block_sizes, self.base_blocks, self.keep_numerators, strict=True)
        features = tuple(level_channel(*law) for law in laws)
        object.__setattr__(self, "features", features)
        object.__setattr__(self, "firsts", tuple(accumulate((each.symbols for each in features[:-1]), initial=0)))

    @classmethod
    def build(cls, request: ChannelRequest) -> Crosses:
        """Return the channel for the cells of a model's features."""
        pairs: tuple[int, ...] = request.kind.pairs  # type: ignore[attr-defined] # no other kind has them
        return cls.within(request.epsilon, pairs)

    @classmethod
    def within(cls, epsilon: RequestedEpsilon, cells: Sequence[int]) -> Crosses:
        """Return the channel of features with these numbers of cells, within the request."""
        chosen = [designs.design_of_few_symbols(each, epsilon.odds) for each in cells]
        keeps = (
            CyclicDesign.within(epsilon, each, *design).keep_numerator
            for each, design in zip(cells, chosen, strict=True)
        )
        block_sizes, base_blocks = zip(*chosen, strict=True)
        return cls(tuple(cells), block_sizes, base_blocks, tuple(keeps))

    @property
    def inputs(self) -> int:
        """The number of features: an input is a tuple with one cell of each."""
        return len(self.cells)

    @property
    def symbols(self) -> int:
        """The number of symbols: those of each feature, one feature after the other."""
        return self.firsts[-1] + self.features[-1].symbols

    @property
    def integers(self) -> dict[str, int | tuple[int, ...]]:
        """The integers that define the law."""
        return {
            "cells": self.cells,
            "block_sizes": self.block_sizes,
            "base_blocks": self.base_blocks,
            "keep_numerators": self.keep_numerators,
        }

    @property
    def worst_ratio(self) -> Fraction:
        """The largest ratio of a feature: two inputs may differ in all of them."""
        return max(feature.worst_ratio for feature in self.features)

    def feature_of(self, symbol: int) -> tuple[int, int]:
        """Return the feature of a symbol, and the symbol of that feature's channel."""
        feature = bisect_right(self.firsts, symbol) - 1
        return feature, symbol - self.firsts[feature]

    def probability(self, symbol: int, given: Sequence[int]) -> Fraction:
        """Return P(symbol | given), for a cell of each feature."""
        feature, own = self.feature_of(symbol)
        return self.features[feature].probability(own, given[feature]) / self.inputs

    def perturb(self, value: Sequence[int], coins: Coins) -> int:
        """Return a symbol of a random feature, for a cell of each feature.

        The feature, and with it the number of coins, is drawn without looking at the value.
        """
        feature = coins.below(self.inputs)
        return self.firsts[feature] + self.features[feature].perturb(value[feature], coins)


BINS: Final = 6
"""The number of equal parts of a number's range when it is crossed with the label."""

FEW_BINS: Final = 3
"""The same if few reports are expected, so that smaller cells would have too few reports."""

FEW_FEATURES: Final = 10
"""With more features than this, each feature is drawn too rarely."""

DEVICES: Final = 1300
"""Times coordinates**3 / epsilon**2: the number of devices from which a vector learns more."""

FEW_REPORTS: Final = 4000
"""Per feature, over epsilon**2: with fewer, 3 cells of a number usually predict better than 6."""


def crosses_are_better(features: int, coordinates: int, odds: Fraction, population: int) -> bool:
    """Whether crosses are expected to predict better than a vector of products.

    Args:
        features: how many features there are.
        coordinates: how many coordinates they have.
        odds: e**epsilon.
        population: how many devices are expected to report.

    """
    return features <= FEW_FEATURES and population * ln_ceiling(odds) ** 2 < DEVICES * coordinates**3


def bins_for(features: int, odds: Fraction, population: int | None) -> int:
    """Return the number of equal parts into which crosses cut the range of a number.

    Args:
        features: how many features there are; each report describes one of them.
        odds: e**epsilon.
        population: how many devices are expected to report; None if it is not known.

    """
    few = population is not None and population * ln_ceiling(odds) ** 2 < FEW_REPORTS * features
    return FEW_BINS if few else BINS
