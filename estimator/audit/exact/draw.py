"""A drawn integer that stays undecided until it matters.

So 2**64 integers are walked as a few intervals.

`Draw` is not an ``int``. It supports only the operations below. Some are deferred: adding, scaling
or dividing by a known integer. The others decide as little as they must: on which side of a
threshold the integer lies, or which value a result has. So on one path the code has seen the same
of every integer of an interval, and its outcome is the same for all of them. The thresholds need
not be known, because they are whatever the code compares with. An operation that is missing here
ends the audit instead of guessing.
"""

from __future__ import annotations

from collections.abc import Callable

from estimator.errors import AuditError

MOST_VALUES = 2**24
"""An integer that is used directly has a path for each value: at most as many as a tally may have
symbols, which takes minutes. Larger integers are drawn to search tables, and are only compared and
divided.
"""

Choose = Callable[[int], int]
"""From the number of ways that a decision may go to the way taken on this path, from 0."""


class Interval:
    """Where a drawn integer is known to lie: from ``low`` on and below ``high``.

    It only ever shrinks.
    """

    __slots__ = ("_choose", "bound", "high", "low")

    def __init__(self, bound: int, choose: Choose) -> None:
        """Start with all integers from 0 below a bound."""
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
        """Decide the integer."""
        self.low += self._chosen(self.high - self.low)
        self.high = self.low + 1
        return self.low

    def quotient(self, scale: int, shift: int, divisor: int) -> int:
        """Decide (integer * scale + shift) // divisor, for a divisor above the scale."""
        first = (self.low * scale + shift) // divisor
        last = ((self.high - 1) * scale + shift) // divisor
        quotient = first + self._chosen(last - first + 1)
        self.low = max(self.low, -((shift - quotient * divisor) // scale))
        self.high = min(self.high, -((shift - (quotient + 1) * divisor) // scale))
        return quotient

    def _chosen(self, ways: int) -> int:
        if ways > MOST_VALUES:
            raise AuditError(f"a draw falls in {ways} ways that differ; at most {MOST_VALUES} of them can be walked")
        return self._choose(ways) if ways > 1 else 0


class Draw:
    """A value computed from a drawn integer: (integer * scale + shift) // divisor.

    Scale and divisor are above 0.
    """

    __slots__ = ("_divisor", "_interval", "_scale", "_shift")

    def __init__(self, interval: Interval, scale: int = 1, shift: int = 0, divisor: int = 1) -> None:
        """Stand for the integer of an interval."""
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
            # each value gets a path anyway, and plain integers are faster
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
