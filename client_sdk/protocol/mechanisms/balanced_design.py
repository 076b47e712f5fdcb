"""Balanced designs: block designs in which every two values share the same number of blocks.

A report names a block, which is a set of s of the values 0..v-1. Blocks that contain the answer are
more likely than others. There are k possible answers. If v is above k, the other v - k values are
never answers. `block_design` defines the probabilities.

All values are in the same number of blocks. All pairs of values are also in the same number of
blocks. Therefore the variance of an estimated share is *exactly* the same as if every set of s
values were a block (subset selection). If v is k and s is the best size, no channel has a smaller
variance (Ye & Barg 2018). If v is a prime slightly above k, the variance is about 1 +
2 (v - k) / k**2 times as large, but there are fewer symbols.

`balanced_choice` considers the designs with at most `MAX_SYMBOLS` symbols. Among the designs whose
variance exceeds the minimum over all channels by at most one part in `TOLERANCE`, it returns the
one with the fewest symbols. If there is no such design, it returns the design with the smallest
variance. While the schema number of the registry stays the same, the same k and epsilon always lead
to the same design.

Source: Pan 2026, "Strict optimality of frequency and distribution estimation under local
differential privacy" (balanced pairs are sufficient for the minimum variance, and k(k - 1)/2 + 1
symbols are enough). The module `difference_family` computes the blocks.
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
"""The maximum number of symbols. A tally then takes at most half a megabyte."""

TOLERANCE: Final = 4000
"""The variance of a design may exceed the minimum of all channels by one part in 4,000, which is
too little to matter."""

PRIMES_TRIED: Final = 12
"""The number of primes v that are tried, beginning with the smallest prime that is at least the
number of answers. With larger primes, the variance would be too large."""

LEAST_POINTS: Final = 5
LEAST_BLOCK: Final = 2
LEAST_DRAWN_BLOCK: Final = 3
"""The minimum block size if v is not prime, and blocks are therefore drawn at random. Random blocks
of two values are rarely balanced. They are not needed, either, because a cyclic design already
contains all blocks of two values."""

ANY_DIVISORS_UP_TO: Final = 128
MOST_DIVISORS: Final = 12
"""The maximum number of proper divisors of a v above `ANY_DIVISORS_UP_TO`. With more divisors, the
weights of random blocks seldom fit into 64 bits, so that the search for such blocks would be slow
(seconds for v = 168)."""

UNIT: Final = 2**40
"""Odds and variances are integers in units of 1 / `UNIT`, because fractions would be too slow."""


@dataclass(frozen=True, slots=True)
class BalancedDesign(BlockDesign):
    """The channel whose blocks are computed from a few starters. A starter is a block of s values.

    If all values of a starter are multiplied by a *multiplier*, modulo v, the result is a *base
    block*. If a shift is then added to all values, modulo v, the result is a block. With M
    multipliers, base block b is starter b // M times multiplier b % M. The base blocks from the
    same starter form a family, and are equally likely.

    Attributes:
        inputs: k, the number of possible answers, at most v.
        points: v, the modulus, which is k or a prime.
        block_size: s, the number of values in a block, from 2 to v - 2.
        order: how many factors leave a starter unchanged when they multiply all its values, modulo
            v. If v is not prime, the order is 1.
        starters: the numbers of the starters, in ascending order.
        weights: for each starter, the relative frequency at which it is drawn.
        keep_numerator: the probability that the reported block contains the answer, times 2**64.

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
        """Compute the running sums of the weights, and list the multipliers."""
        object.__setattr__(self, "_ends", tuple(accumulate(self.weights)))
        object.__setattr__(self, "_multipliers", multipliers(self.points, self.order))

    @classmethod
    def build(cls, request: ChannelRequest) -> BalancedDesign:
        """Return the channel for a question, with the design that `balanced_choice` selects.

        Raises:
            ValueError: if every design for this number of answers has more than `MAX_SYMBOLS`
                symbols.

        """
        inputs, odds = request.size, request.epsilon.odds
        design = balanced_choice(inputs, odds)
        if design is None:
            raise ValueError(
                f"{cls.name!r} has no design for {inputs} values with {MAX_SYMBOLS} symbols or fewer; use 'auto'"
            )
        return cls.within(request.epsilon, inputs, design.points, design.block_size, design.order)

    @classmethod
    def within(cls, epsilon: RequestedEpsilon, inputs: int, points: int, block_size: int, order: int) -> BalancedDesign:
        """Return the channel whose blocks contain the answer as often as epsilon allows."""
        starters, weights = zip(*balanced_starters(points, block_size).items(), strict=True)
        keep = keep_within(epsilon, points, block_size)
        return cls(inputs, points, block_size, order, starters, weights, keep)

    @property
    def base_blocks(self) -> int:
        """The number of base blocks: one for each starter and each multiplier."""
        return len(self.starters) * len(self._multipliers)

    @property
    def integers(self) -> dict[str, int | tuple[int, ...]]:
        """The integers that determine all probabilities of the channel, by name."""
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
        """Return the values 0..v-1, sorted so that the members of a starter come first.

        The result is computed when it is first needed, and then cached.
        """
        values = self._orders.get(starter)
        if values is None:
            values = values_by_starter(self.points, self.block_size, self.order, self.starters[starter])
            self._orders[starter] = values
        return values


