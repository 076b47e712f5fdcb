"""Balanced designs: every value is in equally many blocks, and so is every pair of values.

A block consists of s of the v values 0..v-1, and all arithmetic is modulo v. Blocks are made from a
first block, the *starter*, in two steps. Multiplying all values of the starter by a *multiplier*
yields a *base block*. Adding a number, called the shift, to all values of a base block yields a
block. The design contains the blocks for all multipliers and all shifts. For instance, for v = 7,
the starter {1, 2, 4} needs only the multiplier 1, and the seven shifts yield seven blocks. Every
value is in three of them, and every pair of values is in one.

Because all shifts are used, every value is in equally many blocks, and two pairs of values with the
same difference are in equally many blocks. The multipliers have a similar effect on differences:
two differences occur equally often in the base blocks if they have the same greatest common divisor
with v. Multipliers are *units*, which are values that have no common divisor with v except 1. Some
units turn the starter into itself, or into its negative, which has the same differences. Units that
differ only by such a factor form a *coset*, and only one unit of each coset is used.

If v is prime, all pairs are then balanced, whatever the starter is, because all differences have
the greatest common divisor 1 with v. The starter is a union of cosets of a group of units, so that
few multipliers are needed (Wilson 1972, "Cyclotomy and difference families in elementary abelian
groups", section 3).

If v is not prime, several random starters are combined, each with a weight. The weights balance
differences that have different common divisors with v. For every divisor of v, multiples of the
divisor then occur as differences as often as they would if all sets of s values were blocks. More
starters are drawn until there are such weights. The weights are integers. The number of weights
above 0 is at most the number of divisors of v above 1 (Caratheodory 1911).
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
    """Return weights of columns that solve all equations up to a common factor.

    With these weights, the left-hand side of every equation is its total times the same integer.
    For instance, for the equations 1 a + 3 b = 2 and 2 a + 2 b = 2, the weights a = 1 and b = 1
    yield 4 and 4, which is twice the totals. The result maps the indices of some columns to their
    weights, which are positive integers without a common divisor. All other columns have the weight
    0. There are at most as many weights as equations. If there are no such weights, return None.

    This is the simplex method in exact integers: each division by a pivot is exact (Edmonds 1967,
    "Systems of distinct representatives and linear algebra"; Bareiss 1968). Of all columns that may
    enter the basis, the one with the largest sum is chosen, because this rule takes few pivots.
    After a pivot without progress, the first column that may enter is chosen instead. With this
    rule, the method cannot cycle (Bland 1977, "New finite pivoting rules for the simplex method",
    theorem 3.1). Therefore the search always ends, and it returns the same solution on every
    machine.

    Args:
        equations: the coefficients, one row for each equation.
        totals: the right-hand sides, each at least 0 and some above 0.

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
    """Return the index of the row that limits the weight of the entering column most.

    If several rows limit the weight equally, choose the row whose column in the basis has the
    lowest index.
    """
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
"""The first bytes of the data that is hashed to draw a starter. The number of values v, the block
size s and the number of the starter follow, each as 8 big-endian bytes."""

REMEMBERED = 128
"""The maximum number of starters that are cached, and of designs whose weights are cached. A device
uses about twenty starters for each metric."""


def proper_divisors(points: int) -> Row:
    """Return the divisors of v from 2 to v - 1; empty if v is prime."""
    return [divisor for divisor in range(2, points // 2 + 1) if points % divisor == 0]


def multipliers(points: int, order: int) -> tuple[int, ...]:
    """Return the multipliers of a starter, which are the smallest units of a group's cosets.

    The group consists of the units u with u**order = 1 modulo v, and of their negatives. A coset
    consists of all products of one unit with the members of the group. For instance, for v = 7 and
    the order 1, the group is {1, 6}, its cosets are {1, 6}, {2, 5} and {3, 4}, and the multipliers
    are 1, 2 and 3.

    Args:
        points: v, the number of values.
        order: the number of units u with u**order = 1 modulo v that map the starter to itself; 1 if
            v is not prime.

    """
    signed = {sign * unit % points for unit in _subgroup(points, order) for sign in (1, -1)}
    return tuple(coset[0] for coset in _cosets(points, signed) if gcd(coset[0], points) == 1)


@lru_cache(maxsize=REMEMBERED)
def values_by_starter(points: int, block_size: int, order: int, starter: int) -> tuple[int, ...]:
    """Return the values 0..v-1, sorted so that the s members of a starter come before all others.

    If v is prime, the values are listed coset by coset, for the group of units u with u**order = 1.
    The cosets are sorted by their smallest values. The value 0 is in none of them. If
    the order of the group is above 1, and s is one more than a multiple of this order, then 0 is
    the first value. Otherwise it is the last.

    If v is not prime, SHAKE-256 hashes `WORDS_OF`, v, s and the starter's number. The result is a
    list of 64-bit big-endian integers (words), one for each value. The values are sorted by their
    words. If two words are equal, the lower value comes first.

    Args:
        points: v, the number of values.
        block_size: s, the number of members of the starter.
        order: as for `multipliers`.
        starter: the number of the starter, from 0; always 0 if v is prime.

    """
    if proper_divisors(points):
        seed = WORDS_OF + struct.pack(">3Q", points, block_size, starter)
        words = struct.unpack(f">{points}Q", shake_256(seed).digest(8 * points))
        return tuple(sorted(range(points), key=words.__getitem__))
    units = [value for coset in _cosets(points, _subgroup(points, order)) for value in coset]
    return (0, *units) if block_size % order == 1 else (*units, 0)


@lru_cache(maxsize=REMEMBERED)
def balanced_starters(points: int, block_size: int) -> dict[int, int]:
    """Return the weight of each starter of a design, keyed by the starter's number.

    If starters are drawn with probabilities proportional to these weights, every pair of values is
    equally likely to occur in a block.
    """
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
    """Return weights of some of the starters that balance all pairs of values.

    The result maps the number of a starter to its weight. Return None if there are no such weights.
    """
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
    """Return the units with unit**order = 1 modulo v. If the order is not 1, v must be prime."""
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
    """Yield the cosets of a group of units, sorted by their smallest value, without {0}."""
    seen: set[int] = set()
    for value in range(1, points):
        if value not in seen:
            coset = sorted(value * unit % points for unit in group)
            seen.update(coset)
            yield coset
