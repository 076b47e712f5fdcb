"""Every path of coins through a procedure, with its exact weight.

A path is one way that all decisions fall. The procedure is run once for each, anew from its beginning; what it decides
is replayed up to where the path leaves the one before. So the procedure is a black box, but for this: given how its
coins fall it must do the same each time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, TypeVar

from client_sdk.protocol import COIN_SCALE, Coins
from estimator.audit.exact.draw import Draw, Interval
from estimator.errors import AuditError

T = TypeVar("T", bound=Hashable)

Chances = dict[T, Fraction]
"""The exact chance of each outcome that has one."""


@dataclass(frozen=True, slots=True)
class Law(Generic[T]):
    """What a procedure does, with its chances.

    Attributes:
        chances: of its outcomes; their sum is 1.
        paths: how many were walked.
        coins: how many coins were asked for, on any path: more than one number tells something by its time.

    """

    chances: Chances[T]
    paths: int
    coins: frozenset[int]


class PathCoins:
    """Coins that fall as a script says, and beyond its end in the first way that they may; that is written into it.

    Attributes:
        asked: how many coins were asked for.
        used: how many decisions of the script were used.

    """

    def __init__(self, script: list[list[int]]) -> None:
        """Take the script: for each decision which way is taken, from 0, and how many there are."""
        self.asked = self.used = 0
        self._script = script
        self._weight, self._scale = 1, 1
        self._intervals: list[Interval] = []

    def bernoulli(self, numerator: int) -> bool:
        """Return whether the coin falls so; one that falls in one way only is no decision."""
        self.asked += 1
        if not 0 <= numerator <= COIN_SCALE:
            raise AuditError(f"a coin is asked for that falls with a chance of {numerator} in 2**64")
        if numerator in (0, COIN_SCALE):
            return bool(numerator)
        is_true = self._choose(2) == 0
        self._weight *= numerator if is_true else COIN_SCALE - numerator
        self._scale *= COIN_SCALE
        return is_true

    def below(self, bound: int) -> int:
        """Return an integer that is not decided yet."""
        self.asked += 1
        if not 1 <= bound <= COIN_SCALE:
            raise AuditError(f"an integer below {bound} is asked for; bounds are from 1 to 2**64")
        interval = Interval(bound, self._choose)
        self._intervals.append(interval)
        return Draw(interval)  # type: ignore[return-value] # it takes the place of an int in all that may be done with it

    def weight(self) -> tuple[int, int]:
        """Return the chance of this path, as a numerator and a denominator."""
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


def law_of(procedure: Callable[[Coins], object], read: Callable[[object], T]) -> Law[T]:
    """Return the exact law of a procedure.

    Args:
        procedure: what takes coins.
        read: makes of what it returns an outcome, with no drawn integer in it that is not decided.

    Raises:
        AuditError: if it cannot be walked; the message says why.

    """
    sums: defaultdict[int, defaultdict[T, int]] = defaultdict(lambda: defaultdict(int))
    script: list[list[int]] = []
    paths, coins = 0, set()
    while True:
        walked = PathCoins(script)
        outcome = _outcome(procedure, read, walked)
        if walked.used != len(script):
            raise _unsteady()
        weight, scale = walked.weight()
        sums[scale][outcome] += weight
        paths += 1
        coins.add(walked.asked)
        while script and script[-1][0] + 1 == script[-1][1]:
            script.pop()
        if not script:
            return Law(_chances(sums), paths, frozenset(coins))
        script[-1][0] += 1


def _outcome(procedure: Callable[[Coins], object], read: Callable[[object], T], coins: PathCoins) -> T:
    try:
        return read(procedure(coins))
    except AuditError:
        raise
    except Exception as error:
        raise AuditError(f"the SDK cannot be walked: it raised {type(error).__name__}: {error}") from error


def _chances(sums: dict[int, defaultdict[T, int]]) -> Chances[T]:
    chances: Chances[T] = {}
    for scale, weights in sums.items():
        shared = {weight: Fraction(weight, scale) for weight in set(weights.values())}
        for outcome, weight in weights.items():
            chance = shared[weight]
            chances[outcome] = chances[outcome] + chance if outcome in chances else chance
    return chances


def _unsteady() -> AuditError:
    return AuditError("the SDK cannot be walked: it does not do the same where its coins fall the same")
