"""Which texts a tally suggests: a search from level to level.

At each level the cells of all continuations of the prefixes found so far are looked up. Those that more reports support
than chance explains survive. A prefix that has ended, or has all letters, is a candidate.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from heapq import nlargest
from statistics import NormalDist
from typing import Final, NamedTuple

import numpy as np

from client_sdk.protocol.domain.text import Text
from client_sdk.protocol.domain.text_groups import CONFIRMING, MODULUS, Group
from estimator.discovery.continuations import Continuations
from estimator.discovery.group_tables import GroupTables
from estimator.statistics.arrays import Counts

CHANCE_SURVIVORS: Final = 256
"""The continuations of a level that are expected to survive by chance. With more, hardly any more texts are found."""

MOST_SURVIVORS: Final = 4096
"""The most prefixes that survive a level, which bounds the time of the next."""

LEAST_DEVIATION: Final = 1.5
"""What stands out by fewer standard errors does not survive, however few continuations there are."""

AT_ONCE: Final = 256
"""Prefixes whose continuations are looked up together: some megabytes."""


class CandidateText(NamedTuple):
    """A text that is to be confirmed.

    Attributes:
        number: of the text, an integer of L * c bits.
        found_by: how many groups, from the first, took part in finding it.

    """

    number: int
    found_by: int


def candidates_of(domain: Text, tables: GroupTables) -> list[CandidateText]:
    """Return the texts that the levels suggest, the shorter first."""
    found: list[CandidateText] = []
    prefixes, known = [0], 0
    for place, group in enumerate(domain.groups(tables.cells)[:-CONFIRMING]):
        survivors = _survivors(_Level(domain, tables, place, prefixes, known))
        is_last = group.bits == domain.bits
        found += [
            CandidateText(prefix << domain.bits - group.bits, place + 1)
            for prefix, has_ended in survivors
            if has_ended or is_last
        ]
        prefixes, known = [prefix for prefix, has_ended in survivors if not has_ended], group.bits
    return found


def deviation(tried: int) -> float:
    """Return by how many standard errors a continuation must stand out to survive, if so many are tried."""
    chance = min(0.5, CHANCE_SURVIVORS / max(1, tried))
    return max(LEAST_DEVIATION, NormalDist().inv_cdf(1 - chance))


class _Level(NamedTuple):
    """One level of the search.

    Attributes:
        domain: the question.
        tables: what the groups said.
        place: which group hears of the level, from 0.
        prefixes: what survived the level before and has not ended.
        known: how many bits those have.

    """

    domain: Text
    tables: GroupTables
    place: int
    prefixes: list[int]
    known: int

    @property
    def group(self) -> Group:
        return self.domain.groups(self.tables.cells)[self.place]

    def continuations(self) -> Iterator[tuple[list[int], Continuations]]:
        """Yield prefixes with their continuations: some of those that go on alike at a time."""
        begun_bits = self.known % self.domain.letter_bits
        alike: dict[int, list[int]] = {}
        for prefix in self.prefixes:
            alike.setdefault(prefix & (1 << begun_bits) - 1, []).append(prefix)
        for begun, prefixes in alike.items():
            ways = Continuations.of(self.domain, begun, begun_bits, self.group.bits - self.known)
            for first in range(0, len(prefixes), AT_ONCE):
                yield prefixes[first : first + AT_ONCE], ways

    def cells(self, prefixes: list[int], ways: Continuations) -> Counts:
        """Return the cell of each continuation of each prefix."""
        group = self.group
        step = group.bits - self.known
        hashed = np.array([group.hashed(prefix << step) for prefix in prefixes])
        added = ways.bits * group.multipliers[1] % MODULUS
        cells: Counts = (hashed[:, np.newaxis] + added) % MODULUS % self.tables.cells
        return cells

    def least_support(self) -> float:
        """Return the support above which a continuation survives."""
        tried = sum(len(prefixes) * ways.bits.size for prefixes, ways in self.continuations())
        expected = int(self.tables.reports[self.place]) * self.tables.by_chance
        return expected + deviation(tried) * math.sqrt(expected * (1 - self.tables.by_chance))


def _survivors(level: _Level) -> list[tuple[int, bool]]:
    """Return the continuations that survive a level, and whether each has ended."""
    supported, least = level.tables.supported[level.place], level.least_support()
    step = level.group.bits - level.known
    survivors: list[tuple[int, int, bool]] = []
    for prefixes, ways in level.continuations():
        support = supported[level.cells(prefixes, ways)]
        of_prefix, way = np.nonzero(support > least)
        survivors += zip(
            support[of_prefix, way].tolist(),
            [prefixes[place] << step | bits for place, bits in zip(of_prefix, ways.bits[way].tolist(), strict=True)],
            ways.ended[way].tolist(),
            strict=True,
        )
        survivors = nlargest(MOST_SURVIVORS, survivors)
    return [(prefix, has_ended) for _, prefix, has_ended in survivors]
