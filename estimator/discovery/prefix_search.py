"""A search for candidate texts in a tally, level by level.

A text is a string of bits. Each level of the search has a group of devices. The group reports on
prefixes of a certain number of bits: its public hash function maps each prefix to one of K cells. A
report is more likely to support the cell of the device's own text than any other cell. Each level
tries all continuations of the prefixes that survived the previous level. The level keeps the
continuations with the strongest evidence. The kept prefixes are called survivors. A survivor that
is a whole text becomes a candidate.

The *evidence* for a continuation is the logarithm of the odds that a common text begins with the
prefix and the continuation. Continuations are ranked by evidence. The evidence for a continuation
includes the evidence for its prefix from earlier levels. The code assumes that exactly one
continuation of a prefix belongs to a common text. The continuations therefore share the probability
of the prefix equally. With evidence from earlier levels, a prefix with little support at one level
can recover at the next level. Because the continuations of a prefix share the prefix's probability,
a very common prefix does not displace all other prefixes. Fano 1963, "A heuristic discussion of
probabilistic decoding", ranks the paths of a code in this way.

Texts have more bits than machine integers. Arrays therefore store each text as several limbs
(machine words). Without arrays, processing texts one by one would take seconds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from client_sdk.protocol.mechanisms.grouped_geometry import CONFIRMING, LIMB_BITS, MODULUS, Group, GroupedGeometry
from client_sdk.protocol.text import Text
from estimator.decoders.grouped_geometry import CellSupport, cell_support
from estimator.statistics.arrays import Counts, Floats
from estimator.statistics.confidence import tail_of

SURVIVORS: Final = 1024
"""The maximum number of prefixes that survive a level.

With more survivors, the search would find hardly any additional texts.
"""

CANDIDATES: Final = 128
"""The maximum number of candidates of a level.

With a larger maximum, the search would find hardly any additional texts, but more candidates would
share the cell of a common text by chance.
"""

MARGIN: Final = 3.0
"""The assumed support for a barely detectable text in one group, in standard errors above chance.

The evidence for a cell compares two hypotheses: a barely detectable text has this cell, or no
common text has this cell. A prefix has about a thousand continuations. By chance, the support for
about one of these continuations exceeds this margin.
"""

EXPECTED: Final = 32
"""The assumed number of first-level prefixes that belong to common texts."""

RISK: Final = tail_of(1)
"""The maximum probability that noise makes the search list at least one nonexistent text: half of
5%.

The other half of the 5% is for nonexistent texts that are listed because they share the cells of
common texts.
"""

AT_ONCE: Final = 256
"""The maximum number of prefixes in a batch. With this number, arrays take a few megabytes."""

_FIELDS: Final = 4
"""The number of fields of a survivor in `_survivors`.

