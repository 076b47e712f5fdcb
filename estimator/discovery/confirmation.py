"""What the groups that took no part in finding a text say of it.

Their reports that support the text's cells are added up. As groups are drawn independently of texts, the sum is
binomial, and the interval is the usual one. Hashes are public: a cell that two candidates share is seen, and counts for
neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from client_sdk.protocol.domain.text import Text
from estimator.discovery.candidates import CandidateText
from estimator.discovery.group_tables import GroupTables
from estimator.statistics.arrays import Counts, Floats
from estimator.statistics.binomial_intervals import clopper_pearson_lower
from estimator.statistics.chi_square import survival
from estimator.statistics.confidence import tail_of

UNLIKELY: Final = 0.001
"""Groups that disagree more than they do with this probability make a text unclear."""


@dataclass(frozen=True, slots=True, eq=False)
class Confirmation:
    """What the groups that may speak of each candidate say.

    Attributes:
        tables: what the groups said.
        cells: the cell of each candidate in each group, shape (candidates, groups).
        heard: whether a group may speak of a candidate, shape (candidates, groups).

    """

    tables: GroupTables
    cells: Counts
    heard: NDArray[np.bool_]

    @classmethod
    def of(cls, domain: Text, tables: GroupTables, candidates: Sequence[CandidateText]) -> Confirmation:
        """Collect what the groups say that hear all of a candidate and took no part in finding it."""
        groups = domain.groups(tables.cells)
        sizes, places = np.array([group.bits for group in groups]), np.arange(len(groups))
        ends = np.array([domain.bits_to_end(number) for number, _ in candidates], dtype=np.int64)
        found_by = np.array([found_by for _, found_by in candidates], dtype=np.int64)
        cells = np.array([domain.cells_of(number, tables.cells) for number, _ in candidates], dtype=np.int64)
        heard = (sizes >= ends[:, np.newaxis]) & (places >= found_by[:, np.newaxis])
        return cls(tables, cells.reshape(heard.shape), heard)

    def without_cells_of(self, others: NDArray[np.bool_]) -> Confirmation:
        """Return the same without what a group says of a cell that another one of some candidates shares.

        Args:
            others: whether each candidate is one of those, shape (candidates,).

        """
        crowds = np.array([np.bincount(cells[others], minlength=self.tables.cells)[cells] for cells in self.cells.T])
        return replace(self, heard=self.heard & (others[:, np.newaxis] == crowds.T))

    @property
    def supported(self) -> Counts:
        """How many reports of each group support each candidate's cell, shape (candidates, groups)."""
        places = np.arange(self.heard.shape[1])
        return np.where(self.heard, self.tables.supported[places, self.cells], 0)

    @property
    def reports(self) -> Counts:
        """How many reports may speak of each candidate, shape (candidates,)."""
        reports: Counts = self.heard @ self.tables.reports
        return reports

    @property
    def shares(self) -> Floats:
        """The unbiased share of each candidate; it means nothing if no report may speak of it."""
        return self.tables.shares(self.supported.sum(axis=1), np.maximum(1, self.reports))

    @property
    def standard_errors(self) -> Floats:
        """The standard error of each share."""
        errors = self.tables.support.standard_errors(self.supported.sum(axis=1), np.maximum(1, self.reports))
        widened: Floats = errors * self.tables.cells / (self.tables.cells - 1)
        return widened

    def intervals(self, family: int = 1) -> tuple[Floats, Floats]:
        """Return the ends of the shares' intervals, within 0..1."""
        supported, reports = self.supported.sum(axis=1)[:, np.newaxis], self.reports[:, np.newaxis]
        low, high = self.tables.support.intervals(supported, reports, family)
        ends = (np.clip(self.tables.without_others(end[:, 0]), 0.0, 1.0) for end in (low, high))
        return next(ends), next(ends)

    def exist(self) -> NDArray[np.bool_]:
        """Return whether each candidate has any share at all: with confidence, of the whole list at once.

        If it had none, reports would support its cell by chance.
        """
        supported, reports = self.supported.sum(axis=1), self.reports
        least = clopper_pearson_lower(supported, reports, tail_of(max(1, reports.size)))
        exist: NDArray[np.bool_] = (reports > 0) & (least > self.tables.by_chance)
        return exist

    def disagree(self) -> NDArray[np.bool_]:
        """Return whether the groups contradict each other about each candidate."""
        totals, reports = self.supported.sum(axis=1), self.reports
        frequency = totals / np.maximum(1, reports)
        expected = frequency[:, np.newaxis] * self.heard * self.tables.reports
        counts = self.heard & (expected > 0)
        deviation = np.where(counts, (self.supported - expected) ** 2, 0.0)
        variance = np.where(counts, expected * (1 - frequency[:, np.newaxis]), 1.0)
        statistics = (deviation / np.maximum(variance, np.finfo(float).tiny)).sum(axis=1)
        degrees = counts.sum(axis=1) - 1
        pairs = zip(statistics.tolist(), degrees.tolist(), strict=True)
        return np.array([of > 0 and survival(value, of) < UNLIKELY for value, of in pairs], dtype=bool)
