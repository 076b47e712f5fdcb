"""Run a procedure on every path of its coins, and compute the exact probability of each path.

A *coin* is a random draw of a boolean or an integer. Each coin is a decision with several outcomes.
A *path* is one combination of the outcomes of all decisions. For instance, a procedure that tosses
two coins for booleans has four paths. The procedure runs once for each path, from the start. Each
run repeats the decisions of the previous run up to one decision, which gets its next outcome.

The value of a drawn integer is decided as late as possible. An integer with 2**64 possible values
then leads to only a few paths. A `Draw` represents the undecided integer:

* Adding, multiplying or dividing by a known integer decides nothing.
* A comparison decides whether the integer is below a threshold. For instance, an integer from 0 to
  99 is below 30 on one path, with a probability of 0.3, and at least 30 on another path.
* Reading the integer decides its value. Each possible value is then a separate path.
* An unsupported operation ends the audit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, TypeVar

from client_sdk.protocol.channel import COIN_SCALE, Coins
from estimator.errors import AuditError

MOST_VALUES = 2**24
"""The maximum number of possible values of a drawn integer that the SDK reads.

Each value is a separate path, so this number of values takes minutes. The limit equals the maximum
number of symbols of a tally. The SDK never reads an integer from a larger range, and only compares
or divides such integers.
"""

Choose = Callable[[int], int]
"""A function that makes a decision.

