"""Balanced designs: blocks in which every pair of values occurs equally often.

A block contains s of the v values 0..v-1, and all arithmetic is modulo v. Blocks are built from a
block called the *starter*:

* A starter times a *multiplier* is a *base block*.
* A base block plus a *shift* is a block.

The design contains the blocks for all multipliers and all v shifts. For example, with v = 7, the
starter {1, 2, 4} needs only the multiplier 1. The seven shifts of this base block are seven blocks.
Each value is in three blocks, and each pair of values is in one block.

Because of the shifts, the number of blocks that contain a pair depends only on the pair's
difference. Because of the multipliers, this number depends only on the greatest common divisor of
this difference and v. Multipliers are *units*: values that have no common divisor above 1 with v.
Multiplication by some units turns the starter into itself or its negative, which has the same
differences. Two units are in the same *coset* if their quotient is one of these units. One
multiplier from each coset is enough.

If v is prime, the greatest common divisor is always 1, so that every starter is balanced. The
starter is a union of cosets of a group of units. Therefore few multipliers are needed (Wilson 1972,
"Cyclotomy and difference families in elementary abelian groups", section 3).

If v is not prime, the design combines several random starters with integer weights. With these
weights, all differences occur equally often, even if they have different divisors in common with v.
More starters are drawn until such weights exist. The number of weights above 0 is at most the
number of divisors of v above 1 (Caratheodory 1911).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import lru_cache
from hashlib import shake_256
from math import gcd

from client_sdk.protocol.channel import COIN_SCALE

Row = list[int]


def non_negative_solution(equations: list[Row], totals: Row) -> dict[int, int] | None:
    """Return non-negative column weights that solve all equations up to a common factor.

    The weighted sum of each row is the row's total times an integer that is the same for all rows.
    For example, for 1 a + 3 b = 2 and 2 a + 2 b = 2, the weights a = 1 and b = 1 yield 4 and 4,
    twice the totals. The result maps column indices to positive integers that have no common
    divisor. Columns without an entry have weight 0. There are at most as many entries as equations.
    Return None if there is no solution.

    Each of ``equations`` contains the coefficients of a row. Each of ``totals`` is at least 0, and
    at least one of ``totals`` is above 0.

    The function uses the simplex method in exact integers. Each division by a pivot is exact
    (Edmonds 1967, "Systems of distinct representatives and linear algebra"; Bareiss 1968). The
    column with the largest sum enters the basis, because this rule needs few pivots. After a pivot
    without progress, the first possible column enters, so that the method cannot cycle (Bland 1977,
    "New finite pivoting rules for the simplex method", theorem 3.1). All machines find the same
    solution.
    """
    rows = [[*row, total] for row, total in zip(equations, totals, strict=True)]
    basis = [len(equations[0]) + index for index in range(len(rows))]  # one artificial column for each equation
    missing, scale, progress = [sum(column) for column in zip(*rows, strict=True)], 1, True
    while (most := max(missing[:-1])) > 0:
        entering = missing.index(most) if progress else next(i for i, each in enumerate(missing) if each > 0)
        leaving = _leaving(rows, basis, entering)
        pivot, progress = rows[leaving], rows[leaving][-1] > 0
        others = [pivot if row is pivot else _eliminated(row, pivot, entering, scale) for row in rows]
        missing = _eliminated(missing, pivot, entering, scale)
        rows, scale, basis[leaving] = others, pivot[entering], entering
    if missing[-1]:
        return None
    weights = {column: row[-1] for column, row in zip(basis, rows, strict=True) if row[-1]}
    divisor = gcd(*weights.values())
    return {column: weights[column] // divisor for column in sorted(weights)}


def _leaving(rows: list[Row], basis: Row, entering: int) -> int:
    """Return the index of the row that limits the weight of the entering column most."""
    best = None
    for index, row in enumerate(rows):
        if row[entering] > 0:
            if best is None:
                best = index
                continue
            ours, theirs = row[-1] * rows[best][entering], rows[best][-1] * row[entering]
            if (ours, basis[index]) < (theirs, basis[best]):
                best = index
    assert best is not None  # noqa: S101 the missing part decreases, so some row limits the weight
    return best


def _eliminated(row: Row, pivot: Row, entering: int, scale: int) -> Row:
    factor, lead = row[entering], pivot[entering]
    return [(each * lead - factor * other) // scale for each, other in zip(row, pivot, strict=True)]


WORDS_OF = b"hearsay balanced design 1"
"""The prefix of the hashed data that determines a starter. The number of values v, the block size s
and the starter's number follow, each as 8 big-endian bytes."""

