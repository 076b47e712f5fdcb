"""The common base of channels that add Laplace or Gaussian noise to a grid point.

Inputs are the k evenly spaced points 0..k-1. The symbol is input + ``reach`` + noise, clamped to
0..m-1, with m = k + 2 * reach. The noise is a random integer, independent of the input. Noise n and
noise -n have the same weight. `laplace` and `gaussian` define the weights and name the sources.
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
    """The channel that adds symmetric noise to a grid point.

    Attributes:
        inputs: k, the number of grid points, at least 2.
        reach: the number of symbols below the symbol for input 0 and noise 0. The same number of
            symbols is above the symbol for the last input and noise 0.
        weights: the weight of noise n and of noise -n, for n = 0, 1, …; each weight is at least 0.
    """

    inputs: int
    reach: int
    weights: tuple[int, ...]
    _sums: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_sums", tuple(accumulate(self.weights)))

    @property
    def symbols(self) -> int:
        """The number of symbols, which is inputs + 2 * reach."""
        return self.inputs + 2 * self.reach

    @property
    def total(self) -> int:
        """The sum of the weights of all symbols, which is the same for every input."""
        return 2 * self._sums[-1] - self.weights[0]

    @property
    def integers(self) -> dict[str, int | tuple[int, ...]]:
        """The integers that define the channel, keyed by name."""
        return {"inputs": self.inputs, "reach": self.reach, "weights": self.weights}

    def weight(self, symbol: int, given: int) -> int:
        """Return ``total`` times the probability of ``symbol`` if the input is ``given``.

        Noise that would lead beyond the first or the last symbol counts for that symbol.
        """
        noise = symbol - self.reach - given
        if symbol == 0:
            return self._at_least(-noise)
        if symbol == self.symbols - 1:
            return self._at_least(noise)
        return self.weights[abs(noise)] if abs(noise) < len(self.weights) else 0

    def probability(self, symbol: int, given: int) -> Fraction:
        """Return the probability of ``symbol`` if the input is ``given``."""
        return Fraction(self.weight(symbol, given), self.total)

    def likeliest(self, symbol: int) -> Sequence[int]:
        """Return the input nearest to a symbol. Noise 0 is the most likely noise."""
        return (min(max(symbol - self.reach, 0), self.inputs - 1),)

    def perturb(self, value: int, coins: Coins) -> int:
        """Return a random symbol for the input ``value``; always draw exactly one random number."""
        return self.shifted(value, self.noise(coins.below(self.total)))

    def noise(self, drawn: int) -> int:
        """Return the noise for ``drawn``, a uniform random number from 0 to total - 1."""
        is_negative = drawn >= self._sums[-1]
        size = bisect_right(self._sums, drawn - is_negative * (self._sums[-1] - self.weights[0]))
        return size * (1 - 2 * is_negative)

    def shifted(self, value: int, noise: int) -> int:
        """Return the symbol for ``value`` plus ``noise``, clamped to the existing symbols."""
        return min(max(value + noise + self.reach, 0), self.symbols - 1)

    def _at_least(self, noise: int) -> int:
        if noise <= 0:
            return self.total - self._at_least(1 - noise)
        return self._sums[-1] - self._sums[min(noise, len(self._sums)) - 1]