The argument is the number of possible outcomes. The result is the outcome, numbered from 0.
"""

T = TypeVar("T", bound=Hashable)

S = TypeVar("S")

R = TypeVar("R")

Chances = dict[T, Fraction]
"""The exact probability of each possible outcome."""


@dataclass(frozen=True, slots=True)
class ExactLaw(Generic[T]):
    """The exact distribution of a procedure.

    Attributes:
        chances: the probability of each outcome. The sum is 1.
        paths: the number of combinations of the coins' outcomes.
        coins: for each outcome, the possible numbers of coins on a path. If an outcome has several
            possible numbers, the running time reveals more than the outcome.
    """

    chances: Chances[T]
    paths: int
    coins: Mapping[T, frozenset[int]]

    @property
    def lengths(self) -> frozenset[int]:
        """The possible numbers of coins on a path."""
        return frozenset().union(*self.coins.values())


class PathCoins:
    """Coins with outcomes from a script, which lists the decisions of one path.

    A decision beyond the script gets its first outcome, and is appended to the script.

    Attributes:
        tossed: the number of tossed coins.
        used: the number of decisions.
    """

    def __init__(self, script: list[list[int]]) -> None:
        """Take the script: for each decision, its outcome and the number of possible outcomes."""
        self.tossed = self.used = 0
        self._script = script
        self._weight, self._scale = 1, 1
        self._intervals: list[Interval] = []

    def bernoulli(self, numerator: int) -> bool:
        """Return the outcome of a coin that is true with a probability of numerator / 2**64."""
        self.tossed += 1
        if not 0 <= numerator <= COIN_SCALE:
            raise AuditError(f"the SDK tosses a coin with an impossible probability ({numerator} in 2**64)")
        if numerator in (0, COIN_SCALE):
            return bool(numerator)
        is_true = self._choose(2) == 0
        self._weight *= numerator if is_true else COIN_SCALE - numerator
        self._scale *= COIN_SCALE
        return is_true

    def below(self, bound: int) -> int:
        """Return an undecided integer from 0 to bound - 1."""
        self.tossed += 1
        if not 1 <= bound <= COIN_SCALE:
            raise AuditError(f"the SDK draws an integer below {bound}; a bound must be from 1 to 2**64")
        interval = Interval(bound, self._choose)
        self._intervals.append(interval)
        return Draw(interval)  # type: ignore[return-value] # it acts as an int in every operation that it supports

    def bounds(self) -> list[tuple[int, int]]:
        """Return the remaining range of values of each drawn integer."""
        return [(interval.low, interval.high) for interval in self._intervals]

    def go_back(self, used: int, bounds: list[tuple[int, int]]) -> None:
        """Undo all but the first ``used`` decisions, and reset all ranges to ``bounds``."""
        self.used = used
        for interval, (low, high) in zip(self._intervals, bounds, strict=True):
            interval.low, interval.high = low, high

    def weight(self) -> tuple[int, int]:
        """Return the probability of this path as a numerator and a denominator."""
        weight, scale = self._weight, self._scale
        for interval in self._intervals:
            size = interval.high - interval.low
            if size != interval.bound:
                weight *= size
                scale *= interval.bound
        return weight, scale

    def _choose(self, ways: int) -> int:
        script, at = self._script, self.used
        self.used += 1
        if at == len(script):
            script.append([0, ways])
        elif script[at][1] != ways:
            raise _unsteady()
        return script[at][0]


def law_of(procedure: Callable[[Coins], object], read: Callable[[object], T]) -> ExactLaw[T]:
    """Return the exact distribution of a procedure.

    Args:
        procedure: a function of coins. The same coins must always lead to the same behavior.
        read: a function that turns the procedure's result into an outcome. The function must decide
            the value of every drawn integer in the result.

    Raises:
        AuditError: if the paths cannot be enumerated. The message says why.
    """
    sums: defaultdict[int, defaultdict[T, int]] = defaultdict(lambda: defaultdict(int))
    script: list[list[int]] = []
    paths, coins = 0, dict[T, frozenset[int]]()
    alone: dict[int, frozenset[int]] = {}  # equal sets are shared objects, because there may be a million outcomes
    while True:
        walked = PathCoins(script)
        result = _done(procedure, walked)
        decisions, bounds, tossed = walked.used, walked.bounds(), walked.tossed
        number = alone.setdefault(tossed, frozenset({tossed}))
        has_another = True
        while has_another:
            outcome = _done(read, result)
            if walked.tossed != tossed:
                raise AuditError("the SDK cannot be enumerated: it tosses coins after it has returned")
            if walked.used != len(script):
                raise _unsteady()
            weight, scale = walked.weight()
            sums[scale][outcome] += weight
            paths += 1
            if not number <= coins.setdefault(outcome, number):
                coins[outcome] |= number
            has_another = _turn(script, decisions)
            walked.go_back(decisions, bounds)
        if not _turn(script):
            return ExactLaw(_chances(sums), paths, coins)


def _turn(script: list[list[int]], kept: int = 0) -> bool:
    """Change the script of a path into the script of the next path.

    Return whether a next path exists.

    The last decision with a further outcome gets this outcome, and all later decisions are dropped.
    The first ``kept`` decisions are not changed.
    """
    while len(script) > kept and script[-1][0] + 1 == script[-1][1]:
        script.pop()
    if len(script) == kept:
        return False
    script[-1][0] += 1
    return True


def _done(step: Callable[[S], R], given: S) -> R:
    try:
        return step(given)
    except AuditError:
        raise
    except Exception as error:
        raise AuditError(f"the SDK cannot be enumerated: it raised {type(error).__name__}: {error}") from error


def _chances(sums: dict[int, defaultdict[T, int]]) -> Chances[T]:
    chances: Chances[T] = {}
    for scale, weights in sums.items():
        shared = {weight: Fraction(weight, scale) for weight in set(weights.values())}
        for outcome, weight in weights.items():
            chance = shared[weight]
            chances[outcome] = chances[outcome] + chance if outcome in chances else chance
    return chances


def _unsteady() -> AuditError:
    return AuditError("the SDK cannot be enumerated: it behaves differently with the same coins")


class Interval:
    """The possible values of a drawn integer, from ``low`` to ``high`` - 1.

    Each decision, such as the outcome of a comparison, can only shrink this range.
    """

    __slots__ = ("_choose", "bound", "high", "low")

    def __init__(self, bound: int, choose: Choose) -> None:
        """Begin with the integers from 0 to bound - 1."""
        self.bound = bound
        self.low, self.high = 0, bound
        self._choose = choose

    def is_below(self, threshold: int) -> bool:
        """Decide whether the integer lies below a threshold."""
        if threshold <= self.low:
            return False
        if threshold >= self.high:
            return True
        is_below = self._choose(2) == 0
        if is_below:
            self.high = threshold
        else:
            self.low = threshold
        return is_below

    def value(self) -> int:
        """Decide and return the value of the integer."""
        self.low += self._chosen(self.high - self.low)
        self.high = self.low + 1
        return self.low

    def quotient(self, scale: int, shift: int, divisor: int) -> int:
        """Decide and return (integer * scale + shift) // divisor.

        The divisor must exceed the scale.
        """
        first = (self.low * scale + shift) // divisor
        last = ((self.high - 1) * scale + shift) // divisor
        quotient = first + self._chosen(last - first + 1)
        self.low = max(self.low, -((shift - quotient * divisor) // scale))
        self.high = min(self.high, -((shift - (quotient + 1) * divisor) // scale))
        return quotient

    def _chosen(self, ways: int) -> int:
        if ways > MOST_VALUES:
            raise AuditError(f"a draw has {ways} distinct outcomes; at most {MOST_VALUES} can be enumerated")
        return self._choose(ways) if ways > 1 else 0


class Draw:
    """The value (integer * scale + shift) // divisor, for an undecided integer.

    Only the range of the integer has been decided. Scale and divisor are above 0.
    """

    __slots__ = ("_divisor", "_interval", "_scale", "_shift")

    def __init__(self, interval: Interval, scale: int = 1, shift: int = 0, divisor: int = 1) -> None:
        """Take the interval of the drawn integer, and the numbers of the formula."""
        self._interval = interval
        self._scale, self._shift, self._divisor = scale, shift, divisor

    def __index__(self) -> int:
        if self._scale >= self._divisor:
            return (self._interval.value() * self._scale + self._shift) // self._divisor
        return self._interval.quotient(self._scale, self._shift, self._divisor)

    def __int__(self) -> int:
        return self.__index__()

    def __str__(self) -> str:
        return str(int(self))

    def __hash__(self) -> int:
        return hash(int(self))

    def __bool__(self) -> bool:
        return self != 0

    def __add__(self, other: int | Draw) -> Draw:
        return Draw(self._interval, self._scale, self._shift + int(other) * self._divisor, self._divisor)

    def __radd__(self, other: int) -> Draw:
        return self + other

    def __sub__(self, other: int | Draw) -> Draw:
        return self + -int(other)

    def __rsub__(self, other: int) -> int:
        return other - int(self)

    def __neg__(self) -> int:
        return -int(self)

    def __abs__(self) -> int | Draw:
        return self if self >= 0 else -self

    def __mul__(self, other: int | Draw) -> int | Draw:
        factor = int(other)
        if self._divisor > 1 or factor < 1:
            return int(self) * factor
        return Draw(self._interval, self._scale * factor, self._shift * factor)

    def __rmul__(self, other: int) -> int | Draw:
        return self * other

    def __floordiv__(self, other: int | Draw) -> int | Draw:
        divisor = int(other)
        if divisor < 1:
            return int(self) // divisor
        return Draw(self._interval, self._scale, self._shift, self._divisor * divisor)

    def __mod__(self, other: int | Draw) -> int | Draw:
        return divmod(self, other)[1]

    def __divmod__(self, other: int | Draw) -> tuple[int, int | Draw]:
        divisor = int(other)
        if self._interval.high - self._interval.low <= MOST_VALUES:
            # Each value will be a separate path in any case, and plain integers are faster.
            return divmod(int(self), divisor)
        quotient = int(self // divisor)
        return quotient, self - quotient * divisor

    def __rfloordiv__(self, other: int) -> int:
        return other // int(self)

    def __rmod__(self, other: int) -> int:
        return other % int(self)

    def __lt__(self, other: int | Draw) -> bool:
        return self._interval.is_below(-((self._shift - int(other) * self._divisor) // self._scale))

    def __ge__(self, other: int | Draw) -> bool:
        return not self < other

    def __le__(self, other: int | Draw) -> bool:
        return self < int(other) + 1

    def __gt__(self, other: int | Draw) -> bool:
        return not self <= other

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, int | Draw):
            return NotImplemented
        return self <= other and self >= other