REMEMBERED = 128
"""The maximum number of cached starters, and of cached designs. For each metric, a device uses
about twenty starters."""


def proper_divisors(points: int) -> Row:
    """Return the divisors of v from 2 to v - 1; empty if v is prime."""
    return [divisor for divisor in range(2, points // 2 + 1) if points % divisor == 0]


def multipliers(points: int, order: int) -> tuple[int, ...]:
    """Return the multipliers of a starter: the smallest unit of each coset of a group.

    The group consists of the units u with u**order = 1 modulo v = ``points``, and their negatives.
    A coset is the group times one unit. For example, for v = 7 and order 1, the group is {1, 6}.
    The cosets are {1, 6}, {2, 5} and {3, 4}, and the multipliers are 1, 2 and 3. If v is not prime,
    the order is 1.
    """
    signed = {sign * unit % points for unit in _subgroup(points, order) for sign in (1, -1)}
    return tuple(coset[0] for coset in _cosets(points, signed) if gcd(coset[0], points) == 1)


@lru_cache(maxsize=REMEMBERED)
def values_by_starter(points: int, block_size: int, order: int, starter: int) -> tuple[int, ...]:
    """Return the values 0..v-1, starting with the s members of a starter.

    In the signature, ``points`` is v and ``block_size`` is s.

    If v is prime, the values are listed coset by coset, for the group of units u with u**order = 1.
    The cosets are sorted by their smallest values. The value 0 is the first value if the order is
    above 1 and s is one more than a multiple of the order. Otherwise, 0 is the last value. The only
    starter has the number 0.

    If v is not prime, SHAKE-256 hashes `WORDS_OF`, v, s and the starter's number. The hash yields
    one 64-bit big-endian integer (word) for each value. The values are sorted by their words. For
    equal words, the lower value comes first.
    """
    if proper_divisors(points):
        seed = WORDS_OF + struct.pack(">3Q", points, block_size, starter)
        words = struct.unpack(f">{points}Q", shake_256(seed).digest(8 * points))
        return tuple(sorted(range(points), key=words.__getitem__))
    units = [value for coset in _cosets(points, _subgroup(points, order)) for value in coset]
    return (0, *units) if block_size % order == 1 else (*units, 0)


@lru_cache(maxsize=REMEMBERED)
def balanced_starters(points: int, block_size: int) -> dict[int, int]:
    """Return a balanced design as a mapping from each starter's number to the starter's weight."""
    divisors = proper_divisors(points)
    if not divisors:
        return {0: 1}
    most = COIN_SCALE // len(multipliers(points, 1))  # one coin draws a starter and a multiplier
    first, drawn = 0, 3 * len(divisors) + 4  # with 2 per divisor, weights exist with probability 1/2 (Wendel 1962)
    while True:
        starters = range(first, first + drawn)
        weights = _weights(points, block_size, divisors, starters)
        if weights is not None and sum(weights.values()) <= most:
            return weights
        first, drawn = (first, 2 * drawn) if weights is None else (first + drawn, drawn)


def _weights(points: int, block_size: int, divisors: Row, starters: range) -> dict[int, int] | None:
    """Return the design as in `balanced_starters`; None if no weights balance ``starters``."""
    blocks = [values_by_starter(points, block_size, 1, each)[:block_size] for each in starters]
    pairs = [[(points - 1) * _alike(block, divisor) for block in blocks] for divisor in divisors]
    all_pairs = block_size * (block_size - 1)
    right = [all_pairs * (points // divisor - 1) for divisor in divisors]
    weights = non_negative_solution([[1] * len(blocks), *pairs], [1, *right])
    return None if weights is None else {starters[column]: weight for column, weight in weights.items()}


def _alike(block: tuple[int, ...], divisor: int) -> int:
    """Return how many ordered pairs of a block's values differ by a multiple of a divisor."""
    counts = [0] * divisor
    for value in block:
        counts[value % divisor] += 1
    return sum(count * (count - 1) for count in counts)


def _subgroup(points: int, order: int) -> set[int]:
    """Return the units with unit**order = 1 modulo v. An order above 1 requires a prime v."""
    for unit in range(1, points):
        generator = pow(unit, (points - 1) // order, points) if order > 1 else 1
        group, member = {1}, generator
        while member != 1:
            group.add(member)
            member = member * generator % points
        if len(group) == order:
            return group
    raise AssertionError


def _cosets(points: int, group: set[int]) -> Iterator[Row]:
    """Yield the cosets of a group of units, sorted by their smallest values; leave out {0}."""
    seen: set[int] = set()
    for value in range(1, points):
        if value not in seen:
            coset = sorted(value * unit % points for unit in group)
            seen.update(coset)
            yield coset
