"""Pair geometry: a device draws two elements of its set, and reports a block that depends on both.

An *element* is a value of the metric, or a *dummy*, which represents no value. An input is a set of
values, to which dummies are added until there are m different elements. The device draws a pair of
these elements at random. A *block* is a public set of elements, the same on all devices. A pair
*favors* some blocks:

* For m = 2, a pair favors the blocks that contain at least one of its elements.
* For m above 2, a pair favors the blocks that contain exactly one of its elements.

With a known probability, the device reports a random favored block, and otherwise a random other
block.

A report does not reveal the drawn pair. Therefore, given the pair, a favored block may be more than
e**epsilon times as likely as another block. Suppose that m is above 2, and that a block contains N
elements of the set. Then N (m - N) of the set's m (m - 1) / 2 pairs favor the block. The number N
(m - N) is at most floor(m**2 / 4), and 0 for N = 0. Given the pair, a favored block is r times as
likely as another block, where r is:

    r = 1 + (e**epsilon - 1) m (m - 1) / 2 / floor(m**2 / 4)

For m = 4, at most 4 of the 6 pairs favor a block, and r is 1 + 1.5 (e**epsilon - 1). For m = 2 or
3, the channel is nearly optimal: a block favored by a pair of the set is exactly e**epsilon times
as likely as a block that contains no element of the set.

Elements are points of the projective geometry PG(t-1, q). Each block consists of the elements on
one hyperplane. No three elements lie on a line. Therefore every element is in the same number of
blocks. The same is true of every pair and of every triple. The probability that a reported block
contains an element then depends only on whether the element is in the set. Therefore the estimated
shares are unbiased.

The point of an element is computed from the n digits a, b, c, d, ... of the element in base q. The
point's vector is (1, a, b, c, d, ..., a*a - w*b*b, c*c - w*d*d, ...): a 1, the digits, and one
*form* for every two digits. Here, w is the smallest number that is not a square modulo q. If n is
odd, the form of the last digit is its square.

No three such points lie on a line. Along a line, every coordinate changes linearly. The form of two
digits changes quadratically if a digit changes, because a*a - w*b*b is 0 only if a and b are 0. A
linear and a quadratic function agree at no more than two points. Three elements on a line would
therefore have the same digits.

Sources: Wang, Huang, Nie, Wang, Xu & Yang 2018, "PrivSet: set-valued data analyses with locale
differential privacy" (with all sets of one size as blocks); Mukhopadhyay 1978, "Lower bounds on
m_r(r, s)" (sets of points, no three of which are on a line); Feldman, Nelson, Nguyen & Talwar 2022,
"Private frequency estimation via projective geometry" (hyperplanes as reports).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice
from math import comb
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple, Self

from client_sdk.protocol.channel import COIN_SCALE, MOST_LIKELIEST, Channel, Coins
from client_sdk.protocol.mechanisms.designs import is_prime
from client_sdk.protocol.mechanisms.projective_geometry import ProjectiveGeometry
from client_sdk.protocol.requested_epsilon import RequestedEpsilon

if TYPE_CHECKING:
    from client_sdk.protocol.mechanisms.catalogue import ChannelRequest

MOST_SYMBOLS: Final = 2**18
"""The maximum number of blocks. With one 64-bit counter for each block, a tally takes at most 2
MB."""

MOST_PRIME: Final = 61
"""The largest prime that is tried. For the next prime q, PG(3, q) has more than `MOST_SYMBOLS`
hyperplanes."""

GOOD_ENOUGH: Final = Fraction(102, 100)
"""The largest acceptable ratio of a geometry's variance to the minimum."""

PAIR: Final = 2


