"""Coins for tests: scripted ones, and the exact law of a random procedure by replay of every path
of its decisions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from fractions import Fraction
from functools import cache
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


class Path(NamedTuple, Generic[T]):
    """One possible course of the decisions of a procedure.

    Attributes:
        outcome: what the procedure returned.
        weight: the exact probability of this course.
        coins: the number of decisions.

    """

    outcome: T
    weight: Fraction
    coins: int


class ExhaustiveCoins:
    """Plays one path: the given choices first, then always the first possible outcome.

    It is the oracle for the product's own walk (`estimator.audit.paths`), and shares nothing with
    it: every draw is decided at once, value by value.

    Attributes:
        ways: the probability of the path is ``ways`` / ``total``. Integers are multiplied much
            faster than fractions, which are reduced each time.
        total: a product of what each decision had to choose from.

    """

    __slots__ = ("_given", "_taken", "total", "ways")

    def __init__(self, choices: Sequence[int]) -> None:
        self._given = choices
        self._taken: list[tuple[int, int]] = []
        self.ways = self.total = 1

    @property
    def count(self) -> int:
        """The number of decisions so far."""
        return len(self._taken)

    def bernoulli(self, numerator: int) -> bool:
        assert 0 <= numerator <= COIN_SCALE
        possible = [outcome for outcome, ways in ((True, numerator), (False, COIN_SCALE - numerator)) if ways]
        outcome = possible[self._choose(len(possible))]
        self.ways *= numerator if outcome else COIN_SCALE - numerator
        self.total *= COIN_SCALE
        return outcome

    def below(self, bound: int) -> int:
        assert 1 <= bound <= MAX_FAN_OUT
        self.total *= bound
        return self._choose(bound)

    def next_choices(self) -> list[int] | None:
        """Return the choices of the path after this one, depth first, or none after the last."""
        taken = self._taken
        while taken and taken[-1][0] + 1 == taken[-1][1]:
            taken = taken[:-1]
        if not taken:
            return None
        return [choice for choice, _ in taken[:-1]] + [taken[-1][0] + 1]

    def _choose(self, options: int) -> int:
        taken, given = self._taken, self._given
        index = len(taken)
        choice = given[index] if index < len(given) else 0
        taken.append((choice, options))
        return choice


def exact_paths(procedure: Callable[[Coins], T]) -> Iterator[Path[T]]:
    """Yield every path of positive weight of a procedure that takes coins."""
    choices: list[int] | None = []
    fraction = cache(Fraction)  # many paths are equally likely, and reducing takes as long as a path
    while choices is not None:
        coins = ExhaustiveCoins(choices)
        outcome = procedure(coins)
        yield Path(outcome, fraction(coins.ways, coins.total), coins.count)
        choices = coins.next_choices()


def law_of(paths: Sequence[Path[T]]) -> dict[T, Fraction]:
    """Return the output distribution of a procedure, summed over its paths."""
    ways: defaultdict[tuple[T, int], int] = defaultdict(int)
    for path in paths:
        ways[path.outcome, path.weight.denominator] += path.weight.numerator
    return _added_up(ways)


def exact_law(procedure: Callable[[Coins], T]) -> dict[T, Fraction]:
    """Return the exact output distribution of a procedure that takes coins, for example a channel's
    ``perturb``.
    """
    ways: defaultdict[tuple[T, int], int] = defaultdict(int)
    choices: list[int] | None = []
    while choices is not None:
        coins = ExhaustiveCoins(choices)
        outcome = procedure(coins)
        ways[outcome, coins.total] += coins.ways
        choices = coins.next_choices()
    return _added_up(ways)


def _added_up(ways: dict[tuple[T, int], int]) -> dict[T, Fraction]:
    """Return the law of outcomes whose ways were counted denominator by denominator."""
    law: defaultdict[T, Fraction] = defaultdict(Fraction)
    for (outcome, total), number in ways.items():
        law[outcome] += Fraction(number, total)
    return dict(law)


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
