"""The far tails of the errors of texts' shares, for tests among many texts.

A reported symbol supports some of the cells to which texts are hashed. The estimated share of a
text is a linear function of a count: the number of reports that support the text's cells. If people
are sampled independently, this count is binomial (`estimator.discovery.texts`). If many texts are
tested together, a change is significant only if it is many standard errors from 0. So far from the
center, a binomial distribution can have heavier tails than a normal one.

This module computes by how much errors must be widened for this reason: the distance from an
estimate to its exact limit (Clopper & Pearson 1934), divided by the distance to its normal limit.
Both limits are computed with the small error probability that each of all the tests may have. At
the smaller distances that matter if fewer texts are tested, the ratio is smaller, because the
effect of skewness grows with the distance. The widened errors are then larger than necessary.
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
"""The number of shares from 0 to 1 for which `TextTails.widenings` computes ratios of distances."""

_STEPS: Final = 4
"""The number of steps per doubling to which numbers of reports are rounded down. Even a million
texts then have only a few different numbers. Rounding down is safe, because tails are heavier with
fewer reports.
"""


class TextTails(NamedTuple):
    """The tails of the distribution of the number of reports that support a text.

    Attributes:
        support: the probabilities that a report supports a cell of the sender's texts, and that it
            supports any other particular cell.
        cells: the number of cells of each group of devices.

    """

    support: Support
    cells: int

    @classmethod
    def from_channel(cls, channel: GroupedGeometry) -> TextTails:
        """Return the tails for a question about texts, given its channel."""
        return cls(cell_support(channel).support, channel.inputs)

    def reports(self, shares: Floats, errors: Floats) -> Floats:
        """Return the number of reports that were used for each text, at least 1.

        The number is computed from the standard error: it is the number of reports that would cause
        this error. The standard error includes the errors of other texts' shares, which are
        subtracted from the text's share. The result is therefore at most the actual number.

        Args:
            shares: the estimated share of each text.
            errors: the standard error of each share.

        """
        of_text = np.clip(shares, 0.0, 1.0)
        frequency = self._frequencies(of_text + (1 - of_text) / self.cells)
        scale = float(self.support.slope)
        reports: Floats = np.maximum(1.0, np.floor(scale**2 * frequency * (1 - frequency) / errors**2))
        return reports

    def widenings(self, reports: Floats, family: int) -> Floats:
        """Return the factor by which the error of each text's share must be widened, at least 1.

        The factor is the distance from an estimate to its exact limit, divided by the distance to
        its normal limit. It is computed for several shares from 0 to 1 and for both limits, and the
        largest result is returned.

        Args:
            reports: the number of reports that were used for each text.
            family: the number of comparisons that are tested together.

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
        """Return the probability that a report supports a cell, for each share of the cell."""
        return self.support.symbol_law(of_cells)
