"""The texts of a tally, with their shares: those it suggests, or those that an analyst names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from client_sdk.protocol.texts.text import Text
from estimator.discovery.confirmation import Confirmation
from estimator.discovery.group_tables import GroupTables
from estimator.discovery.prefix_search import CandidateText, candidates_of
from estimator.results.estimate import Figures
from estimator.statistics.confidence import tail_of


@dataclass(frozen=True, slots=True)
class Texts:
    """What a tally says of texts.

    Attributes:
        shares: of each text; of those that were found the most common first.
        unclear: texts about which the groups contradict each other. If they were not named,
            ``shares`` lacks them.
        candidates: how many texts were tested.
        certain: how many texts surely occur: with 95 % confidence all of these do.

    """

    shares: Figures
    unclear: tuple[str, ...]
    candidates: int
    certain: int


def discover(kind: Text, tables: GroupTables, *, simultaneous: bool = False) -> Texts:
    """Return the texts that a tally suggests and confirms.

    With a probability of 95 % none of them is a text that nobody has, whatever people answer, but
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
    heard = np.flatnonzero(confirmation.reports > 0)
    shares = _shares(kind, confirmation, heard, [labels[place] for place in heard], len(named) if simultaneous else 1)
    unclear = confirmation.disagree(np.ones(len(named), dtype=bool)) | (confirmation.reports == 0)
    certain = int((confirmation.exist() & ~unclear).sum())
    return Texts(shares, tuple(labels[place] for place in np.flatnonzero(unclear)), len(named), certain)


def _confirmed(kind: Text, tables: GroupTables, candidates: list[CandidateText]) -> Confirmation:
    """Return what the groups say of candidates, without cells of others clear at first sight.

    Without the cells of all others nothing would be left of a long list.
    """
    confirmation = Confirmation.of(kind, tables, candidates)
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
