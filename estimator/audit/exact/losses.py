"""The exact distance of laws: the least ratio for a delta, and the least delta for a ratio.

For two laws P and Q and a ratio r, the hockey-stick divergence is the sum over symbols of max(0, P
- r Q). Laws keep (ln r, delta) differential privacy (Dwork & Roth 2014, definition 2.4) exactly if
it is at most delta for every two of them, in both directions.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations
from math import lcm

from estimator.audit.exact.paths import Chances

Ratio = Fraction | None
"""A ratio of probabilities. None where a symbol is possible under one law and impossible under
another.
"""

Rows = list[list[int]]
"""The probabilities of laws over one denominator, with a row for each law and a column for each
symbol.
"""

NEVER = Fraction(0)


def least_ratio(laws: Sequence[Chances[int]], delta: Fraction) -> Ratio:
    """Return the least ratio, at least 1, that no two laws exceed except for a delta."""
    rows, total = _rows(laws)
    if not delta:
        return _largest(rows)
    ratio = Fraction(1)
    for first, second in _pairs(rows):
        exceeded = _least(first, second, delta * total, ratio)
        if exceeded is None:
            return None
        ratio = exceeded
    return ratio


def least_delta(laws: Sequence[Chances[int]], ratio: Fraction) -> Fraction:
    """Return the most by which an event exceeds ``ratio`` times its probability elsewhere."""
    rows, total = _rows(laws)
    if (largest := _largest(rows)) is not None and largest <= ratio:
        return NEVER
    return max(Fraction(_surplus(*pair, *ratio.as_integer_ratio()), ratio.denominator * total) for pair in _pairs(rows))


def _largest(rows: Rows) -> Ratio:
    columns = {(max(column), min(column)) for column in zip(*rows, strict=True)}
    if not all(least for _, least in columns):
        return None
    return max((Fraction(*ends) for ends in columns), default=Fraction(1))


def _rows(laws: Sequence[Chances[int]]) -> tuple[Rows, int]:
    total = lcm(*{chance.denominator for law in laws for chance in law.values()})
    symbols = sorted(set().union(*laws))
    rows = [
        [chance.numerator * (total // chance.denominator) for chance in (law.get(symbol, NEVER) for symbol in symbols)]
        for law in laws
    ]
    return rows, total


def _pairs(rows: Rows) -> list[tuple[list[int], list[int]]]:
    """Return every ordered pair of rows, the farthest apart first: later pairs change little."""
    places = sorted(permutations(range(len(rows)), 2), key=lambda pair: -abs(pair[0] - pair[1]))
    return [(rows[first], rows[second]) for first, second in places]


def _surplus(first: list[int], second: list[int], numerator: int, denominator: int) -> int:
    surplus = (p * denominator - q * numerator for p, q in zip(first, second, strict=True))
    return sum(part for part in surplus if part > 0)


def _least(first: list[int], second: list[int], allowed: Fraction, ratio: Fraction) -> Ratio:
    """Return the least ratio from the given one on at which the surplus is allowed.

    It is found by Newton's method.

    The surplus is convex and piecewise linear in the ratio. Each step goes to the root of the
    present piece and never beyond the root of the whole. So the last step is exact.
    """
    while True:
        numerator, denominator = ratio.as_integer_ratio()
        if _surplus(first, second, numerator, denominator) <= allowed * denominator:
            return ratio
        worse = [(p, q) for p, q in zip(first, second, strict=True) if p * denominator > q * numerator]
        p, q = sum(pair[0] for pair in worse), sum(pair[1] for pair in worse)
        if not q:
            return None
        ratio = (p - allowed) / q
