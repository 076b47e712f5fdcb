"""Added noise: the common parts of the channels with Laplace and Gaussian noise on an even grid.

Inputs are the k points 0..k-1 of a grid. The symbol is the sum of the input, of ``reach`` and of
the noise, which is an independent integer. The sum is then clamped to 0..m-1, with m = k + 2 *
reach. The noise is symmetric, so a list of weights for 0, 1, … defines its distribution. The
modules of the two mechanisms define the weights and name the sources.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate

from client_sdk.protocol.channel import Channel, Coins


@dataclass(frozen=True, slots=True)
class AdditiveNoise(Channel):
    """The channel of symmetric noise.

    Attributes:
        inputs: k, at least 2.
        reach: the number of symbols beyond the inputs, on either side.
        weights: the weight of noise n and of noise -n, for n = 0, 1, …; each at least 0.

    """

    inputs: int
    reach: int
    weights: tuple[int, ...]
    _sums: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Compute the weights' running sums, which are used to find the noise by bisection."""
        object.__setattr__(self, "_sums", tuple(accumulate(self.weights)))

    @property
    def symbols(self) -> int:
        """The number of symbols, m = k + 2 * reach."""
        return self.inputs + 2 * self.reach

    @property
    def total(self) -> int:
        """The sum of the weights of all symbols, which is the same for every input."""
        return 2 * self._sums[-1] - self.weights[0]

    @property
    def integers(self) -> dict[str, int | tuple[int, ...]]:
        """The integers that define the channel."""
        return {"inputs": self.inputs, "reach": self.reach, "weights": self.weights}

    def weight(self, symbol: int, given: int) -> int:
        """Return ``total`` times P(symbol | given); an end symbol includes all noise beyond it."""
        noise = symbol - self.reach - given
        if symbol == 0:
            return self._at_least(-noise)
        if symbol == self.symbols - 1:
            return self._at_least(noise)
        return self.weights[abs(noise)] if abs(noise) < len(self.weights) else 0

    def probability(self, symbol: int, given: int) -> Fraction:
        """Return P(symbol | given): the probability of a symbol, given an input."""
        return Fraction(self.weight(symbol, given), self.total)

    def likeliest(self, symbol: int) -> Sequence[int]:
        """Return the input that is nearest to a symbol, because noise 0 is most likely."""
        return (min(max(symbol - self.reach, 0), self.inputs - 1),)

    def perturb(self, value: int, coins: Coins) -> int:
        """Return a symbol for the input ``value``; always draw one coin."""
        return self.shifted(value, self.noise(coins.below(self.total)))

    def noise(self, drawn: int) -> int:
        """Return the noise that a drawn number, from 0 to total - 1, selects by the weights."""
        is_negative = drawn >= self._sums[-1]
        size = bisect_right(self._sums, drawn - is_negative * (self._sums[-1] - self.weights[0]))
        return size * (1 - 2 * is_negative)

    def shifted(self, value: int, noise: int) -> int:
        """Return the symbol for an input and its noise, clamped to the range of symbols."""
        return min(max(value + noise + self.reach, 0), self.symbols - 1)

    def _at_least(self, noise: int) -> int:
        """Return the weight of all noise of at least ``noise``."""
        if noise <= 0:
            return self.total - self._at_least(1 - noise)
        return self._sums[-1] - self._sums[min(noise, len(self._sums)) - 1]
