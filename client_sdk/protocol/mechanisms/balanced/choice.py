"""Which balanced design is taken for k values: one of the least variance, with few symbols.

Of the designs of at most `MAX_SYMBOLS` symbols whose variance is within `TOLERANCE` of the least of
any channel, the one with the fewest symbols is taken. If there is none, the one of least variance.
The choice for a number of values and an epsilon never changes within a schema number.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import islice
from math import gcd, isqrt
from typing import Final, NamedTuple

from client_sdk.protocol.mechanisms.balanced.difference_family import proper_divisors

MAX_SYMBOLS: Final = 2**16
"""The tally stays below half a megabyte."""

TOLERANCE: Final = 4000
"""The tolerated excess is the least variance over this: no table of four digits shows it."""

PRIMES_TRIED: Final = 12
"""The primes from k on that are looked at: a farther one has too much variance."""

LEAST_POINTS: Final = 5
LEAST_BLOCK: Final = 2
LEAST_DRAWN_BLOCK: Final = 3
"""Pairs of a v that is not prime are rarely balanced by chance; cyclic designs have them all."""

ANY_DIVISORS_UP_TO: Final = 128
MOST_DIVISORS: Final = 12
"""Up to 128 points have any number of divisors, more points at most 12 proper ones: otherwise
starters are found too slowly, because their weights seldom fit 64 bits (168 points: seconds)."""

UNIT: Final = 2**40
"""Odds and variances are integers, in units of 2**-40, because fractions would take too long."""


class Design(NamedTuple):
    """A balanced design; the first two fields order designs by variance, then symbols.

    Attributes:
        variance: n times the variance of a share in a uniform population, in
            units of 2**-40.
        symbols: the most symbols that it has.
        points: v.
        block_size: s.
        order: how many units leave a starter as it is.

    """

    variance: int
    symbols: int
    points: int
    block_size: int
    order: int


class _Family(NamedTuple):
    """The designs of v points whose starters are unions of orbits of some units."""

    points: int
    order: int
    symbols: int
    least_block: int


def balanced_choice(inputs: int, odds: Fraction) -> Design | None:
    """Return the design of k values at e**epsilon = ``odds``; None if all have too many symbols."""
    scaled = int(odds * UNIT)
    families = [*_of_all_values(inputs), *(family for prime in _primes(inputs) for family in _of_prime(prime))]
    designs = [design for family in families for design in _designs(family, inputs, scaled)]
    if not designs:
        return None
    best = inputs * UNIT // (UNIT + scaled)
    sizes = range(max(1, best - 1), min(inputs - 1, best + 2) + 1)
    least = min(_variance(inputs, inputs, size, scaled) for size in sizes)
    good = [design for design in designs if (design.variance - least) * TOLERANCE <= least]
    return min(good, key=lambda design: (design.symbols, design)) if good else min(designs)


def _designs(family: _Family, inputs: int, odds: int) -> Iterator[Design]:
    """Yield the designs whose block size is next to the best one."""
    points, order = family.points, family.order
    below = points * UNIT // (UNIT + odds) // order * order
    sizes = {below, below + 1, below + order, below + order + 1} if order > 1 else {below, below + 1}
    for size in sizes:
        if family.symbols <= MAX_SYMBOLS and family.least_block <= size <= points - 2:
            yield Design(_variance(inputs, points, size, odds), family.symbols, points, size, order)


def _of_all_values(points: int) -> Iterator[_Family]:
    """Yield designs of exactly the values, unless their number is prime or has many divisors."""
    if LEAST_POINTS < points <= MAX_SYMBOLS and not _is_prime(points):
        units = sum(gcd(unit, points) == 1 for unit in range(points))
        divisors = len(proper_divisors(points))
        if points <= ANY_DIVISORS_UP_TO or divisors <= MOST_DIVISORS:
            yield _Family(points, 1, (divisors + 1) * units // 2 * points, LEAST_DRAWN_BLOCK)


def _of_prime(prime: int) -> Iterator[_Family]:
    """Yield the designs for each order of units that divides v - 1."""
    units = prime - 1
    divisors = [divisor for divisor in range(1, isqrt(units) + 1) if units % divisor == 0]
    for order in {*divisors, *(units // divisor for divisor in divisors)} - {units}:
        yield _Family(prime, order, prime * units // (order if order % 2 == 0 else 2 * order), LEAST_BLOCK)


def _primes(least: int) -> Iterator[int]:
    numbers = range(max(least, LEAST_POINTS), MAX_SYMBOLS + 1)
    return islice((number for number in numbers if _is_prime(number)), PRIMES_TRIED)


def _is_prime(number: int) -> bool:
    return all(number % divisor for divisor in range(2, isqrt(number) + 1))


def _variance(inputs: int, points: int, size: int, odds: int) -> int:
    """Return n times the variance of a share, as `auto` has it in fractions."""
    others = UNIT * (points - size)
    total = (points - 1) * (odds * size + others)
    own = odds * size * (points - 1)
    other = odds * size * (size - 1) + others * size
    squares = other * (total - other) * (inputs - 1) + own * (total - own)
    return squares * UNIT // (inputs * (own - other) ** 2)
