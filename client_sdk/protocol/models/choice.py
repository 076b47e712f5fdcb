"""When crosses learn more than one vector of products, and into how many parts they cut a number.

A vector holds the products of all features, and its noise is shared by them: some d**2 numbers of d
coordinates. Crosses spend their reports on d features alone, and take them to be independent given
the label. So the vector needs the more devices the more features there are, and then knows more. A
cell of a third of a range has more reports than one of a sixth, and says less of each value. Where
each two meet was measured on real data (docs/research/models.md).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from client_sdk.protocol.exact import ln_ceiling

BINS: Final = 6
"""The number of even parts of a number's range where it is crossed with the label."""

FEW_BINS: Final = 3
"""The same where few reports are expected, of which each cell has too few of its own."""

FEW_FEATURES: Final = 10
"""With more features than this a drawn one is seen too rarely."""

DEVICES: Final = 1300
"""Times coordinates**3 / epsilon**2: the devices from which a vector learns more."""

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
    """Return into how many even parts crosses cut the range of a number.

    Args:
        features: how many features there are, of which each report speaks of one.
        odds: e**epsilon.
        population: how many devices are expected to report; None if it is not known.

    """
    few = population is not None and population * ln_ceiling(odds) ** 2 < FEW_REPORTS * features
    return FEW_BINS if few else BINS