class Design(NamedTuple):
    """A balanced design. Designs sort by their variance, then by their number of symbols.

    Attributes:
        variance: n times the variance of a share that is estimated from n reports, in units of
            2**-40, if all answers are equally common.
        symbols: the maximum number of symbols.
        points: v, the modulus, which is k or a prime.
        block_size: s, the number of values in a block.
        order: the order that `BalancedDesign` explains.

    """

    variance: int
    symbols: int
    points: int
    block_size: int
    order: int


class _Family(NamedTuple):
    """The designs with the same v and the same order. They differ in their block size."""

    points: int
    order: int
    symbols: int
    least_block: int


def balanced_choice(inputs: int, odds: Fraction) -> Design | None:
    """Return the best design for ``inputs`` answers at e**epsilon = ``odds``.

    The module's docstring defines which design is best. The result is None if every design has more
    than `MAX_SYMBOLS` symbols.
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
    """Yield the designs of a family whose block size is nearest to the best block size."""
    points, order = family.points, family.order
    below = points * UNIT // (UNIT + odds) // order * order
    sizes = {below, below + 1, below + order, below + order + 1} if order > 1 else {below, below + 1}
    for size in sizes:
        if family.symbols <= MAX_SYMBOLS and family.least_block <= size <= points - 2:
            yield Design(_variance(inputs, points, size, odds), family.symbols, points, size, order)


def _of_all_values(points: int) -> Iterator[_Family]:
    """Yield the family of designs in which all points are answers, if there is such a family."""
    if LEAST_POINTS < points <= MAX_SYMBOLS and not _is_prime(points):
        units = sum(gcd(unit, points) == 1 for unit in range(points))
        divisors = len(proper_divisors(points))
        if points <= ANY_DIVISORS_UP_TO or divisors <= MOST_DIVISORS:
            yield _Family(points, 1, (divisors + 1) * units // 2 * points, LEAST_DRAWN_BLOCK)


def _of_prime(prime: int) -> Iterator[_Family]:
    """Yield one family of designs with a prime v for each possible order."""
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
    """Return the `Design.variance` of a design. ``odds`` is e**epsilon in units of 2**-40."""
    others = UNIT * (points - size)
    total = (points - 1) * (odds * size + others)
    own = odds * size * (points - 1)
    other = odds * size * (size - 1) + others * size
    squares = other * (total - other) * (inputs - 1) + own * (total - own)
    return squares * UNIT // (inputs * (own - other) ** 2)