class PairBlocks(NamedTuple):
    """The sizes of a pair geometry.

    Attributes:
        prime: q, an odd prime.
        dimension: t, the number of coordinates of a point's vector.
        drawn: m, the number of elements of a padded set, at least 2.
    """

    prime: int
    dimension: int
    drawn: int

    @property
    def each(self) -> int:
        """The number of blocks with the first but not the second element of a pair: q**(t - 2)."""
        return int(self.prime ** (self.dimension - PAIR))

    @property
    def number(self) -> int:
        """The number of blocks."""
        return self._through(0)

    @property
    def favored(self) -> int:
        """The number of blocks that a pair favors."""
        return 2 * self.each + (self._through(2) if self.drawn == PAIR else 0)

    def pair_ratio(self, ratio: Fraction) -> Fraction:
        """Return the probability ratio of a favored block to another block, given the pair.

        The result is r in the module docstring. A block is then at most ``ratio`` times as likely
        for one set as for another.
        """
        return 1 + (ratio - 1) / self.most_pairs

    @property
    def most_pairs(self) -> Fraction:
        """The maximum share of a set's pairs that favor the same block, such as 4/6 for m = 4."""
        return Fraction(1) if self.drawn == PAIR else Fraction(self.drawn**2 // 4, comb(self.drawn, 2))

    def support(self, keep: Fraction) -> tuple[Fraction, Fraction]:
        """Return two probabilities that a reported block contains a given element.

        The first probability is for an element of the drawn pair, the second for any other element.
        ``keep`` is the probability that the drawn pair favors the reported block.
        """
        both = self._through(2) if self.drawn == PAIR else 0
        with_third = 2 * (self._through(2) - self._through(3)) + (self._through(3) if self.drawn == PAIR else 0)
        own, other = (
            keep * of_favored / self.favored
            + (1 - keep) * (self._through(1) - of_favored) / (self.number - self.favored)
            for of_favored in (self.each + both, with_third)
        )
        return own, other

    def rare_variance(self, odds: Fraction) -> Fraction:
        """Return the variance of a rare value's estimated share, times the number of reports."""
        weight = self.pair_ratio(odds) * self.favored
        own, other = self.support(weight / (weight + self.number - self.favored))
        return other * (1 - other) * self.drawn**2 / (2 * (own - other)) ** 2

    def _through(self, elements: int) -> int:
        """Return the number of blocks that contain a given set of 0, 1, 2 or 3 elements."""
        return int((self.prime ** (self.dimension - elements) - 1) // (self.prime - 1))


def best_blocks(values: int, drawn: int, odds: Fraction) -> PairBlocks | None:
    """Return the geometry with the fewest blocks among those with nearly minimal variance.

    Geometries with more than `MOST_SYMBOLS` blocks are excluded; return None if no geometry
    remains. A variance is nearly minimal if it is at most `GOOD_ENOUGH` times the minimum.
    """
    known = [(blocks.rare_variance(odds), blocks) for blocks in _all_blocks(values + drawn, drawn)]
    if not known:
        return None
    least = min(variance for variance, _ in known)
    return min((blocks for variance, blocks in known if variance <= GOOD_ENOUGH * least), key=lambda each: each.number)


def _all_blocks(inputs: int, drawn: int) -> Iterator[PairBlocks]:
    for prime in filter(is_prime, range(3, MOST_PRIME + 1)):
        digits = 1
        while prime**digits < inputs:
            digits += 1
        blocks = PairBlocks(prime, 1 + digits + -(-digits // 2), drawn)
        if drawn >= PAIR and blocks.number <= MOST_SYMBOLS:
            yield blocks


@dataclass(frozen=True, slots=True)
class PairGeometry(Channel):
    """The channel from a padded set to a block.

    Attributes:
        inputs: K, the number of elements: all values, and m dummies.
        keep_numerator: the probability that the drawn pair favors the reported block, times 2**64.
        prime, dimension, drawn: as in `PairBlocks`.
    """

    name: ClassVar[str] = "pair-geometry"

    inputs: int
    prime: int
    dimension: int
    drawn: int
    keep_numerator: int
    blocks: PairBlocks = field(init=False, repr=False, compare=False)
    geometry: ProjectiveGeometry = field(init=False, repr=False, compare=False)
    _residue: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        geometry = ProjectiveGeometry(self.inputs, self.prime, self.dimension, self.keep_numerator)
        squares = {root * root % self.prime for root in range(self.prime)}
        object.__setattr__(self, "blocks", PairBlocks(self.prime, self.dimension, self.drawn))
        object.__setattr__(self, "geometry", geometry)
        object.__setattr__(self, "_residue", next(each for each in range(self.prime) if each not in squares))

    @classmethod
    def build(cls, request: ChannelRequest) -> PairGeometry:
        """Return the channel for a request about sets. `best_blocks` selects the geometry."""
        values, drawn = request.size - 1, request.kind.drawn
        blocks = best_blocks(values, drawn, request.epsilon.odds)
        if blocks is None:
            raise ValueError(f"{cls.name!r} has no blocks for sets of {drawn} of {values} values; use 'auto'")
        return cls.within(request.epsilon, values + drawn, blocks)

    @classmethod
    def within(cls, epsilon: RequestedEpsilon, inputs: int, blocks: PairBlocks) -> Self:
        """Return the channel with the largest `keep_numerator` that ``epsilon`` allows."""
        weight = blocks.pair_ratio(epsilon.odds) * blocks.favored
        keep = int(COIN_SCALE * weight / (weight + blocks.number - blocks.favored))
        return cls(inputs, blocks.prime, blocks.dimension, blocks.drawn, keep)

    @property
    def symbols(self) -> int:
        """The number of blocks."""
        return self.blocks.number

    @property
    def integers(self) -> dict[str, int]:
        """The integers that define the channel, keyed by name."""
        return {
            "inputs": self.inputs,
            "prime": self.prime,
            "dimension": self.dimension,
            "drawn": self.drawn,
            "keep_numerator": self.keep_numerator,
        }

    @property
    def worst_ratio(self) -> Fraction:
        """The largest ratio of a block's probabilities for two sets."""
        others = self.symbols - self.blocks.favored
        of_pair = Fraction(self.keep_numerator * others, (COIN_SCALE - self.keep_numerator) * self.blocks.favored)
        return 1 + (of_pair - 1) * self.blocks.most_pairs

    def vector(self, element: int) -> tuple[int, ...]:
        """Return the vector of an element's point, as the module docstring defines it."""
        prime, digits = self.prime, 2 * (self.dimension - 1) // 3
        rest, own = element, []
        for _ in range(digits):
            rest, digit = divmod(rest, prime)
            own.append(digit)
        pairs = zip(own[::2], [*own[1::2], *[0] * (digits % 2)], strict=True)
        forms = [(first * first - self._residue * second * second) % prime for first, second in pairs]
        return (1, *own, *forms)

    def probability(self, symbol: int, given: Sequence[int]) -> Fraction:
        """Return P(symbol | given): the probability of a block, given a padded set."""
        inside = sum(self.contains(symbol, each) for each in given)
        pairs = inside * (self.drawn - inside) + (comb(inside, 2) if self.drawn == PAIR else 0)
        favoring, keep = Fraction(pairs, comb(self.drawn, 2)), Fraction(self.keep_numerator, COIN_SCALE)
        favored = self.blocks.favored
        return favoring * keep / favored + (1 - favoring) * (1 - keep) / (self.symbols - favored)

    def contains(self, symbol: int, element: int) -> bool:
        """Whether a block contains an element."""
        vectors = zip(self.geometry.vector(symbol), self.vector(element), strict=True)
        return sum(a * b for a, b in vectors) % self.prime == 0

    def likeliest(self, symbol: int) -> Sequence[int]:
        """Return a block's first few elements, or the first few inputs if the block is empty."""
        inside = (each for each in range(self.inputs) if self.contains(symbol, each))
        return list(islice(inside, MOST_LIKELIEST)) or list(range(self.inputs))[:MOST_LIKELIEST]

    def perturb(self, value: Sequence[int], coins: Coins) -> int:
        """Draw a pair of elements; return a block, which is usually one that the pair favors.

        Both a favored block and a block that is not favored are always drawn. If only one of the
        two blocks were drawn, the duration of the call could reveal whether the pair favors the
        reported block.
        """
        first = coins.below(self.drawn)
        steps = 1 + coins.below(self.drawn - 1)
        keep = coins.bernoulli(self.keep_numerator)
        kept = coins.below(self.blocks.favored)
        lie = self.blocks.favored + coins.below(self.symbols - self.blocks.favored)
        place = kept if keep else lie
        return self.block(value[first], value[(first + steps) % self.drawn], place)

    def block(self, first: int, second: int, place: int) -> int:
        """Return the block at index ``place`` in a list of all blocks.

        The order of the list depends on the two elements ``first`` and ``second``. The list
        contains, in this order:

        * blocks with only the first element
        * blocks with only the second element
        * blocks with both elements
        * blocks with neither element

        A vector defines a block's hyperplane: the points whose inner product with the vector is 0.
        Multiples of the vector define the same hyperplane. The function computes the multiple whose
        inner products with the vectors of the two elements are (0, 1), (1, 0), (0, 0) or (1, c),
        where c is not 0. Two coordinates of this multiple follow from these two inner products. All
        other coordinates are free, and ``place`` determines their values. One of the two
        coordinates is at the position of the leading 1 in the first element's vector. The other is
        the first coordinate in which the second element's vector differs from a multiple of the
        first element's vector.
        """
        prime, each = self.prime, self.blocks.each
        both = self.geometry.common
        part, free = divmod(place, each)
        if place < 2 * each:
            products = (part, 1 - part)
        elif place < 2 * each + both:
            products, free = (0, 0), self.geometry.number(place - 2 * each)
        else:
            part, free = divmod(place - 2 * each - both, each)
            products = (1, 1 + part)
        left, right = self.vector(first), self.vector(second)
        leading = left.index(1)  # all coordinates before it are 0
        factor = right[leading]
        apart = [(b - factor * a) % prime for a, b in zip(left, right, strict=True)]
        pivot = next(at for at, difference in enumerate(apart) if difference)
        vector = [0] * self.dimension
        for at in range(self.dimension - 1, -1, -1):
            free, digit = (free, 0) if at in (leading, pivot) else divmod(free, prime)
            vector[at] = digit
        wanted = products[1] - factor * products[0] - sum(a * b for a, b in zip(vector, apart, strict=True))
        vector[pivot] = wanted * pow(apart[pivot], -1, prime) % prime
        vector[leading] = (products[0] - sum(a * b for a, b in zip(vector, left, strict=True))) % prime
        number = 0
        for coordinate in vector:
            number = number * prime + coordinate
        return self.geometry.point(number)
