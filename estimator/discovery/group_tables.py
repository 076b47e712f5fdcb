"""What each group of devices said of each of its cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from client_sdk.protocol.texts.grouped_geometry import GroupedGeometry
from estimator.decoders.inversions import inverse_of
from estimator.decoders.support import Balanced, Support
from estimator.statistics.arrays import Counts


@dataclass(frozen=True, slots=True, eq=False)
class GroupTables:
    """The tally of a grouped geometry, inverted group by group.

    Attributes:
        reports: of each group, shape (groups,).
        supported: how many reports of each group support each cell, shape (groups, cells).
        support: the two probabilities of support.

    """

    reports: Counts
    supported: Counts
    support: Support

    @classmethod
    def of(cls, channel: GroupedGeometry, counts: Counts) -> GroupTables:
        """Invert a tally of shape (symbols,)."""
        inverse = inverse_of(channel.geometry)
        assert isinstance(inverse, Balanced)  # noqa: S101 of every geometry
        by_group = counts.reshape(len(channel.weights), channel.inputs)
        # one by one: the transforms of all groups at once would take ten times the memory
        supported = np.array([inverse.support_counts(of_group) for of_group in by_group])
        return cls(by_group.sum(axis=1), supported, inverse.support)

    @property
    def cells(self) -> int:
        """The number of cells of each group, K."""
        return int(self.supported.shape[1])

    @property
    def by_chance(self) -> float:
        """The probability that a report supports the cell of a text that nobody has."""
        return float(self.support.other + (self.support.own - self.support.other) / self.cells)
