"""The texts of a tally, with their shares: those it suggests, or those that an analyst names.

Groups that took no part in finding a text confirm it. Their reports that support the text's cells
are added up. As groups are drawn independently of texts, the sum is binomial, and the interval is
the usual one. Hashes are public: a cell that two candidates share is seen, and counts for neither.

What other texts add to the share of a text's cell is taken off. A text has the share f, and its
cell the share s, of which other texts have a part. Of m listed texts the cells are known to be
others: a group in which they are not says nothing of the text. Besides those m cells there are k =
K - m, which hold R = 1 - (the sum of the listed cells' shares) together. Any text that is not
listed is in each of the K cells equally often. So on average the text's cell has s = f + (1 - f -
L) / K, if L is the share of the listed texts, and their cells have L + m (1 - f - L) / K together.
Hence k s - R is (k - 1) f on average, whatever f and L are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from client_sdk.protocol.text import Text
from estimator.discovery.prefix_search import CandidateText, GroupTables, TextNumbers, candidates_of
from estimator.results.estimate import Figures
from estimator.statistics.arrays import Counts, Floats
from estimator.statistics.confidence import binomial_tail, chi_square_tail, tail_of, z_of

UNLIKELY: Final = 0.001
"""Groups that disagree more than they do with this probability make a text unclear."""

LEAST_DEVIATION: Final = 1.5
"""A candidate that stands out by fewer standard errors passes no test of a list: it is skipped."""


@dataclass(frozen=True, slots=True)
class Texts:
    """What a tally says of texts.

    Attributes:
        shares: of each text; of those that were found the most common first.
        unclear: texts about which the groups contradict each other. If they were not named,
            ``shares`` lacks them.
        candidates: how many texts were tested.
        certain: how many texts surely occur: with 95% confidence all of these do.

    """

    shares: Figures
    unclear: tuple[str, ...]
    candidates: int
    certain: int


def discover(kind: Text, tables: GroupTables, *, simultaneous: bool = False) -> Texts:
    """Return the texts that a tally suggests and confirms.

    With a probability of 95% none of them is a text that nobody has, whatever people answer, but
    for texts that share a cell of every confirming group. Of sets the empty text is left out: it
    fills the places that are free.

    Args:
        kind: the question, with ``discover = true``.
        tables: what the groups said.
        simultaneous: whether all intervals are to hold together.

    """
    candidates = candidates_of(kind, tables)
    confirmation = _confirmed(kind, tables, candidates)
    is_answer = np.array([bool(each.number) or kind.max_items == 1 for each in candidates], dtype=bool)
    exist = confirmation.exist() & is_answer
    disagree = confirmation.disagree(exist)
    confirmed = np.flatnonzero(exist & ~disagree)
    by_share = confirmed[np.argsort(-confirmation.shares[confirmed], kind="stable")]
    labels = [kind.label_of(candidates[place].number) for place in by_share]
    unclear = tuple(kind.label_of(candidates[place].number) for place in np.flatnonzero(exist & disagree))
    shares = _shares(kind, confirmation, by_share, labels, len(candidates) if simultaneous else 1)
    return Texts(shares, unclear, len(candidates), len(confirmed))


def confirm(kind: Text, tables: GroupTables, texts: Iterable[str], *, simultaneous: bool = False) -> Texts:
    """Return the share of each text that an analyst names, in that order.

    Texts that are alike once cut are one. A text that shares its cell of every group with another
    one is unclear, and has no share.

    Every group that hears the whole text speaks of it, unless a listed text that stands out shares
    its cell.

    Args:
        kind: the question.
        tables: what the groups said.
        texts: of the question's letters.
        simultaneous: whether all intervals are to hold together.

    Raises:
        DomainError: if a text has a letter that is not listed.

    """
    numbers = dict.fromkeys(map(kind.number_of, texts))
    named = [CandidateText(number, 0, tail_of(len(numbers))) for number in numbers]
    labels = [kind.label_of(number) for number in numbers]
    if not tables.reports.any():
        return Texts(Figures.unknown(labels), (), len(named), 0)
    confirmation = _confirmed(kind, tables, named)
    received = np.flatnonzero(confirmation.reports > 0)
    shares = _shares(
        kind, confirmation, received, [labels[place] for place in received], len(named) if simultaneous else 1
    )
    unclear = confirmation.disagree(np.ones(len(named), dtype=bool)) | (confirmation.reports == 0)
    certain = int((confirmation.exist() & ~unclear).sum())
    return Texts(shares, tuple(labels[place] for place in np.flatnonzero(unclear)), len(named), certain)


def _confirmed(kind: Text, tables: GroupTables, candidates: list[CandidateText]) -> Confirmation:
    """Return what the groups say of candidates, without cells of others clear at first sight.

    Without the cells of all others nothing would be left of a long list.
    """
    confirmation = Confirmation.from_tables(kind, tables, candidates)
    exist = confirmation.exist()
    return confirmation.without_cells_of(exist & ~confirmation.disagree(exist))


def _shares(
    kind: Text, confirmation: Confirmation, places: NDArray[np.int64], labels: list[str], family: int
) -> Figures:
    """Return the shares of the texts at ``places``; of sets, of devices whose set has the text."""
    lows, highs = (ends[places] for ends in confirmation.intervals(family))
    shares, errors = confirmation.shares[places], confirmation.standard_errors[places]
    drawn = Figures(tuple(labels), lows, highs, shares, errors)
    return drawn.of_members(drawn.labels, kind.max_items)


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
    def from_cells(cls, cells: int, in_cells: Floats, errors: Floats, listed: NDArray[np.bool_]) -> RestOfCells:
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


@dataclass(frozen=True, slots=True, eq=False)
class Confirmation:
    """What the groups that may speak of each candidate say.

    Groups are walked one by one: figures of all candidates and groups at once would take ten times
    the memory.

    Attributes:
        tables: what the groups said.
        cells: the cell of each candidate in each group, shape (candidates, groups).
        received: whether a group may speak of a candidate, shape (candidates, groups).
        risks: the probability with which each candidate may be confirmed if nobody has it, shape
            (candidates,).
        listed: whether a candidate's cells are left out of what is said of others, shape
            (candidates,).

    """

    tables: GroupTables
    cells: NDArray[np.int32]
    received: NDArray[np.bool_]
    risks: Floats
    listed: NDArray[np.bool_]

    @classmethod
    def from_tables(cls, domain: Text, tables: GroupTables, candidates: Sequence[CandidateText]) -> Confirmation:
        """Collect what groups say that hear all of a candidate and took no part in finding it."""
        groups = domain.groups(tables.cells)
        sizes, places = np.array([group.bits for group in groups]), np.arange(len(groups))
        numbers = TextNumbers.from_numbers(domain, [each.number for each in candidates])
        found_by = np.array([each.found_by for each in candidates], dtype=np.int64)
        received = (sizes >= numbers.bits_to_end()[:, np.newaxis]) & (places >= found_by[:, np.newaxis])
        cells = np.empty(received.shape, np.int32)
        for place, group in enumerate(groups):
            cells[:, place] = numbers.hashed(group) % tables.cells
        risks, listed = np.array([each.risk for each in candidates]), np.zeros(len(candidates), dtype=bool)
        return cls(tables, cells, received, risks, listed)

    def without_cells_of(self, others: NDArray[np.bool_]) -> Confirmation:
        """Return the same without what a group says of a cell that another of ``others`` shares.

        Args:
            others: whether each candidate is one of them, shape (candidates,).

        """
        alone = [np.bincount(cells[others], minlength=self.tables.cells)[cells] == others for cells in self.cells.T]
        return replace(self, received=self.received & np.column_stack(alone), listed=others)

    @property
    def supported(self) -> Counts:
        """How many reports that may speak of a candidate support its cell, shape (candidates,)."""
        return _sum(self._supported(np.ones(len(self.cells), dtype=bool)))

    @property
    def reports(self) -> Counts:
        """How many reports may speak of each candidate, shape (candidates,)."""
        return _sum(received * reports for received, reports in zip(self.received.T, self.tables.reports, strict=True))

    @property
    def shares(self) -> Floats:
        """The unbiased share of each candidate; it means nothing if no report may speak of it."""
        return self._rest.shares(self._in_cells)

    @property
    def standard_errors(self) -> Floats:
        """The standard error of each share."""
        return self._rest.standard_errors(self._errors)

    def intervals(self, family: int = 1) -> tuple[Floats, Floats]:
        """Return the ends of the shares' intervals, within 0..1."""
        supported, reports = self.supported[:, np.newaxis], self.reports[:, np.newaxis]
        low, high = self.tables.support.intervals(supported, reports, family)
        return self._rest.intervals(self._in_cells, (low[:, 0], high[:, 0]), family)

    @property
    def _in_cells(self) -> Floats:
        """The share of each candidate's cell."""
        return self.tables.support.shares(self.supported, np.maximum(1, self.reports))

    @property
    def _errors(self) -> Floats:
        """The standard error of that."""
        return self.tables.support.standard_errors(self.supported, np.maximum(1, self.reports))

    @property
    def _rest(self) -> RestOfCells:
        """The cells that are not known to be of other candidates."""
        return RestOfCells.from_cells(self.tables.cells, self._in_cells, self._errors, self.listed & (self.reports > 0))

    def exist(self) -> NDArray[np.bool_]:
        """Return whether each candidate has any share at all.

        It passes by chance with at most its risk. If it had no share, reports would support its
        cell by chance.
        """
        supported, reports, chance = self.supported, self.reports, self.tables.by_chance
        expected = reports * chance
        exist: NDArray[np.bool_] = supported > expected + LEAST_DEVIATION * np.sqrt(expected * (1 - chance))
        exist[exist] = binomial_tail(supported[exist], reports[exist], chance) < self.risks[exist]
        return exist

    def disagree(self, examined: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return whether the groups contradict each other about each candidate.

        Args:
            examined: whether each candidate is examined; of others the result is False, shape
                (candidates,).

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
        """Yield how many reports of each group support each examined candidate's cell."""
        for of_group, cells, received in zip(self.tables.supported, self.cells.T, self.received.T, strict=True):
            yield np.where(received[examined], of_group[cells[examined]], 0)


def _sum(counts: Iterable[Counts]) -> Counts:
    return reduce(np.add, counts)