The fields are the evidence, the index of the prefix, the next bits, and whether the text has ended.
"""


class CandidateText(NamedTuple):
    """A candidate text, before its confirmation.

    Attributes:
        number: the text as an integer, with the same number of bits for every letter. All texts are
            padded with zeros to the length of the longest possible text.
        found_by: the number of groups that found the text. For instance, 3 means the groups 0, 1
            and 2.
        risk: the maximum probability of confirming the text if nobody has this text.
    """

    number: int
    found_by: int
    risk: float


def candidates_of(domain: Text, tables: GroupTables) -> list[CandidateText]:
    """Return the candidates of all levels, shorter texts first.

    The risk of a candidate is the maximum probability that noise confirms the candidate. The risks
    of all candidates add up to at most `RISK`. The candidates of the last level get half of `RISK`,
    because the fewest devices are left to confirm these candidates. The candidates of the
    second-last level get half of the remaining `RISK`, and so on. Within a level, the second-best
    candidate gets half of the best candidate's risk, the third-best a third, and so on.

    The probability that noise makes the search list at least one text is therefore at most `RISK`.
    Proof: The groups up to a level determine the level's candidates, their order and their risks.
    Only later groups confirm the candidates. Later groups consist of other devices, so their
    reports are independent of the selection. If nobody has a candidate's text, the probability of
    confirming the candidate is at most its risk. The probability of confirming at least one such
    candidate is at most the sum of the risks.
    """
    candidates: list[CandidateText] = []
    levels = domain.groups(tables.law.points)[:-CONFIRMING]
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
    """Return the risk of each candidate of a level, the best candidate first (see `candidates_of`).

    ``levels_left`` is 1 for the last level, 2 for the level before it, and so on.
    """
    by_rank = [1 / rank for rank in range(1, candidates + 1)]
    of_first = RISK / 2**levels_left / max(1.0, sum(by_rank))
    return [of_first * part for part in by_rank]


class _Prefixes(NamedTuple):
    """The survivors of the previous level, except whole texts.

    Attributes:
        numbers: the prefixes as integers, with zeros in place of later bits.
        beliefs: the logarithm of the probability that a common text begins with each prefix, shape
            (prefixes,).
    """

    numbers: TextNumbers
    beliefs: Floats


class _Survivors(NamedTuple):
    """The prefixes that survived a level, sorted by evidence, the strongest first.

    Attributes:
        numbers: the prefixes as integers, with zeros in place of later bits.
        ended: whether each prefix is a whole text, shape (survivors,).
        evidence: the logarithm of the odds that a common text begins with each prefix, shape
            (survivors,).
    """

    numbers: TextNumbers
    ended: NDArray[np.bool_]
    evidence: Floats

    def prefixes(self) -> _Prefixes:
        """Return all survivors except whole texts.

        Their beliefs are computed from the evidence.
        """
        goes_on = ~self.ended
        numbers = TextNumbers(self.numbers.kind, self.numbers.limbs[:, goes_on])
        return _Prefixes(numbers, -np.logaddexp(0.0, -self.evidence[goes_on]))


class _Level(NamedTuple):
    """One level of the search.

    Attributes:
        kind: the kind of the metric.
        tables: the tally of each group's reports.
        place: the index of the group that reports on this level, from 0.
        prefixes: the survivors of the previous level, except whole texts.
        known: the number of bits in each of these prefixes.
    """

    kind: Text
    tables: GroupTables
    place: int
    prefixes: _Prefixes
    known: int

    @property
    def group(self) -> Group:
        return self.kind.groups(self.tables.law.points)[self.place]

    def continuations(self) -> Iterator[tuple[Counts, Continuations]]:
        """Yield batches of prefixes, each with the continuations that its prefixes share.

        The prefixes of a batch are given by their indices.
        """
        begun_bits = self.known % self.kind.letter_bits
        begun = self.prefixes.numbers.bits(self.kind.bits - self.known, begun_bits)
        for alike in dict.fromkeys(begun.tolist()):
            places = np.flatnonzero(begun == alike)
            ways = Continuations.following(self.kind, alike, begun_bits, self.group.bits - self.known)
            for first in range(0, len(places), AT_ONCE):
                yield places[first : first + AT_ONCE], ways

    def cells(self, hashed: Counts, ways: Continuations) -> Counts:
        """Return the cell of each continuation of each prefix, shape (prefixes, continuations)."""
        added = ways.bits * self.group.multipliers[1] % MODULUS
        sums = (hashed[:, np.newaxis] + added).astype(np.uint32)  # below 2**32, where division is fast
        sums -= sums // MODULUS * np.uint32(MODULUS)
        cells: Counts = sums - sums // self.tables.law.cells * np.uint32(self.tables.law.cells)
        return cells

    def evidence(self) -> Floats:
        """Return, for each cell, the evidence that a common text has this cell, shape (cells,).

        The evidence is the log-likelihood ratio of two hypotheses. Under the first hypothesis, the
        support exceeds chance by `MARGIN` standard errors. Under the second hypothesis, the support
        does not exceed chance.
        """
        reports, chance = int(self.tables.reports[self.place]), self.tables.law.by_chance
        error = math.sqrt(max(1, reports) * chance * (1 - chance))
        deviations = (self.tables.supported[self.place] - reports * chance) / error
        evidence: Floats = MARGIN * deviations - MARGIN**2 / 2
        return evidence


def _survivors(level: _Level) -> _Survivors:
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
    """Return the smallest evidence among the best `SURVIVORS` continuations.

    With fewer continuations than `SURVIVORS`, all survive, and the result is minus infinity.
    """
    if evidence.size <= SURVIVORS:
        return float(evidence.min()) if evidence.size == SURVIVORS else -math.inf
    return float(np.partition(evidence, -SURVIVORS, axis=None)[-SURVIVORS])


def _best(survivors: Floats) -> Floats:
    if survivors.shape[1] <= SURVIVORS:
        return survivors
    return survivors[:, np.argpartition(-survivors[0], SURVIVORS)[:SURVIVORS]]


@dataclass(frozen=True, slots=True, eq=False)
class Continuations:
    """The patterns of bits that can follow a prefix.

    Attributes:
        bits: the patterns, as integers in ascending order.
        ended: for each pattern, whether it ends the text.
    """

    bits: Counts
    ended: NDArray[np.bool_]

    @classmethod
    def following(cls, domain: Text, begun: int, begun_bits: int, step: int) -> Continuations:
        """Return the patterns of ``step`` bits that can follow a prefix.

        Args:
            domain: the kind of the metric.
            begun: the known bits of the last letter, if the prefix ends within this letter.
            begun_bits: the number of known bits of the last letter.
            step: the number of bits that follow.
        """
        return cls(*_patterns(len(domain.letters), domain.letter_bits, begun, begun_bits, step))


@lru_cache(maxsize=256)
def _patterns(
    letters: int, letter_bits: int, begun: int, begun_bits: int, step: int
) -> tuple[Counts, NDArray[np.bool_]]:
    """Return the fields of `Continuations.following`.

    Levels and tallies share the cached results.
    """
    patterns = np.arange(1 << step, dtype=np.int64)
    codes, left = (begun << step) + patterns, begun_bits + step
    possible, ended = np.ones(patterns.size, dtype=bool), np.zeros(patterns.size, dtype=bool)
    while left >= letter_bits:
        left -= letter_bits
        code = codes >> left & (1 << letter_bits) - 1
        possible &= (code <= letters) & ~(ended & (code > 0))
        ended |= code == 0
    begun_letter = (codes & (1 << left) - 1) << letter_bits - left  # lowest code with these leading bits
    possible &= (begun_letter <= letters) & ~(ended & (begun_letter > 0))
    return patterns[possible], ended[possible]


@dataclass(frozen=True, slots=True, eq=False)
class GroupTables:
    """A tally of the mechanism `grouped-geometry`, converted to the support for each cell.

    Attributes:
        reports: the number of reports in each group, shape (groups,).
        supported: the number of reports of each group that support each cell, shape (groups,
            cells).
        law: the probability that a report supports a cell.
    """

    reports: Counts
    supported: Counts
    law: CellSupport

    @classmethod
    def from_counts(cls, channel: GroupedGeometry, counts: Counts) -> GroupTables:
        """Count the support for each cell. ``counts`` is a tally, shape (symbols,)."""
        law = cell_support(channel)
        by_group = counts.reshape(len(channel.weights), channel.inputs)
        # one group at a time, because transforming all groups together would take ten times the
        # memory
        supported = np.array([law.counts(of_group) for of_group in by_group])
        return cls(by_group.sum(axis=1), supported, law)


@dataclass(frozen=True, slots=True, eq=False)
class TextNumbers:
    """Texts or prefixes as integers, with zeros in place of later bits.

    Attributes:
        kind: the kind of the metric, which defines the number of bits of a text.
        limbs: the parts (limbs) of each integer, of `LIMB_BITS` bits each, the lowest first, shape
            (limbs, texts). The last limb is zero, so `bits` can always read two adjacent limbs.
    """

    kind: Text
    limbs: Counts

    @classmethod
    def from_numbers(cls, domain: Text, numbers: Sequence[int]) -> TextNumbers:
        """Convert Python integers to limbs."""
        limb = (1 << LIMB_BITS) - 1
        starts = range(0, domain.bits + LIMB_BITS + 1, LIMB_BITS)
        limbs = [[number >> start & limb for number in numbers] for start in starts]
        return cls(domain, np.array(limbs, dtype=np.int64))

    def integers(self, places: Sequence[int]) -> list[int]:
        """Return the texts with the given indices as Python integers."""
        return [
            sum(limb << LIMB_BITS * place for place, limb in enumerate(limbs))
            for limbs in self.limbs[:, places].T.tolist()
        ]

    def bits(self, start: int, width: int) -> Counts:
        """Return the bits from ``start`` to ``start + width - 1`` of each integer.

        ``width`` is at most `LIMB_BITS`.
        """
        place, inside = divmod(start, LIMB_BITS)
        both: Counts = self.limbs[place] >> inside | self.limbs[place + 1] << LIMB_BITS - inside
        return both & (1 << width) - 1

    def hashed(self, group: Group) -> Counts:
        """Return the group's hash of each text.

        The hash covers the leading bits that the group reports on. `Group.hashed` in the SDK
        computes the same hash for a single text.
        """
        total, *multipliers = group.multipliers
        first = self.kind.bits - group.bits
        sums = np.full(self.limbs.shape[1], total)
        for limb, multiplier in enumerate(multipliers):
            sums += self.bits(first + LIMB_BITS * limb, LIMB_BITS) * multiplier % MODULUS
        return sums % MODULUS

    def bits_to_end(self) -> Counts:
        """Return, for each text, the number of bits that encode its letters and its end."""
        of_letter = self.kind.letter_bits
        starts = range(0, self.kind.bits, of_letter)
        letters = sum((self.bits(start, of_letter) > 0 for start in starts), np.zeros(self.limbs.shape[1], np.int64))
        return np.minimum(self.kind.bits, (letters + 1) * of_letter)

    def continued(self, places: NDArray[np.int64], bits: Counts, start: int) -> TextNumbers:
        """Return some of the integers, with given bits in place of zeros.

        Args:
            places: the indices of these integers.
            bits: the new bits of each integer, at most `LIMB_BITS` bits.
            start: the position of the lowest new bit.
        """
        limbs, (place, inside) = self.limbs[:, places], divmod(start, LIMB_BITS)
        added = bits << inside
        limbs[place] |= added & (1 << LIMB_BITS) - 1
        limbs[place + 1] |= added >> LIMB_BITS
        return TextNumbers(self.kind, limbs)
