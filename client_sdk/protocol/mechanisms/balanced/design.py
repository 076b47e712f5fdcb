"""Balanced designs: a report names a block of s values; every two values share equally many blocks.

With a known probability the block holds the answer; otherwise it does not. Within either case the
blocks have fixed weights. Because values and pairs of values are balanced, the variance is
*exactly* that of subset selection among v values, which is the least of all channels if s is the
best size and v is k (Ye & Barg 2018). A prime v a little above k has about 1 + 2 (v - k) / k**2
times that variance, and fewer symbols.

Sources: Park, Nam & Lee 2023, "Block design schemes for the locally differentially private discrete
distribution estimation", section IV (the channel of a design); Pan 2026, "Strict optimality of
frequency and distribution estimation under local differential privacy" (balance of pairs is enough,
with k(k - 1)/2 + 1 symbols). `difference_family` has the blocks.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING, ClassVar

from client_sdk.protocol.channel import Channel
from client_sdk.protocol.coins import COIN_SCALE, Coins
from client_sdk.protocol.mechanisms.balanced.choice import MAX_SYMBOLS, balanced_choice
from client_sdk.protocol.mechanisms.balanced.difference_family import balanced_starters, multipliers, values_by_starter
from client_sdk.protocol.requested_epsilon import RequestedEpsilon

if TYPE_CHECKING:
    from client_sdk.protocol.mechanisms.mechanism import ChannelRequest


@dataclass(frozen=True, slots=True)
class BalancedDesign(Channel):
    """The channel of the shifts of weighted base blocks.

    Symbol b * v + shift stands for the values of base block b, each plus ``shift``, modulo v. Base
    block b is starter b // M times multiplier b % M, where M is the number of multipliers.

    Attributes:
        inputs: k, at most v.
        points: v, a prime or k.
        block_size: s, from 3 to v - 2.
        order: how many units of Z_v leave a starter as it is; 1 if v is no prime.
        starters: the numbers of the starters, rising.
        weights: how often each starter is drawn, relative to the others.
        keep_numerator: the probability that the reported block holds the answer, times 2**64.

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
        """Add up the weights, and list the multipliers."""
        object.__setattr__(self, "_ends", tuple(accumulate(self.weights)))
        object.__setattr__(self, "_multipliers", multipliers(self.points, self.order))

    @classmethod
    def build(cls, request: ChannelRequest) -> BalancedDesign:
        """Return the channel of the design of least variance.

        Raises:
            ValueError: if there is no design.

        """
        inputs, odds = request.size, request.epsilon.odds
        design = balanced_choice(inputs, odds)
        if design is None:
            raise ValueError(
                f"{cls.name!r} has no design for {inputs} values with {MAX_SYMBOLS} symbols or fewer; let auto choose"
            )
        return cls.within(request.epsilon, inputs, design.points, design.block_size, design.order)

    @classmethod
    def within(cls, epsilon: RequestedEpsilon, inputs: int, points: int, block_size: int, order: int) -> BalancedDesign:
        """Return the channel with the largest keep-probability within the requested epsilon."""
        weight = epsilon.odds * block_size
        keep_numerator = int(COIN_SCALE * weight / (weight + points - block_size))
        starters, weights = zip(*balanced_starters(points, block_size).items(), strict=True)
        return cls(inputs, points, block_size, order, starters, weights, keep_numerator)

    @property
    def base_blocks(self) -> int:
        """The number of base blocks: every multiple of every starter."""
        return len(self.starters) * len(self._multipliers)

    @property
    def symbols(self) -> int:
        """The number of blocks: every shift of every base block."""
        return self.base_blocks * self.points

    @property
    def integers(self) -> dict[str, int | tuple[int, ...]]:
        """The integers that define the law."""
        return {
            "inputs": self.inputs,
            "points": self.points,
            "block_size": self.block_size,
            "order": self.order,
            "starters": self.starters,
            "weights": self.weights,
            "keep_numerator": self.keep_numerator,
        }

    @property
    def worst_ratio(self) -> Fraction:
        """P(a block that holds the answer) / P(a block that does not)."""
        outside = self.points - self.block_size
        return Fraction(self.keep_numerator * outside, (COIN_SCALE - self.keep_numerator) * self.block_size)

    def base_block(self, index: int) -> tuple[int, ...]:
        """Return the values of base block ``index``, from 0 to base_blocks - 1, in rising order."""
        starter, place = divmod(index, len(self._multipliers))
        members = self._values(starter)[: self.block_size]
        return tuple(sorted(self._multipliers[place] * member % self.points for member in members))

    def chance(self, index: int) -> Fraction:
        """Return the probability that base block ``index`` is drawn."""
        starter = index // len(self._multipliers)
        return Fraction(self.weights[starter], self._ends[-1] * len(self._multipliers))

    def probability(self, symbol: int, given: int) -> Fraction:
        """Return P(symbol | given)."""
        index, shift = divmod(symbol, self.points)
        starter, place = divmod(index, len(self._multipliers))
        member = (given - shift) * pow(self._multipliers[place], -1, self.points) % self.points
        if member in self._values(starter)[: self.block_size]:
            return self.chance(index) * Fraction(self.keep_numerator, COIN_SCALE * self.block_size)
        others = self.points - self.block_size
        return self.chance(index) * Fraction(COIN_SCALE - self.keep_numerator, COIN_SCALE * others)

    def likeliest(self, symbol: int) -> Sequence[int]:
        """Return the values of the symbol's block; all of them if it holds none."""
        base, shift = divmod(symbol, self.points)
        held = sorted((value + shift) % self.points for value in self.base_block(base))
        return [value for value in held if value < self.inputs] or range(self.inputs)

    def perturb(self, value: int, coins: Coins) -> int:
        """Return a shift of a random base block that maps a member, or a non-member, to the value.

        A member and a non-member are drawn in either case: a draw made for only one case would
        reveal by its time which case it was. The base block is drawn without looking at the value.
        """
        factors, total = self._multipliers, self._ends[-1]
        drawn = coins.below(total * len(factors))
        place = drawn // total
        starter = bisect_right(self._ends, drawn - place * total)
        keep = coins.bernoulli(self.keep_numerator)
        kept = coins.below(self.block_size)
        lie = coins.below(self.points - self.block_size)
        element = self._values(starter)[kept if keep else self.block_size + lie]
        shift = (value - factors[place] * element) % self.points
        return (starter * len(factors) + place) * self.points + shift

    def _values(self, starter: int) -> tuple[int, ...]:
        """Return all values: the members of a starter, then the others.

        They are derived when they are first needed.
        """
        values = self._orders.get(starter)
        if values is None:
            values = values_by_starter(self.points, self.block_size, self.order, self.starters[starter])
            self._orders[starter] = values
        return values
