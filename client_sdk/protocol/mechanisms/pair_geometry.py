"""Pair geometry: two members of a set are drawn, and a report favors blocks around one or both.

An input is a padded set of m different elements. Two of them are drawn, whatever the set is. A
report is a block of elements: with a known probability it is drawn from the blocks that the pair
favors, otherwise from the other blocks. If m is 2, the pair favors the blocks that contain at least
one of the two elements. If m is larger, it favors those that contain exactly one of them.

A block with N of the m elements is favored by N (m - N) of the m (m - 1) / 2 pairs, at most by
floor(m**2 / 4) of them, and by no pair if N is 0. Because the draw hides the set, the ratio of the
probabilities of a block, given a pair, may be 1 + (e**epsilon - 1) m (m - 1) / 2 / floor(m**2 / 4).
For m up to 3, every block with some of the elements, but not all 3, is then e**epsilon times as
likely as a block with none: such a channel is nearly optimal.

A block is the elements on a hyperplane of PG(t-1, q). Elements are points of which no three lie on
a line, so that the same number of blocks contains any one, any two, and any three of them. Whether
a block contains an element therefore depends on whether the element is in the set, and not on the
set's other members: the shares are unbiased. A block design without this property for triples
would bias them.

The points are those of a product of elliptic paraboloids. Element x has the n digits a, b, c, … in
base q, and the vector (1, a, b, …, a*a - w*b*b, …), where w is the least non-residue: one more
coordinate for every two digits. If n is odd, the last digit's square is the last coordinate. On a
line, such a square form is constant or takes each value at most twice, and it is constant only if
both of its digits are. Three points of a line therefore have all digits in common.

Sources: Wang, Huang, Nie, Wang, Xu & Yang 2018, "PrivSet: set-valued data analyses with locale
differential privacy" (all blocks of a size, weighted by whether they meet the set); Mukhopadhyay
1978, "Lower bounds on m_r(r, s)" (products of caps); Feldman, Nelson, Nguyen & Talwar 2022,
"Private frequency estimation via projective geometry" (hyperplanes as reports).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice
from math import comb
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from client_sdk.protocol.channel import COIN_SCALE, MOST_LIKELIEST, Channel, Coins
from client_sdk.protocol.mechanisms.designs import is_prime
from client_sdk.protocol.mechanisms.projective_geometry import ProjectiveGeometry
from client_sdk.protocol.requested_epsilon import RequestedEpsilon

if TYPE_CHECKING:
    from client_sdk.protocol.mechanisms.catalogue import ChannelRequest

MOST_SYMBOLS: Final = 2**18
"""The maximum number of blocks. A tally (64-bit counters) takes at most 2 MB."""

MOST_PRIME: Final = 61
"""The largest prime whose four-dimensional geometry has at most `MOST_SYMBOLS` hyperplanes."""

GOOD_ENOUGH: Final = Fraction(102, 100)
"""The maximum of a variance divided by the minimum, as in `designs`."""

PAIR: Final = 2


class PairBlocks(NamedTuple):
    """The blocks of a geometry, for padded sets of m elements.

    Attributes:
        prime: q, odd.
        dimension: t, the number of coordinates of a point.
        drawn: m, at least 2.

    """

    prime: int
    dimension: int
    drawn: int

    @property
    def each(self) -> int:
        """The number of blocks with only the first element of a pair: as many as points off it."""
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
        """Return the worst ratio of pairs that gives sets the worst ratio ``ratio``."""
        return 1 + (ratio - 1) / self.most_pairs

    @property
    def most_pairs(self) -> Fraction:
        """The maximum share of a set's pairs that favor the same block."""
        return Fraction(1) if self.drawn == PAIR else Fraction(self.drawn**2 // 4, comb(self.drawn, 2))

    def support(self, keep: Fraction) -> tuple[Fraction, Fraction]:
        """Return the probabilities that a block contains an element of the pair, and any other."""
        both = self._through(2) if self.drawn == PAIR else 0
        with_third = 2 * (self._through(2) - self._through(3)) + (self._through(3) if self.drawn == PAIR else 0)
        own, other = (
            keep * of_favored / self.favored
            + (1 - keep) * (self._through(1) - of_favored) / (self.number - self.favored)
            for of_favored in (self.each + both, with_third)
        )
        return own, other

    def rare_variance(self, odds: Fraction) -> Fraction:
        """Return n times the variance of the share of a rare value at e**epsilon = ``odds``."""
        weight = self.pair_ratio(odds) * self.favored
        own, other = self.support(weight / (weight + self.number - self.favored))
        return other * (1 - other) * self.drawn**2 / (2 * (own - other)) ** 2

    def _through(self, elements: int) -> int:
        """Return the number of blocks that contain a given number of elements, up to 3."""
        return int((self.prime ** (self.dimension - elements) - 1) // (self.prime - 1))


def best_blocks(values: int, drawn: int, odds: Fraction) -> PairBlocks | None:
    """Return the fewest blocks with nearly the least variance for sets of ``drawn`` of ``values``.

    Return None if there are none: sets of one member have no pairs.
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
        inputs: K, the number of values and dummies; a set is padded to m different ones.
        prime: q, an odd prime.
        dimension: t, the number of coordinates of a point.
        drawn: m, the number of members and dummies in a padded set, two of which are drawn.
        keep_numerator: the probability that the drawn pair favors the block, times 2**64.

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
        """Number the points of the geometry, and find the least non-residue."""
        geometry = ProjectiveGeometry(self.inputs, self.prime, self.dimension, self.keep_numerator)
        squares = {root * root % self.prime for root in range(self.prime)}
        object.__setattr__(self, "blocks", PairBlocks(self.prime, self.dimension, self.drawn))
        object.__setattr__(self, "geometry", geometry)
        object.__setattr__(self, "_residue", next(each for each in range(self.prime) if each not in squares))

    @classmethod
    def build(cls, request: ChannelRequest) -> PairGeometry:
        """Return the channel of the blocks that `best_blocks` selects.

        Raises:
            ValueError: if sets have at most one member, or too many values.

        """
        values, drawn = request.size - 1, request.kind.drawn
        blocks = best_blocks(values, drawn, request.epsilon.odds)
        if blocks is None:
            raise ValueError(f"{cls.name!r} has no blocks for sets of {drawn} of {values} values; use 'auto'")
        return cls.within(request.epsilon, values + drawn, blocks)

    @classmethod
    def within(cls, epsilon: RequestedEpsilon, inputs: int, blocks: PairBlocks) -> PairGeometry:
        """Return the channel with the largest keep-probability within the requested epsilon."""
        weight = blocks.pair_ratio(epsilon.odds) * blocks.favored
        keep = int(COIN_SCALE * weight / (weight + blocks.number - blocks.favored))
        return cls(inputs, blocks.prime, blocks.dimension, blocks.drawn, keep)

    @property
    def symbols(self) -> int:
        """The number of blocks."""
        return self.blocks.number

    @property
    def integers(self) -> dict[str, int]:
        """The integers that define the channel's law."""
        return {
            "inputs": self.inputs,
            "prime": self.prime,
            "dimension": self.dimension,
            "drawn": self.drawn,
            "keep_numerator": self.keep_numerator,
        }

    @property
    def worst_ratio(self) -> Fraction:
        """The ratio between a set most of whose pairs favor a block, and a set without any."""
        others = self.symbols - self.blocks.favored
        of_pair = Fraction(self.keep_numerator * others, (COIN_SCALE - self.keep_numerator) * self.blocks.favored)
        return 1 + (of_pair - 1) * self.blocks.most_pairs

    def vector(self, element: int) -> tuple[int, ...]:
        """Return the point of an element: t coordinates, the first of which is 1."""
        prime, digits = self.prime, 2 * (self.dimension - 1) // 3
        rest, own = element, []
        for _ in range(digits):
            rest, digit = divmod(rest, prime)
            own.append(digit)
        pairs = zip(own[::2], [*own[1::2], *[0] * (digits % 2)], strict=True)
        forms = [(first * first - self._residue * second * second) % prime for first, second in pairs]
        return (1, *own, *forms)

    def probability(self, symbol: int, given: Sequence[int]) -> Fraction:
        """Return P(symbol | given) for a padded set of m different inputs."""
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
        """Return the first few elements of a block; of all elements if the block has none."""
        inside = (each for each in range(self.inputs) if self.contains(symbol, each))
        return list(islice(inside, MOST_LIKELIEST)) or list(range(self.inputs))[:MOST_LIKELIEST]

    def perturb(self, value: Sequence[int], coins: Coins) -> int:
        """Return a block that a random pair of elements favors, or, for a lie, does not favor.

        Both blocks are always drawn. The blocks of a pair are numbered: those with only the first
        element, those with only the second, those with both, and those with neither.
        """
        first = coins.below(self.drawn)
        steps = 1 + coins.below(self.drawn - 1)
        keep = coins.bernoulli(self.keep_numerator)
        kept = coins.below(self.blocks.favored)
        lie = self.blocks.favored + coins.below(self.symbols - self.blocks.favored)
        place = kept if keep else lie
        return self.block(value[first], value[(first + steps) % self.drawn], place)

    def block(self, first: int, second: int, place: int) -> int:
        """Return the block at a place, from 0 to `symbols` - 1, for two different elements.

        A block is a vector up to a factor. Its products with the two elements are (0, 1), (1, 0),
        (0, 0) or (1, 1 …), and all of its coordinates are free but two: the first one, and that of
        the first digit in which the elements differ. These two follow from the products.
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
        apart = [(a - b) % prime for a, b in zip(left, right, strict=True)]
        pivot = next(at for at, difference in enumerate(apart) if difference)
        vector = [0] * self.dimension
        for at in range(self.dimension - 1, 0, -1):
            free, digit = (free, 0) if at == pivot else divmod(free, prime)
            vector[at] = digit
        wanted = products[0] - products[1] - sum(a * b for a, b in zip(vector, apart, strict=True))
        vector[pivot] = wanted * pow(apart[pivot], -1, prime) % prime
        vector[0] = (products[0] - sum(a * b for a, b in zip(vector, left, strict=True))) % prime
        number = 0
        for coordinate in vector:
            number = number * prime + coordinate
        return self.geometry.point(number)
