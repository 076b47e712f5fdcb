"""Crosses: a report describes the label and one feature, which is randomly drawn.

An input is a tuple with one cell for each feature. A coin that does not depend on the cells draws a
feature. The cell of this feature is reported by k-ary randomized response or a cyclic design, and
the symbol reveals the feature. A mixture of channels with the same epsilon has the same epsilon.
The epsilon is valid for any two inputs, even if they differ in all features, because the draw of
the feature does not depend on the cells.

Source: Hierarchical histograms draw a level in the same way (Cormode, Kulkarni & Srivastava 2019,
"Answering range queries under local differential privacy", section 4).

The alternative is a vector of the products of all features. For d coordinates, the vector has about
d**2 numbers, each with as much noise as the whole vector. Crosses estimate only the relation of
each feature to the label, and assume that features are independent given the label. A vector learns
more, but with more features it needs more devices. There is a similar choice for cells: a third of
a range gets more reports than a sixth, but says less about each value. docs/research/models.md
contains measurements, on real data, of the number of devices at which one choice becomes better
than the other.
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
        base_blocks: for each feature, the number of base blocks; 1 for k-ary randomized response.
        keep_numerators: for each feature, the probability that the symbol represents the true cell,
            times 2**64.
        features: for each feature, its channel; derived.
        firsts: for each feature, the first of its symbols; derived.

    """

    name: ClassVar[str] = "crosses"

    cells: tuple[int, ...]
    block_sizes: tuple[int, ...]
    base_blocks: tuple[int, ...]
    keep_numerators: tuple[int, ...]
    features: tuple[LevelChannel, ...] = field(init=False, repr=False, compare=False)
    firsts: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Derive the channels and the first symbols of the features."""
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
        """Return the channel within an epsilon, for features with these numbers of cells."""
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
        """The number of symbols of all features, which are numbered feature by feature."""
        return self.firsts[-1] + self.features[-1].symbols

    @property
    def integers(self) -> dict[str, int | tuple[int, ...]]:
        """The integers that define the channel."""
        return {
            "cells": self.cells,
            "block_sizes": self.block_sizes,
            "base_blocks": self.base_blocks,
            "keep_numerators": self.keep_numerators,
        }

    @property
    def worst_ratio(self) -> Fraction:
        """The largest ratio for a feature, because two inputs may differ in all features."""
        return max(feature.worst_ratio for feature in self.features)

    def feature_of(self, symbol: int) -> tuple[int, int]:
        """Return the feature of a symbol, and the symbol within that feature's channel."""
        feature = bisect_right(self.firsts, symbol) - 1
        return feature, symbol - self.firsts[feature]

    def probability(self, symbol: int, given: Sequence[int]) -> Fraction:
        """Return P(symbol | given), where ``given`` has a cell for each feature."""
        feature, own = self.feature_of(symbol)
        return self.features[feature].probability(own, given[feature]) / self.inputs

    def perturb(self, value: Sequence[int], coins: Coins) -> int:
        """Return a symbol of a random feature; ``value`` has a cell for each feature.

        The draw of the feature does not depend on the value, although it affects the number of
        coins.
        """
        feature = coins.below(self.inputs)
        return self.firsts[feature] + self.features[feature].perturb(value[feature], coins)


BINS: Final = 6
"""The number of equal parts of a number's range, each of which is combined with the label."""

FEW_BINS: Final = 3
"""The number of parts if few reports are expected. Smaller parts would get too few reports."""

FEW_FEATURES: Final = 10
"""The maximum number of features for crosses. With more, each feature would be drawn too rarely."""

DEVICES: Final = 1300
"""A vector predicts better if at least DEVICES * coordinates**3 / epsilon**2 devices report."""

FEW_REPORTS: Final = 4000
"""If fewer than FEW_REPORTS * features / epsilon**2 devices report, 3 cells usually beat 6."""


def crosses_are_better(features: int, coordinates: int, odds: Fraction, population: int) -> bool:
    """Whether crosses are expected to predict better than a vector of products.

    Args:
        features: the number of features.
        coordinates: the number of coordinates of all features.
        odds: e**epsilon.
        population: the expected number of reporting devices.

    """
    return features <= FEW_FEATURES and population * ln_ceiling(odds) ** 2 < DEVICES * coordinates**3


def bins_for(features: int, odds: Fraction, population: int | None) -> int:
    """Return the number of equal parts into which crosses divide the range of a number.

    Args:
        features: the number of features; each report describes one of them.
        odds: e**epsilon.
        population: the expected number of reporting devices; None if unknown.

    """
    few = population is not None and population * ln_ceiling(odds) ** 2 < FEW_REPORTS * features
    return FEW_BINS if few else BINS
