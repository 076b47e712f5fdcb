"""Balanced designs: a device reports a block of values, usually one that contains the answer.

There are v values, 0..v-1, and each block contains s of them. The k possible answers are the values
0..k-1. The other v - k values are never answers. `block_design` defines the probabilities, and
`difference_family` computes the blocks.

A design is *balanced* if every pair of values is in the same number of blocks. The variance of an
estimated share is then exactly the variance of subset selection, which uses all sets of s values.
With v = k and the optimal s, no channel has a smaller variance (Ye & Barg 2018). If v is a prime
slightly above k, the variance is about 1 + 2 (v - k) / k**2 times the minimum.

`balanced_choice` compares the designs with at most `MAX_SYMBOLS` symbols. A design is good enough
if its variance exceeds the minimum by at most one part in `TOLERANCE`. Of these designs, the one
with the fewest symbols is selected. If no design is good enough, the one with the smallest variance
is selected.

Source: Pan 2026, "Strict optimality of frequency and distribution estimation under local
differential privacy": designs with balanced pairs reach the minimum variance with k(k-1)/2 + 1
symbols.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate, islice
from math import gcd, isqrt
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from client_sdk.protocol.mechanisms.block_design import BlockDesign, keep_within
from client_sdk.protocol.mechanisms.difference_family import (
    balanced_starters,
    multipliers,
    proper_divisors,
    values_by_starter,
)
from client_sdk.protocol.requested_epsilon import RequestedEpsilon

if TYPE_CHECKING:
    from client_sdk.protocol.mechanisms.catalogue import ChannelRequest

MAX_SYMBOLS: Final = 2**16
"""The maximum number of symbols. The counters of all symbols then take at most half a megabyte."""

TOLERANCE: Final = 4000
"""A design is good enough if its variance exceeds the minimum by at most one part in
`TOLERANCE`."""

PRIMES_TRIED: Final = 12
"""The number of primes v that are tried. The first prime is the smallest one that is at least the
number of answers. Larger primes have larger variances."""

LEAST_POINTS: Final = 5
LEAST_BLOCK: Final = 2
LEAST_DRAWN_BLOCK: Final = 3
"""The minimum block size of random blocks, which are used if v is not prime. Random blocks of two
values are rarely balanced. Blocks of two values are not needed, because a cyclic design already
contains all of them."""

ANY_DIVISORS_UP_TO: Final = 128
MOST_DIVISORS: Final = 12
"""The maximum number of proper divisors of v, if v is above `ANY_DIVISORS_UP_TO`. With more
divisors, the starters' weights seldom fit into 64 bits, and computing the weights is slow (seconds
for v = 168)."""

UNIT: Final = 2**40
"""Odds and variances are integers in units of 1 / `UNIT`. Fractions would be too slow."""


@dataclass(frozen=True, slots=True)
class BalancedDesign(BlockDesign):
    """The channel whose blocks are computed from a few *starters*, which are sets of s values.

    A starter times a *multiplier*, modulo v, is a *base block*. A base block plus a shift, modulo
    v, is a block. With M multipliers, base block b is starter b // M times multiplier b % M. All
    base blocks of a starter are equally likely.

    Attributes:
        inputs: k, the number of possible answers, at most v.
        points: v, the modulus, which is k or a prime.
        block_size: s, the number of values in a block, from 2 to v - 2.
        order: the order of a group of units. Multiplication by these units leaves each starter
            unchanged. The order is 1 if v is not prime.
        starters: the numbers from which `values_by_starter` computes the starters, in ascending
            order.
        weights: for each starter, the relative frequency of each of its base blocks.
    """

    name: ClassVar[str] = "balanced-design"

    inputs: int
    points: int
    block_size: int
    order: int
    starters: tuple[int, ...]
    weights: tuple[int, ...]
    keep_numerator: int
    _ends: tuple[int, ...] = field(init=False, repr=False, compare=False)
    _multipliers: tuple[int, ...] = field(init=False, repr=False, compare=False)
    _orders: dict[int, tuple[int, ...]] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_ends", tuple(accumulate(self.weights)))
        object.__setattr__(self, "_multipliers", multipliers(self.points, self.order))

    @classmethod
    def build(cls, request: ChannelRequest) -> BalancedDesign:
        """Return the channel for a request. `balanced_choice` selects the design."""
        inputs, odds = request.size, request.epsilon.odds
        design = balanced_choice(inputs, odds)
        if design is None:
            raise ValueError(
                f"{cls.name!r} has no design for {inputs} values with {MAX_SYMBOLS} symbols or fewer; use 'auto'"
            )
        return cls.within(request.epsilon, inputs, design.points, design.block_size, design.order)

    @classmethod
    def within(cls, epsilon: RequestedEpsilon, inputs: int, points: int, block_size: int, order: int) -> BalancedDesign:
        """Return the channel with the largest `keep_numerator` that ``epsilon`` allows."""
        starters, weights = zip(*balanced_starters(points, block_size).items(), strict=True)
        keep = keep_within(epsilon, points, block_size)
        return cls(inputs, points, block_size, order, starters, weights, keep)

    @property
    def base_blocks(self) -> int:
        """The number of base blocks: one for each starter and each multiplier."""
        return len(self.starters) * len(self._multipliers)

    @property
    def integers(self) -> dict[str, int | tuple[int, ...]]:
        """The integers that define the channel, keyed by name."""
        return {
            "inputs": self.inputs,
            "points": self.points,
            "block_size": self.block_size,
            "order": self.order,
            "starters": self.starters,
            "weights": self.weights,
            "keep_numerator": self.keep_numerator,
        }

    def base_block(self, index: int) -> tuple[int, ...]:
        """Return the values of base block ``index`` in ascending order."""
        starter, place = divmod(index, len(self._multipliers))
        members = self._values(starter)[: self.block_size]
        return tuple(sorted(self._multipliers[place] * member % self.points for member in members))

    def _element(self, index: int, place: int) -> int:
        starter, multiple = divmod(index, len(self._multipliers))
        return self._multipliers[multiple] * self._values(starter)[place] % self.points

    def _values(self, starter: int) -> tuple[int, ...]:
        """Return the values 0..v-1, the members of a starter first."""
        values = self._orders.get(starter)
        if values is None:
            values = values_by_starter(self.points, self.block_size, self.order, self.starters[starter])
            self._orders[starter] = values
        return values


class Design(NamedTuple):
    """A balanced design. Designs sort by variance, then by number of symbols.

    Attributes:
        variance: the variance of an estimated share, times the number of reports, in units of
            2**-40. All answers are assumed to be equally common.
        symbols: an upper bound on the number of symbols.
        points, block_size, order: as in `BalancedDesign`.
    """

    variance: int
    symbols: int
    points: int
    block_size: int
    order: int


class _Family(NamedTuple):
    """The designs that have the same ``points`` and ``order``, but different block sizes."""

    points: int
    order: int
    symbols: int
    least_block: int


def balanced_choice(inputs: int, odds: Fraction) -> Design | None:
    """Return the design for ``inputs`` answers at e**epsilon = ``odds``.

    The module docstring describes the selection. Return None if every design has more than
    `MAX_SYMBOLS` symbols.
    """
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
    """Yield a family's designs with block sizes near the one that has the smallest variance."""
    points, order = family.points, family.order
    below = points * UNIT // (UNIT + odds) // order * order
    sizes = {below, below + 1, below + order, below + order + 1} if order > 1 else {below, below + 1}
    for size in sizes:
        if family.symbols <= MAX_SYMBOLS and family.least_block <= size <= points - 2:
            yield Design(_variance(inputs, points, size, odds), family.symbols, points, size, order)


def _of_all_values(points: int) -> Iterator[_Family]:
    """Yield the family of designs in which all values are possible answers, if there is one."""
    if LEAST_POINTS < points <= MAX_SYMBOLS and not _is_prime(points):
        units = sum(gcd(unit, points) == 1 for unit in range(points))
        divisors = len(proper_divisors(points))
        if points <= ANY_DIVISORS_UP_TO or divisors <= MOST_DIVISORS:
            yield _Family(points, 1, (divisors + 1) * units // 2 * points, LEAST_DRAWN_BLOCK)


def _of_prime(prime: int) -> Iterator[_Family]:
    """Yield one family of designs for each order that is possible if v is ``prime``."""
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
    """Return `Design.variance`. ``odds`` is e**epsilon in units of 2**-40."""
    others = UNIT * (points - size)
    total = (points - 1) * (odds * size + others)
    own = odds * size * (points - 1)
    other = odds * size * (size - 1) + others * size
    squares = other * (total - other) * (inputs - 1) + own * (total - own)
    return squares * UNIT // (inputs * (own - other) ** 2)
