"""From the share of a text's cell to that of the text: what other texts add to it is taken off.

A text has the share f, and its cell the share s, of which other texts have a part. Of m listed
texts the cells are known to be others: a group in which they are not says nothing of the text.
Besides those m cells there are k = K - m, which hold R = 1 - (the sum of the listed cells' shares)
together. Any text that is not listed is in each of the K cells equally often. So on average the
text's cell has s = f + (1 - f - L) / K, if L is the share of the listed texts, and their cells have
L + m (1 - f - L) / K together. Hence k s - R is (k - 1) f on average, whatever f and L are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from estimator.statistics.arrays import Counts, Floats
from estimator.statistics.confidence import z_of


class RestOfCells(NamedTuple):
    """The cells that are not known to be of other texts, of each text.

    Attributes:
        cells: how many there are, k, at least 2; shape (texts,).
        share: R, what they hold together, shape (texts,).
        error: the standard error of that, shape (texts,).

    """

    cells: Counts
    share: Floats
    error: Floats

    @classmethod
    def of(cls, cells: int, in_cells: Floats, errors: Floats, listed: NDArray[np.bool_]) -> RestOfCells:
        """Leave out the cells of all listed texts but the text's own.

        Args:
            cells: K, of a group.
            in_cells: the share of each text's cell, shape (texts,).
            errors: the standard error of each, taken to be independent of the others', shape
                (texts,).
            listed: whether each text is one of those whose cells are left out, shape (texts,).

        """
        shares, variances = in_cells * listed, errors**2 * listed
        return cls(
            np.maximum(2, cells - listed.sum() + listed),
            1 - shares.sum() + shares,
            np.sqrt(np.maximum(0, variances.sum() - variances)),
        )

    def shares(self, in_cells: Floats) -> Floats:
        """Return the unbiased share of each text from that of its cell."""
        shares: Floats = (self.cells * in_cells - self.share) / (self.cells - 1)
        return shares

    def standard_errors(self, errors: Floats) -> Floats:
        """Return the standard error of each share from that of the cell's."""
        combined: Floats = np.hypot(self.cells * errors, self.error) / (self.cells - 1)
        return combined

    def intervals(self, in_cells: Floats, ends: tuple[Floats, Floats], family: int) -> tuple[Floats, Floats]:
        """Return the ends of the shares' intervals from those of the cells', within 0..1.

        The distances of both errors are combined (Zou & Donner 2008).
        """
        shares, of_rest = self.shares(in_cells), z_of(family) * self.error
        lower, upper = (np.hypot(self.cells * (end - in_cells), of_rest) / (self.cells - 1) for end in ends)
        return np.clip(shares - lower, 0.0, 1.0), np.clip(shares + upper, 0.0, 1.0)
