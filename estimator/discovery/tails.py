"""The tails of the errors of texts' estimated shares, when many texts are tested together.

The estimated share of a text is a linear function of the number of reports that support the text's
cells. This number is binomial (`estimator.discovery.texts`). If many texts are tested together, a
change is significant only if it is many standard errors from 0. At this distance from 0, a binomial
distribution can have heavier tails than a normal distribution.

This module computes factors for widening the errors. A factor is the distance from an estimate to
its exact limit (Clopper & Pearson 1934), divided by the distance to its normal limit. Both limits
use the small error probability that each of the many tests is allowed. With fewer tests, the limits
are closer to the estimate, and the ratio is smaller, because skewness matters less.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from client_sdk.protocol.mechanisms.grouped_geometry import GroupedGeometry
from estimator.decoders.grouped_geometry import cell_support
from estimator.decoders.support import Support
from estimator.statistics.arrays import Floats
from estimator.statistics.confidence import binomial_chance, tail_of, z_of

_POINTS: Final = 65
"""The number of shares, from 0 to 1, for which `TextTails.widenings` computes ratios."""

_STEPS: Final = 4
"""Numbers of reports are rounded down to a grid with `_STEPS` points per doubling.

Even for a million texts, only a few different numbers of reports then occur. Rounding down is safe,
because the tails are heavier with fewer reports.
"""


class TextTails(NamedTuple):
    """The tails of the number of reports that support a text.

    Attributes:
        support: the probability that a report supports a cell of the sender's texts, and the
            probability that the report supports any particular other cell.
        cells: the number of cells in each group of devices.
    """

    support: Support
    cells: int

    @classmethod
    def from_channel(cls, channel: GroupedGeometry) -> TextTails:
        """Return the tails for a metric of texts."""
        return cls(cell_support(channel).support, channel.inputs)

    def reports(self, shares: Floats, errors: Floats) -> Floats:
        """Return a lower bound on the number of reports used for each text.

        The bound is never below 1.

        The bound is computed from the standard error. The standard error includes the errors of
        other texts' shares, so the result is at most the actual number.
        """
        of_text = np.clip(shares, 0.0, 1.0)
        frequency = self._frequencies(of_text + (1 - of_text) / self.cells)
        scale = float(self.support.slope)
        reports: Floats = np.maximum(1.0, np.floor(scale**2 * frequency * (1 - frequency) / errors**2))
        return reports

    def widenings(self, reports: Floats, family: int) -> Floats:
        """Return the factor for widening the error of each text's share. No factor is below 1.

        The factor is the ratio of the exact distance to the normal distance. The result is the
        largest such ratio for both limits and for several shares from 0 to 1. ``family`` is the
        number of comparisons that are tested together.
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
        return self.support.symbol_law(of_cells)
