"""The shares of texts in a tally: texts that a search finds, or that an analyst requests.

The groups that confirm a text are different from the groups that found the text. In the confirming
groups, the reports that support the text's cells are counted. Devices draw their groups
independently of their texts, so this count is binomial. The hash functions are public, so the cells
that two candidates share are known. The reports that support a shared cell count for neither
candidate.

The share of a text's cell includes the shares of unlisted texts in the same cell. These shares must
be subtracted. Unlisted texts are in every cell equally often. If answers are lists, every pair of
texts in a list also biases the estimates of all other cells, on average by the same amount (see
`client_sdk.protocol.mechanisms.grouped_geometry`).

A *dummy* is a cell that fills up short lists. Let k be the number of a group's cells that are not
dummies and contain no *other* listed text. One of these cells is the text's own. Let s be the share
of the text's cell, and R the total share of the k cells. R is known, because the shares of all
cells have a fixed sum. On average, s exceeds the share of each of the other k - 1 cells by the
share f of the text. The estimate of f is thus s - (R - s) / (k - 1) = (k s - R) / (k - 1).

If an answer is one text, this estimate is unbiased. In a list of up to m texts, two texts in the
same cell count once. The relative error of f is then at most m divided by the number of cells.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from client_sdk.protocol.mechanisms.grouped_geometry import CONFIRMING
from client_sdk.protocol.text import Text
from estimator.discovery.prefix_search import CandidateText, GroupTables, TextNumbers, candidates_of
from estimator.results.estimate import Figures
from estimator.statistics.arrays import Counts, Floats
from estimator.statistics.confidence import binomial_tail, chi_square_tail, tail_of, z_of

UNLIKELY: Final = 0.001
"""The significance level for a contradiction. Groups contradict each other about a text's share if
a test has a p-value below this level.
"""

LEAST_DEVIATION: Final = 1.5
"""The minimum support of a tested candidate, in standard errors above chance."""


@dataclass(frozen=True, slots=True)
class Texts:
    """The shares of the found or requested texts of a tally.

    Attributes:
        shares: the share of each text. Found texts are sorted by share, the most common first.
        unclear: the texts about which groups contradict each other, and the requested texts that no
            group can confirm. ``shares`` contains an unclear text only if an analyst requested the
            text and at least one group can confirm the text.
        candidates: the number of tested texts.
        certain: the number of texts that at least one person has, with a joint confidence of 95%.
        sharing: the requested texts that share a cell with another requested text in some group.
    """

    shares: Figures
    unclear: tuple[str, ...]
    candidates: int
    certain: int
    sharing: tuple[str, ...] = ()


def discover(kind: Text, tables: GroupTables, *, simultaneous: bool = False) -> Texts:
    """Find texts in a tally, and return the confirmed texts.

    With a probability of 95%, every returned text is the answer of at least one person. The only
    exceptions are texts that share their cell with another text in every confirming group. The
    metric must have ``discover = true``.
    """
    candidates = candidates_of(kind, tables)
    confirmation = _confirmed(Confirmation.from_tables(kind, tables, candidates))
    exist = confirmation.exist()
    disagree = confirmation.disagree(exist)
    confirmed = np.flatnonzero(exist & ~disagree)
    by_share = confirmed[np.argsort(-confirmation.shares[confirmed], kind="stable")]
    labels = [kind.label_of(candidates[place].number) for place in by_share]
    unclear = tuple(kind.label_of(candidates[place].number) for place in np.flatnonzero(exist & disagree))
    shares = _shares(confirmation, by_share, labels, len(candidates) if simultaneous else 1)
    return Texts(shares, unclear, len(candidates), len(confirmed))


def confirm(kind: Text, tables: GroupTables, texts: Iterable[str], *, simultaneous: bool = False) -> Texts:
    """Return the share of each text that an analyst requests, in the given order.

    Texts that are equal after truncation count as one text. A group is used for a text if the group
    reports on the whole text. A group is not used if the text shares its cell in this group with
    another requested text that clearly exists. If no group can be used, the text is unclear and has
    no share.

    Raises:
        DomainError: if a text has a letter that the metric does not allow.
    """
    numbers = dict.fromkeys(map(kind.number_of, texts))
    named = [CandidateText(number, 0, tail_of(len(numbers))) for number in numbers]
    labels = [kind.label_of(number) for number in numbers]
    if not tables.reports.any():
        return Texts(Figures.unknown(labels), (), len(named), 0)
    of_all_groups = Confirmation.from_tables(kind, tables, named)
    confirmation = _confirmed(of_all_groups)
    received = np.flatnonzero(confirmation.reports > 0)
    shares = _shares(confirmation, received, [labels[place] for place in received], len(named) if simultaneous else 1)
    unclear = confirmation.disagree(np.ones(len(named), dtype=bool)) | (confirmation.reports == 0)
    certain = int((confirmation.exist() & ~unclear).sum())
    sharing = np.flatnonzero(~of_all_groups.alone())
    return Texts(
        shares,
        tuple(labels[place] for place in np.flatnonzero(unclear)),
        len(named),
        certain,
        tuple(labels[place] for place in sharing),
    )


def _confirmed(confirmation: Confirmation) -> Confirmation:
    """Leave out the cells that a candidate shares with clearly existing candidates.

    Cells shared with other candidates are kept, because in a long list, every cell is shared with
    some candidate.
    """
    exist = confirmation.exist()
    return confirmation.without_cells_of(exist & ~confirmation.disagree(exist))


def _shares(confirmation: Confirmation, places: NDArray[np.int64], labels: list[str], family: int) -> Figures:
    lows, highs = (ends[places] for ends in confirmation.intervals(family))
    return Figures(tuple(labels), lows, highs, confirmation.shares[places], confirmation.standard_errors[places])


class RestOfCells(NamedTuple):
    """For each text, the cells of a group that are not dummies and contain no other listed text.

    Attributes:
        cells: k, the number of these cells, at least 2; shape (texts,).
        share: R, the total share of these cells, shape (texts,).
        error: the standard error of R, shape (texts,).
    """

    cells: Counts
    share: Floats
    error: Floats

    @classmethod
    def from_cells(cls, every: RestOfCells, in_cells: Floats, errors: Floats, listed: NDArray[np.bool_]) -> RestOfCells:
        """For each text, leave out the cells of all other listed texts.

        Args:
            every: all cells of a group except the dummies. The fields of ``every`` have shape ().
            in_cells: the share of each text's cell, shape (texts,).
            errors: the standard error of each cell's share, shape (texts,). The errors are assumed
                to be independent.
            listed: whether each text is listed, shape (texts,).
        """
        shares, variances = in_cells * listed, errors**2 * listed
        return cls(
            np.maximum(2, every.cells - listed.sum() + listed),
            every.share - shares.sum() + shares,
            np.sqrt(every.error**2 + np.maximum(0, variances.sum() - variances)),
        )

    def shares(self, in_cells: Floats) -> Floats:
        """Return the unbiased share of each text, from the share of its cell."""
        shares: Floats = (self.cells * in_cells - self.share) / (self.cells - 1)
        return shares

    def standard_errors(self, errors: Floats) -> Floats:
        """Return the standard errors of the texts' shares, from the errors of the cells' shares."""
        combined: Floats = np.hypot(self.cells * errors, self.error) / (self.cells - 1)
        return combined

    def intervals(self, in_cells: Floats, ends: tuple[Floats, Floats], family: int) -> tuple[Floats, Floats]:
        """Return the ends of the intervals of the texts' shares. All ends are from 0 to 1.

        The interval of the cell's share is combined with the interval of R (Zou & Donner 2008). If
        the cell's interval begins at 0, the text's interval also begins at 0.
        """
        shares, of_rest = self.shares(in_cells), z_of(family) * self.error
        lower, upper = (np.hypot(self.cells * (end - in_cells), of_rest) / (self.cells - 1) for end in ends)
        return np.where(ends[0] > 0, np.clip(shares - lower, 0.0, 1.0), 0.0), np.clip(shares + upper, 0.0, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class Confirmation:
    """The reports of the groups that confirm each candidate.

    Groups are processed one by one. Arrays of all candidates and groups would take ten times the
    memory.

    Attributes:
        tables: the tally of each group's reports.
        cells: the cell of each candidate in each group, shape (candidates, groups).
        received: whether a group is used for a candidate, shape (candidates, groups).
        risks: the maximum probability that noise confirms each candidate, shape (candidates,).
        listed: whether a candidate's cells are left out for other candidates, shape (candidates,).
    """

    tables: GroupTables
    cells: NDArray[np.int32]
    received: NDArray[np.bool_]
    risks: Floats
    listed: NDArray[np.bool_]

    @classmethod
    def from_tables(cls, domain: Text, tables: GroupTables, candidates: Sequence[CandidateText]) -> Confirmation:
        """Select the groups that can confirm each candidate.

        These groups report on the whole text, and were not used to find the candidate.
        """
        groups = domain.groups(tables.law.points)
        sizes, places = np.array([group.bits for group in groups]), np.arange(len(groups))
        numbers = TextNumbers.from_numbers(domain, [each.number for each in candidates])
        found_by = np.array([each.found_by for each in candidates], dtype=np.int64)
        received = (sizes >= numbers.bits_to_end()[:, np.newaxis]) & (places >= found_by[:, np.newaxis])
        cells = np.empty(received.shape, np.int32)
        for place, group in enumerate(groups):
            cells[:, place] = numbers.hashed(group) % tables.law.cells
        risks, listed = np.array([each.risk for each in candidates]), np.zeros(len(candidates), dtype=bool)
        return cls(tables, cells, received, risks, listed)

    def without_cells_of(self, others: NDArray[np.bool_]) -> Confirmation:
        """Return a confirmation in which no candidate uses a cell that it shares with ``others``.

        Args:
            others: whether each candidate's cells are left out for all other candidates, shape
                (candidates,).
        """
        alone = [np.bincount(cells[others], minlength=self.tables.law.cells)[cells] == others for cells in self.cells.T]
        return replace(self, received=self.received & np.column_stack(alone), listed=others)

    def alone(self) -> NDArray[np.bool_]:
        """Return, for each candidate, whether it shares none of its used cells."""
        alone = np.ones(len(self.cells), dtype=bool)
        for cells, received in zip(self.cells.T, self.received.T, strict=True):
            alone &= (np.bincount(cells, minlength=self.tables.law.cells)[cells] == 1) | ~received
        return alone

    @property
    def supported(self) -> Counts:
        """The number of reports that support each candidate, shape (candidates,).

        The reports in groups that are not used for the candidate are left out.
        """
        return _sum(self._supported(np.ones(len(self.cells), dtype=bool)))

    @property
    def reports(self) -> Counts:
        """The number of reports used for each candidate, shape (candidates,)."""
        return _sum(received * reports for received, reports in zip(self.received.T, self.tables.reports, strict=True))

    @property
    def shares(self) -> Floats:
        """The unbiased share of each candidate. If `reports` is 0, the share is meaningless."""
        return self._rest.shares(self._in_cells)

    @property
    def standard_errors(self) -> Floats:
        """The standard error of each candidate's share, shape (candidates,)."""
        return self._rest.standard_errors(self._errors)

    def intervals(self, family: int = 1) -> tuple[Floats, Floats]:
        """Return the ends of the shares' intervals, within 0..1."""
        supported, reports = self.supported[:, np.newaxis], self.reports[:, np.newaxis]
        low, high = self.tables.law.support.intervals(supported, reports, family)
        return self._rest.intervals(self._in_cells, (low[:, 0], high[:, 0]), family)

    @property
    def _in_cells(self) -> Floats:
        return self.tables.law.support.shares(self.supported, np.maximum(1, self.reports))

    @property
    def _errors(self) -> Floats:
        return self.tables.law.support.standard_errors(self.supported, np.maximum(1, self.reports))

    @property
    def _rest(self) -> RestOfCells:
        return RestOfCells.from_cells(self._every, self._in_cells, self._errors, self.listed & (self.reports > 0))

    @property
    def _every(self) -> RestOfCells:
        """All cells except dummies.

        The shares of dummies are estimated from the confirming groups.
        """
        law = self.tables.law
        supported = self.tables.supported[-CONFIRMING:, law.cells :].sum(axis=0)
        reports = np.maximum(1, self.tables.reports[-CONFIRMING:].sum())
        of_dummies, errors = law.support.shares(supported, reports), law.support.standard_errors(supported, reports)
        return RestOfCells(np.array(law.cells), law.total - of_dummies.sum(), np.sqrt((errors**2).sum()))

    def exist(self) -> NDArray[np.bool_]:
        """Return, for each candidate, whether its share is significantly above 0.

        If nobody has a candidate's text, the candidate's entry is true with a probability of at
        most the candidate's risk.
        """
        supported, reports, chance = self.supported, self.reports, self.tables.law.by_chance
        expected = reports * chance
        exist: NDArray[np.bool_] = supported > expected + LEAST_DEVIATION * np.sqrt(expected * (1 - chance))
        exist[exist] = binomial_tail(supported[exist], reports[exist], chance) < self.risks[exist]
        return exist

    def disagree(self, examined: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return, for each candidate, whether the groups contradict each other about its share.

        Args:
            examined: whether each candidate is examined, shape (candidates,). The result is False
                for all other candidates.
        """
        reports = self.reports[examined]
        frequency = self.supported[examined] / np.maximum(1, reports)
        statistics, degrees = np.zeros(reports.size), np.full(reports.size, -1)
        for number, supported in enumerate(self._supported(examined)):
            expected = frequency * self.received[examined, number] * self.tables.reports[number]
            variance = np.maximum(expected * (1 - frequency), np.finfo(float).tiny)
            statistics += (supported - expected) ** 2 / variance
            degrees += expected > 0
        disagree = np.zeros(examined.size, dtype=bool)
        disagree[examined] = (degrees > 0) & (chi_square_tail(statistics, np.maximum(1, degrees)) < UNLIKELY)
        return disagree

    def _supported(self, examined: NDArray[np.bool_]) -> Iterator[Counts]:
        for of_group, cells, received in zip(self.tables.supported, self.cells.T, self.received.T, strict=True):
            yield np.where(received[examined], of_group[cells[examined]], 0)


def _sum(counts: Iterable[Counts]) -> Counts:
    return reduce(np.add, counts)
