"""Which texts a tally suggests: a search from level to level.

At each level the cells of all continuations of the prefixes found so far are looked up, and the
best survive. A prefix that has ended, or has all letters, is a candidate.

What counts is the evidence that a continuation is the beginning of a common text: the logarithm of
the odds. It begins with that of its prefix, but never with more than certainty: one of the prefix's
continuations is then right, and each is as likely as another. So a prefix may fall behind at one
level and catch up at the next, and the continuations of a very common prefix do not push out all
others. (Fano 1963, "A heuristic discussion of probabilistic decoding", has this measure of a path,
for a code whose words share beginnings.)

A prefix goes on with the next bits of its letters that can begin a text.

Texts are searched as integers of many limbs: they have more bits than a machine's numbers, and one
by one they take seconds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from client_sdk.protocol.mechanisms.grouped_geometry import CONFIRMING, LIMB_BITS, MODULUS, Group, GroupedGeometry
from client_sdk.protocol.text import Text
from estimator.decoders.inversions import inverse_of
from estimator.decoders.support import Balanced, Support
from estimator.statistics.arrays import Counts, Floats
from estimator.statistics.confidence import tail_of

SURVIVORS: Final = 1024
"""The most prefixes that survive a level. Fewer find fewer texts; more find hardly any more."""

CANDIDATES: Final = 128
"""The most candidates of a level: its best. With more, more of them share a cell with a common text
by chance, and hardly any more texts are found.
"""

MARGIN: Final = 3.0
"""A text that can just be found stands out by this many standard errors of a group: one
continuation in a thousand does by chance, and a prefix has a thousand. Evidence is compared with
that of this text.
"""

EXPECTED: Final = 32
"""About how many beginnings are right at the first level. Four times as many, or as few, find as
many texts.
"""

RISK: Final = tail_of(1)
"""The probability with which noise may put any text on a list. It is half of 5%; the rest is left
for texts that share cells with common ones, which noise then need not make up.
"""

AT_ONCE: Final = 256
"""Prefixes whose continuations are looked up together: some megabytes."""

_FIELDS: Final = 4
"""Of a survivor: evidence, place of its prefix, bits that follow it, whether the text has ended."""


class CandidateText(NamedTuple):
    """A text that is to be confirmed.

    Attributes:
        number: of the text, an integer of L * c bits.
        found_by: how many groups, from the first, took part in finding it.
        risk: the probability with which it may be confirmed if nobody has it.

    """

    number: int
    found_by: int
    risk: float


def candidates_of(domain: Text, tables: GroupTables) -> list[CandidateText]:
    """Return the texts that the levels suggest, the shorter first.

    Their risks add up to at most `RISK`. Half of it is that of the last level's candidates, half of
    the rest that of the level before, and so on, because the last have the fewest devices left to
    confirm them. Within a level the k-th best has a k-th of the best one's.

    So noise puts a text on the list with at most that probability. Given what the groups up to a
    level say, its candidates, their order and their risks are fixed. They are confirmed by later
    groups alone, which are other devices, so that their reports are independent of all that. Hence
    each candidate passes with at most its risk, whatever the groups before have said; and any of
    all levels' with at most the sum.
    """
    candidates: list[CandidateText] = []
    levels = domain.groups(tables.cells)[:-CONFIRMING]
    prefixes, known = _Prefixes(TextNumbers.from_numbers(domain, [0]), np.array([math.log(EXPECTED)])), 0
    for place, group in enumerate(levels):
        survivors = _survivors(_Level(domain, tables, place, prefixes, known))
        is_whole = survivors.ended | (group.bits == domain.bits)
        suggested = survivors.numbers.integers(np.flatnonzero(is_whole)[:CANDIDATES].tolist())
        risks = risks_of(len(suggested), len(levels) - place)
        candidates += [CandidateText(number, place + 1, risk) for number, risk in zip(suggested, risks, strict=True)]
        prefixes, known = survivors.prefixes(), group.bits
    return candidates


def risks_of(candidates: int, levels_left: int) -> list[float]:
    """Return the risk of each candidate of a level, the best first.

    The last level has one level left, its own.
    """
    by_rank = [1 / rank for rank in range(1, candidates + 1)]
    of_first = RISK / 2**levels_left / max(1.0, sum(by_rank))
    return [of_first * part for part in by_rank]


class _Prefixes(NamedTuple):
    """What survived the level before and has not ended.

    Attributes:
        numbers: the prefixes, each with zeros after it.
        beliefs: the logarithm of the probability that each is right, shape (prefixes,).

    """

    numbers: TextNumbers
    beliefs: Floats


class _Survivors(NamedTuple):
    """The prefixes that survived a level, the best first.

    Attributes:
        numbers: the prefixes, each with zeros after it.
        ended: whether each text has ended with it, shape (survivors,).
        evidence: the logarithm of the odds that each is right, shape (survivors,).

    """

    numbers: TextNumbers
    ended: NDArray[np.bool_]
    evidence: Floats

    def prefixes(self) -> _Prefixes:
        """Return those that have not ended."""
        goes_on = ~self.ended
        numbers = TextNumbers(self.numbers.kind, self.numbers.limbs[:, goes_on])
        return _Prefixes(numbers, -np.logaddexp(0.0, -self.evidence[goes_on]))


class _Level(NamedTuple):
    """One level of the search.

    Attributes:
        domain: the question.
        tables: what the groups said.
        place: which group hears of the level, from 0.
        prefixes: what survived the level before and has not ended.
        known: how many bits those have.

    """

    kind: Text
    tables: GroupTables
    place: int
    prefixes: _Prefixes
    known: int

    @property
    def group(self) -> Group:
        return self.kind.groups(self.tables.cells)[self.place]

    def continuations(self) -> Iterator[tuple[Counts, Continuations]]:
        """Yield places of prefixes that go on alike, at most `AT_ONCE`, and their continuations."""
        begun_bits = self.known % self.kind.letter_bits
        begun = self.prefixes.numbers.bits(self.kind.bits - self.known, begun_bits)
        for alike in dict.fromkeys(begun.tolist()):
            places = np.flatnonzero(begun == alike)
            ways = Continuations.following(self.kind, alike, begun_bits, self.group.bits - self.known)
            for first in range(0, len(places), AT_ONCE):
                yield places[first : first + AT_ONCE], ways

    def cells(self, hashed: Counts, ways: Continuations) -> Counts:
        """Return the cell of each continuation of prefixes with these hashes."""
        added = ways.bits * self.group.multipliers[1] % MODULUS
        sums = (hashed[:, np.newaxis] + added).astype(np.uint32)  # below 2**32, of which divisions are quick
        sums -= sums // MODULUS * np.uint32(MODULUS)
        cells: Counts = sums - sums // self.tables.cells * np.uint32(self.tables.cells)
        return cells

    def evidence(self) -> Floats:
        """Return what the group says of each cell, shape (cells,).

        It is the logarithm of how much likelier the support is with a text of `MARGIN` than by
        chance.
        """
        reports, chance = int(self.tables.reports[self.place]), self.tables.by_chance
        error = math.sqrt(max(1, reports) * chance * (1 - chance))
        deviations = (self.tables.supported[self.place] - reports * chance) / error
        evidence: Floats = MARGIN * deviations - MARGIN**2 / 2
        return evidence


def _survivors(level: _Level) -> _Survivors:
    """Return the continuations that survive a level, the best first."""
    of_cell, hashed, best = level.evidence(), level.prefixes.numbers.hashed(level.group), np.zeros((_FIELDS, 0))
    for places, ways in level.continuations():
        beliefs = level.prefixes.beliefs[places] - math.log(ways.bits.size)
        evidence = beliefs[:, np.newaxis] + of_cell[level.cells(hashed[places], ways)]
        row, way = np.nonzero(evidence >= _least(evidence if best.shape[1] < SURVIVORS else best[0]))
        added = np.array([evidence[row, way], places[row], ways.bits[way], ways.ended[way]])
        best = _best(np.concatenate((best, added), axis=1))
    best = best[:, np.argsort(-best[0], kind="stable")]
    places, bits = best[1:3].astype(np.int64)
    numbers = level.prefixes.numbers.continued(places, bits, level.kind.bits - level.group.bits)
    return _Survivors(numbers, best[3] > 0, best[0])


def _least(evidence: Floats) -> float:
    """Return what the last of the best `SURVIVORS` has; all survive if there are no more."""
    if evidence.size <= SURVIVORS:
        return float(evidence.min()) if evidence.size == SURVIVORS else -math.inf
    return float(np.partition(evidence, -SURVIVORS, axis=None)[-SURVIVORS])


def _best(survivors: Floats) -> Floats:
    """Return those with the most evidence, shape (4, at most `SURVIVORS`)."""
    if survivors.shape[1] <= SURVIVORS:
        return survivors
    return survivors[:, np.argpartition(-survivors[0], SURVIVORS)[:SURVIVORS]]


@dataclass(frozen=True, slots=True, eq=False)
class Continuations:
    """The next bits of a prefix that has not ended.

    Attributes:
        bits: the patterns that can follow, rising.
        ended: of each, whether the text has ended with it.

    """

    bits: Counts
    ended: NDArray[np.bool_]

    @classmethod
    def following(cls, domain: Text, begun: int, begun_bits: int, step: int) -> Continuations:
        """Return the patterns of ``step`` bits.

        Args:
            domain: the question.
            begun: the bits of the letter in which the prefix ends, if it ends within one.
            begun_bits: how many they are.
            step: how many bits follow.

        """
        patterns = np.arange(1 << step, dtype=np.int64)
        letters, left = (begun << step) + patterns, begun_bits + step
        possible, ended = np.ones(patterns.size, dtype=bool), np.zeros(patterns.size, dtype=bool)
        while left >= domain.letter_bits:
            left -= domain.letter_bits
            code = letters >> left & (1 << domain.letter_bits) - 1
            possible &= (code <= len(domain.letters)) & ~(ended & (code > 0))
            ended |= code == 0
        begun_letter = (letters & (1 << left) - 1) << domain.letter_bits - left  # the lowest code that begins so
        possible &= (begun_letter <= len(domain.letters)) & ~(ended & (begun_letter > 0))
        return cls(patterns[possible], ended[possible])


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
    def from_counts(cls, channel: GroupedGeometry, counts: Counts) -> GroupTables:
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


@dataclass(frozen=True, slots=True, eq=False)
class TextNumbers:
    """The integers of texts, or of prefixes that nothing follows.

    Attributes:
        domain: the question, which says how many bits they have.
        limbs: `LIMB_BITS` bits each, the lowest first, then zeros, so that bits may begin in any
            limb and end in the next one, shape (limbs, texts).

    """

    kind: Text
    limbs: Counts

    @classmethod
    def from_numbers(cls, domain: Text, numbers: Sequence[int]) -> TextNumbers:
        """Divide integers into limbs."""
        limb = (1 << LIMB_BITS) - 1
        starts = range(0, domain.bits + LIMB_BITS + 1, LIMB_BITS)
        limbs = [[number >> start & limb for number in numbers] for start in starts]
        return cls(domain, np.array(limbs, dtype=np.int64))

    def integers(self, places: Sequence[int]) -> list[int]:
        """Return the integers at some places."""
        return [
            sum(limb << LIMB_BITS * place for place, limb in enumerate(limbs))
            for limbs in self.limbs[:, places].T.tolist()
        ]

    def bits(self, start: int, width: int) -> Counts:
        """Return ``width`` bits of each, at most `LIMB_BITS`; ``start`` lower ones are left out."""
        place, inside = divmod(start, LIMB_BITS)
        both: Counts = self.limbs[place] >> inside | self.limbs[place + 1] << LIMB_BITS - inside
        return both & (1 << width) - 1

    def hashed(self, group: Group) -> Counts:
        """Return what `Group.hashed` says of the leading bits that a group hears."""
        total, *multipliers = group.multipliers
        first = self.kind.bits - group.bits
        sums = np.full(self.limbs.shape[1], total)
        for limb, multiplier in enumerate(multipliers):
            sums += self.bits(first + LIMB_BITS * limb, LIMB_BITS) * multiplier % MODULUS
        return sums % MODULUS

    def bits_to_end(self) -> Counts:
        """Return how many leading bits tell each whole text: those of letters and end."""
        of_letter = self.kind.letter_bits
        starts = range(0, self.kind.bits, of_letter)
        letters = sum((self.bits(start, of_letter) > 0 for start in starts), np.zeros(self.limbs.shape[1], np.int64))
        return np.minimum(self.kind.bits, (letters + 1) * of_letter)

    def continued(self, places: NDArray[np.int64], bits: Counts, start: int) -> TextNumbers:
        """Return those at ``places``, with bits in place of the zeros from ``start`` on.

        Args:
            places: which numbers.
            bits: what is put into each of them, at most `LIMB_BITS` bits.
            start: the place of the lowest of these bits.

        """
        limbs, (place, inside) = self.limbs[:, places], divmod(start, LIMB_BITS)
        added = bits << inside
        limbs[place] |= added & (1 << LIMB_BITS) - 1
        limbs[place + 1] |= added >> LIMB_BITS
        return TextNumbers(self.kind, limbs)
