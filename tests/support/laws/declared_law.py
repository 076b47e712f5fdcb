"""The base of mutants: a channel that declares the law of a right one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from client_sdk.protocol import Channel, Coins


@dataclass(frozen=True)
class DeclaredLaw(Channel):
    """A channel that declares the law of another one.

    Attributes:
        right: the channel whose law is declared.

    """

    right: Channel

    @property
    def name(self) -> str:
        return self.right.name

    @property
    def inputs(self) -> int:
        return self.right.inputs

    @property
    def symbols(self) -> int:
        return self.right.symbols

    @property
    def integers(self) -> Mapping[str, int | tuple[int, ...]]:
        return self.right.integers

    @property
    def worst_ratio(self) -> Fraction:
        return self.right.worst_ratio

    @property
    def delta(self) -> Fraction:
        return self.right.delta

    def probability(self, symbol: int, given: int) -> Fraction:
        return self.right.probability(symbol, given)


@dataclass(frozen=True)
class PerturbsOtherwise(DeclaredLaw):
    """A channel that declares the law of another one and perturbs in its own way."""

    perturbation: Callable[[int, Coins], int]

    def perturb(self, value: int, coins: Coins) -> int:
        return self.perturbation(value, coins)


@dataclass(frozen=True)
class DeclaresOtherwise(DeclaredLaw):
    """A channel that perturbs like another one but declares a different ratio or
    delta.
    """

    ratio: Fraction | None = None
    other_delta: Fraction | None = None

    @property
    def worst_ratio(self) -> Fraction:
        return self.right.worst_ratio if self.ratio is None else self.ratio

    @property
    def delta(self) -> Fraction:
        return self.right.delta if self.other_delta is None else self.other_delta

    def perturb(self, value: int, coins: Coins) -> int:
        return self.right.perturb(value, coins)
