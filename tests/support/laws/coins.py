"""Coins for tests: scripted ones, and the exact law of a random procedure by replay of every path
of its decisions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from itertools import pairwise
from types import TracebackType
from typing import Generic, NamedTuple, Self, TypeVar

from client_sdk.protocol import COIN_SCALE, Coins

T = TypeVar("T", bound=Hashable)

MAX_FAN_OUT = 2**16
"""A decision with more outcomes cannot be enumerated; a test that asks for one is mistaken."""


class ScriptedCoins:
    """Coins whose outcomes come from a list: ``bool`` for bernoulli, ``int`` for below.

    As a context manager it asserts at the end that every outcome was used.

    Attributes:
        requests: the requests so far: ``("bernoulli", numerator)`` or ``("below", bound)``.

    """

    def __init__(self, outcomes: Sequence[bool | int]) -> None:
        self._left = list(outcomes)
        self.requests: list[tuple[str, int]] = []

    def bernoulli(self, numerator: int) -> bool:
        outcome = self._next("bernoulli", numerator)
        assert type(outcome) is bool, f"the script has {outcome!r} where a bernoulli coin is asked"
        assert 0 <= numerator <= COIN_SCALE
        assert numerator != (0 if outcome else COIN_SCALE), "the script has an outcome of probability 0"
        return outcome

    def below(self, bound: int) -> int:
        outcome = self._next("below", bound)
        assert type(outcome) is int, f"the script has {outcome!r} where an integer is asked"
        assert 0 <= outcome < bound <= COIN_SCALE
        return outcome

    def finish(self) -> None:
        """Assert that every outcome was used."""
        assert not self._left, f"never asked for: {self._left}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None:
            self.finish()

    def _next(self, primitive: str, parameter: int) -> bool | int:
        self.requests.append((primitive, parameter))
        assert self._left, f"the script is too short: {self.requests}"
        return self._left.pop(0)


class Law(NamedTuple, Generic[T]):
    """The exact output distribution of a procedure.

    Attributes:
        chances: the probability of each outcome.
        coins: the numbers of decisions of the paths to each outcome.
        paths: the number of courses of decisions of positive weight.

    """

    chances: dict[T, Fraction]
    coins: dict[T, set[int]]
    paths: int

    @property
    def lengths(self) -> set[int]:
        """The numbers of decisions of all paths."""
        return set().union(*self.coins.values())


class ExhaustiveCoins:
    """Plays one path after another: the first possible outcome of each decision, then the next.

    It is the oracle for the product's own walk (`estimator.audit.paths`), and shares nothing with
    it: every draw is decided at once, value by value.

    Attributes:
        count: the number of decisions so far.
        ways: the probability of the path is ``ways`` / ``total``. Integers are multiplied much
            faster than fractions, which are reduced each time.
        total: a product of what each decision had to choose from.

    """

    __slots__ = ("_choices", "_options", "count", "total", "ways")

    def __init__(self) -> None:
        self._choices: list[int] = []
        self._options: list[int] = []
        self._rewind()

    def bernoulli(self, numerator: int) -> bool:
        assert 0 <= numerator <= COIN_SCALE
        self.total *= COIN_SCALE
        possible = (True, False) if 0 < numerator < COIN_SCALE else (numerator > 0,)
        outcome = possible[self._choose(len(possible))]
        self.ways *= numerator if outcome else COIN_SCALE - numerator
        return outcome

    def below(self, bound: int) -> int:
        assert 1 <= bound <= MAX_FAN_OUT
        self.total *= bound
        return self._choose(bound)

    def turn(self) -> bool:
        """Turn to the next path, depth first; return whether there is one."""
        choices, options = self._choices, self._options
        del choices[self.count :], options[self.count :]
        while choices and choices[-1] + 1 == options[-1]:
            choices.pop()
            options.pop()
        self._rewind()
        if not choices:
            return False
        choices[-1] += 1
        return True

    def _rewind(self) -> None:
        self.count = 0
        self.ways = self.total = 1

    def _choose(self, options: int) -> int:
        index = self.count
        self.count = index + 1
        if index < len(self._choices):
            assert self._options[index] == options, "it behaves differently with the same coins"
            return self._choices[index]
        self._choices.append(0)
        self._options.append(options)
        return 0


def walk(procedure: Callable[[Coins], T]) -> Law[T]:
    """Return the exact law of a procedure that takes coins, summed over its paths."""
    ways: defaultdict[tuple[T, int, int], int] = defaultdict(int)
    played, paths = ExhaustiveCoins(), 0
    while not paths or played.turn():
        outcome = procedure(played)
        ways[outcome, played.total, played.count] += played.ways
        paths += 1
    chances, coins = defaultdict[T, Fraction](Fraction), defaultdict[T, set[int]](set)
    for (outcome, total, count), number in ways.items():
        chances[outcome] += Fraction(number, total)
        coins[outcome].add(count)
    return Law(dict(chances), dict(coins), paths)


def exact_law(procedure: Callable[[Coins], T]) -> dict[T, Fraction]:
    """Return the exact output distribution of a procedure that takes coins, for example a channel's
    ``perturb``.
    """
    return walk(procedure).chances


class SteadyCoins:
    """Coins that always fall at the same fraction of their range."""

    def __init__(self, share: float) -> None:
        self._share = share

    def bernoulli(self, numerator: int) -> bool:
        return int(self._share * COIN_SCALE) < numerator

    def below(self, bound: int) -> int:
        return int(self._share * bound)


class OneDraw:
    """Coins that are asked for one integer, once.

    Attributes:
        bound: the requested bound, or None.

    """

    def __init__(self, drawn: int) -> None:
        self._drawn = drawn
        self.bound: int | None = None

    def bernoulli(self, numerator: int) -> bool:
        raise AssertionError(f"one integer is asked, not a coin of {numerator}")

    def below(self, bound: int) -> int:
        assert self.bound is None, "a second integer is asked"
        assert 0 <= self._drawn < bound <= COIN_SCALE
        self.bound = bound
        return self._drawn


def exact_law_of_one_draw(procedure: Callable[[Coins], T], ends: Sequence[int]) -> dict[T, Fraction]:
    """Return the exact law of a procedure that draws one integer and whose outcome is constant
    between two ``ends``.

    2**64 draws cannot be replayed individually. ``ends`` rise from 0 to the bound of the draw. The
    outcome is computed at both ends and in the middle of every range: a wrong division or
    comparison would show at an end.
    """
    ways: defaultdict[T, int] = defaultdict(int)
    for first, beyond in pairwise(ends):
        outcomes = set()
        for drawn in {first, (first + beyond) // 2, beyond - 1}:
            coins = OneDraw(drawn)
            outcomes.add(procedure(coins))
            assert coins.bound == ends[-1], "the draw is of another size"
        (outcome,) = outcomes
        ways[outcome] += beyond - first
    return {outcome: Fraction(number, ends[-1]) for outcome, number in ways.items()}
