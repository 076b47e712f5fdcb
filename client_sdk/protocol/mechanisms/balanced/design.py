"""Balanced designs: block designs in which every two values share equally many blocks.

`block_design` has the law. Because values and pairs of values are balanced, the variance is
*exactly* that of subset selection among v values, which is the least of all channels if s is the
best size and v is k (Ye & Barg 2018). A prime v a little above k has about 1 + 2 (v - k) / k**2
times that variance, and fewer symbols.

Source: Pan 2026, "Strict optimality of frequency and distribution estimation under local
differential privacy" (balance of pairs is enough, with k(k - 1)/2 + 1 symbols). `difference_family`
has the blocks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, ClassVar

from client_sdk.protocol.mechanisms.balanced.choice import MAX_SYMBOLS, balanced_choice
from client_sdk.protocol.mechanisms.balanced.difference_family import balanced_starters, multipliers, values_by_starter
from client_sdk.protocol.mechanisms.block_design import BlockDesign, keep_within
from client_sdk.protocol.requested_epsilon import RequestedEpsilon

if TYPE_CHECKING:
    from client_sdk.protocol.mechanisms.mechanism import ChannelRequest


@dataclass(frozen=True, slots=True)
class BalancedDesign(BlockDesign):
    """The channel of the shifts of weighted base blocks.

    Base block b is starter b // M times multiplier b % M, where M is the number of multipliers: the
    multiples of a starter are a family.

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
        starters, weights = zip(*balanced_starters(points, block_size).items(), strict=True)
        keep = keep_within(epsilon, points, block_size)
        return cls(inputs, points, block_size, order, starters, weights, keep)

    @property
    def base_blocks(self) -> int:
        """The number of base blocks: every multiple of every starter."""
        return len(self.starters) * len(self._multipliers)

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

    def base_block(self, index: int) -> tuple[int, ...]:
        """Return the values of base block ``index``, from 0 to base_blocks - 1, in rising order."""
        starter, place = divmod(index, len(self._multipliers))
        members = self._values(starter)[: self.block_size]
        return tuple(sorted(self._multipliers[place] * member % self.points for member in members))

    def _element(self, index: int, place: int) -> int:
        starter, multiple = divmod(index, len(self._multipliers))
        return self._multipliers[multiple] * self._values(starter)[place] % self.points

    def _values(self, starter: int) -> tuple[int, ...]:
        """Return all values: the members of a starter, then the others.

        They are derived when they are first needed.
        """
        values = self._orders.get(starter)
        if values is None:
            values = values_by_starter(self.points, self.block_size, self.order, self.starters[starter])
            self._orders[starter] = values
        return values
