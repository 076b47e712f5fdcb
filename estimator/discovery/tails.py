"""The far tails of the errors of texts' shares, for tests among many texts.

A text's share is a linear function of a count: the number of reports that support the text's cells.
For independently sampled people, this count is binomial (`estimator.discovery.texts`). Among many
texts, a change is significant only if it is many standard errors from 0, and there, a binomial tail
can be heavier than a normal one. The distance to an exact bound (Clopper & Pearson 1934) with the
error probability of the whole family is therefore divided by the normal distance. Nearer to the
center, the ratio is smaller, because skewness affects the bound in proportion to the distance.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from client_sdk.protocol.mechanisms.grouped_geometry import GroupedGeometry
from client_sdk.protocol.text import Text
from estimator.decoders.inversions import inverse_of
from estimator.decoders.support import Balanced, Support
from estimator.statistics.arrays import Floats
from estimator.statistics.confidence import binomial_chance, tail_of, z_of

_POINTS: Final = 65
"""The number of shares, evenly spaced from 0 to 1, for which the tail is computed."""

_STEPS: Final = 4
"""Numbers of reports are rounded down to a quarter of a power of two. A million texts then have few
different numbers, and fewer reports have heavier tails.
"""


class TextTails(NamedTuple):
    """The tails of the count of reports that support a text.

    Attributes:
        support: the probabilities that a report supports the sender's text, and another cell.
        cells: the number of cells of each group.
        most: the maximum number of texts in an answer.

    """

    support: Support
    cells: int
    most: int

    @classmethod
    def from_channel(cls, kind: Text, channel: GroupedGeometry) -> TextTails:
        """Return the tails for a question about texts."""
        inverse = inverse_of(channel.geometry)
        assert isinstance(inverse, Balanced)  # noqa: S101 true for every geometry
        return cls(inverse.support, channel.inputs, kind.max_items)

    def reports(self, shares: Floats, errors: Floats) -> Floats:
        """Return the number of reports that were used for each text, at least 1.

        This number follows from the standard error. The error of other texts' shares is counted as
        if it came from fewer reports.
        """
        of_text = np.clip(shares / self.most, 0.0, 1.0)
        frequency = self._frequencies(of_text + (1 - of_text) / self.cells)
        scale = self.most * float(self.support.slope)
        reports: Floats = np.maximum(1.0, np.floor(scale**2 * frequency * (1 - frequency) / errors**2))
        return reports

    def widenings(self, reports: Floats, family: int) -> Floats:
        """Return the ratio of exact to normal distances, for the share with the heaviest tail.

        Args:
            reports: the number of reports that were used for each text.
            family: the number of figures that are tested together.

        """
        rounded, places = np.unique(np.floor(_STEPS * np.log2(reports)), return_inverse=True)
        distinct = np.maximum(1, (2 ** (rounded / _STEPS)).astype(np.int64))[:, np.newaxis]
        frequencies = self._frequencies(np.linspace(0.0, 1.0, _POINTS))
        counts = np.rint(distinct * frequencies).astype(np.int64)
        at, tail = counts / distinct, tail_of(family)
        down = at - binomial_chance(counts, distinct, tail)
        up = 1 - binomial_chance(distinct - counts, distinct, tail) - at
        normal = z_of(family) * np.sqrt(frequencies * (1 - frequencies) / distinct)
        ratios: Floats = np.maximum(1.0, np.maximum(down, up) / normal).max(axis=1)[places].reshape(reports.shape)
        return ratios

    def _frequencies(self, of_cells: Floats) -> Floats:
        """Return the probability that a report supports a cell, for each share of a cell."""
        return self.support.symbol_law(of_cells)
