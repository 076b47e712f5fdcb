"""The groups that hear of a text, and the public hash of each.

A group of a level hears of the text's leading bits; a confirming group hears of all bits. Of what a
group hears, a device reports the cell of the group's own hash. Groups, weights and hashes follow
from the question alone.

The hash is multilinear over the integers modulo 2**31 - 1, then modulo the number of cells. Two
texts share a cell of one group with a chance of about one over the number of cells, independently
in each group (Carter & Wegman 1979, "Universal classes of hash functions").
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256, shake_256
from typing import Final

MOST_STEP_BITS: Final = 10
"""The most bits that a level adds to the level before: a found prefix has 1,024 continuations."""

LEAST_STEP_BITS: Final = 4
"""The least. With fewer, a text of many letters needs too many levels."""

CROWD_BITS: Final = 7
"""Cells must be 2**7 times as many as continuations of a prefix. Otherwise some continuation shares
a cell with one of the hundred most common texts at every level, and candidates that nobody has
multiply.
"""

EARLY_LETTERS: Final = 8
"""Most words differ from all others within this many first letters.

The levels within them get twice the devices.
"""

EARLY_WEIGHT: Final = 8

LATE_WEIGHT: Final = 4

CONFIRMING_QUARTERS: Final = 3
"""The weight of a confirming group, in quarters of the last level's: both together confirm what
that level lets through.
"""

CONFIRMING: Final = 2
"""The number of confirming groups. In one alone, two texts of one cell could not be told apart."""

LIMB_BITS: Final = 30
"""The bits of a text that one multiplier takes: a product stays below 2**61."""

MODULUS: Final = 2**31 - 1
"""The prime of the hash."""

_SEED: Final = b"hearsay text 1"
_WORD_BYTES: Final = 4
_SPARE_WORDS: Final = 4
"""One word of 2**31 is refused."""


@dataclass(frozen=True, slots=True)
class Group:
    """What one group of devices hears of a text.

    Attributes:
        bits: the number of leading bits.
        weight: the group's part of all devices is its weight by the sum of all weights.
        multipliers: of its hash: the summand, then one for each limb of `LIMB_BITS` bits, lowest
            first.

    """

    bits: int
    weight: int
    multipliers: tuple[int, ...]

    def cell(self, heard: int, cells: int) -> int:
        """Return the cell, from 0 to ``cells`` - 1, of the `bits` bits that the group hears."""
        return self.hashed(heard) % cells

    def hashed(self, heard: int) -> int:
        """Return the hash of what the group hears, from 0 to `MODULUS` - 1."""
        total, *multipliers = self.multipliers
        for multiplier in multipliers:
            total += (heard & (1 << LIMB_BITS) - 1) * multiplier % MODULUS
            heard >>= LIMB_BITS
        return total % MODULUS


def groups_of(letters: str, max_length: int, cells: int, *, discover: bool) -> tuple[Group, ...]:
    """Return the groups of a question: the levels, then those that confirm.

    Args:
        letters: its letters, in order.
        max_length: L, the most letters of a text.
        cells: the number of cells of every hash.
        discover: whether there are levels.

    """
    bits = max_length * letter_bits(letters)
    sizes = _sizes(bits, letter_bits(letters), cells) if discover else [(bits, 1)] * CONFIRMING
    seed = _SEED + sha256(letters.encode()).digest() + max_length.to_bytes(2, "big")
    return tuple(Group(*size, _multipliers(seed + bytes([number]), size[0])) for number, size in enumerate(sizes))


def step_bits(cells: int) -> int:
    """Return the bits that a level adds to the level before, for hashes of ``cells`` cells."""
    return max(LEAST_STEP_BITS, min(MOST_STEP_BITS, cells.bit_length() - 1 - CROWD_BITS))


def letter_bits(letters: str) -> int:
    """Return c, the bits of a letter: they tell the letters and the end apart."""
    return len(letters).bit_length()


def _sizes(bits: int, of_letter: int, cells: int) -> list[tuple[int, int]]:
    """Return each group's bits and weight; the first level has no more prefixes than cells."""
    ends = [*range(cells.bit_length() - 1, bits, step_bits(cells)), bits]
    levels = [(end, EARLY_WEIGHT if end <= EARLY_LETTERS * of_letter else LATE_WEIGHT) for end in ends]
    return levels + [(bits, levels[-1][1] * CONFIRMING_QUARTERS // 4)] * CONFIRMING


def _multipliers(seed: bytes, bits: int) -> tuple[int, ...]:
    """Return a summand and a multiplier for each limb, each uniform from 0 to `MODULUS` - 1."""
    needed = 1 - (-bits // LIMB_BITS)
    stream = shake_256(seed).digest(_WORD_BYTES * (needed + _SPARE_WORDS))
    words = [
        int.from_bytes(stream[start : start + _WORD_BYTES], "big") & MODULUS
        for start in range(0, len(stream), _WORD_BYTES)
    ]
    return tuple(word for word in words if word < MODULUS)[:needed]
