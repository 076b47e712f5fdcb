"""Added noise: what Laplace and Gaussian share on an even grid.

Inputs are the k points 0..k-1 of a grid. The symbol is the input plus a whole number that does not look at it, moved
up by ``reach`` and then into 0..m-1, m = k + 2 * reach. The noise is symmetric, so that its law is a list of weights.
Sources are with the mechanisms that differ by their weights.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate

from client_sdk.protocol.channel import Coins


@dataclass(frozen=True, slots=True)
class AdditiveNoise:
    """The channel of symmetric noise.

    Attributes:
        inputs: k, at least 2.
        reach: by how much symbols reach beyond the inputs, on either side.
        weights: of the noise n and of -n, for n = 0, 1, …; none below 0.

    """

    inputs: int
    reach: int
    weights: tuple[int, ...]
    _sums: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Add the weights up, so that noise is found by bisection."""
        object.__setattr__(self, "_sums", tuple(accumulate(self.weights)))

    @property
    def symbols(self) -> int:
        """The places that the noise may reach."""
        return self.inputs + 2 * self.reach

    @property
    def total(self) -> int:
        """What the weights of every input's symbols add up to."""
        return 2 * self._sums[-1] - self.weights[0]

    @property
    def integers(self) -> dict[str, int | tuple[int, ...]]:
        """The integers that define the law."""
        return {"inputs": self.inputs, "reach": self.reach, "weights": self.weights}

    def weight(self, symbol: int, given: int) -> int:
        """Return ``total`` times P(symbol | given); beyond either end of the symbols the noise falls on that end."""
        noise = symbol - self.reach - given
        if symbol == 0:
            return self._at_least(-noise)
        if symbol == self.symbols - 1:
            return self._at_least(noise)
        return self.weights[abs(noise)] if abs(noise) < len(self.weights) else 0

    def probability(self, symbol: int, given: int) -> Fraction:
        """Return P(symbol | given)."""
        return Fraction(self.weight(symbol, given), self.total)

    def perturb(self, value: int, coins: Coins) -> int:
        """Return a symbol for the input ``value``; one coin for every input."""
        return self.shifted(value, self.noise(coins.below(self.total)))

    def noise(self, drawn: int) -> int:
        """Return the noise at ``drawn``, from 0 to total - 1: first 0, 1, 2, …, then -1, -2, …."""
        positive = self._sums[-1]
        if drawn < positive:
            return bisect_right(self._sums, drawn)
        return -bisect_right(self._sums, drawn - positive + self.weights[0])

    def shifted(self, value: int, noise: int) -> int:
        """Return the symbol of an input and its noise."""
        return min(max(value + noise + self.reach, 0), self.symbols - 1)

    def _at_least(self, noise: int) -> int:
        """Return the weight of all noise from ``noise`` up."""
        if noise <= 0:
            return self.total - self._at_least(1 - noise)
        return self._sums[-1] - self._sums[min(noise, len(self._sums)) - 1]
