"""Exponential mechanism: a device reports more useful values more often.

The probability of reporting y for the true value x is proportional to e**(scale * u(x, y)), where u
is the utility. In the sources, the scale is epsilon / (2 sensitivity). This scale wastes up to half
of epsilon. This module uses the largest scale at which no report is more than e**epsilon times as
likely for one true value as for another. The scale is checked with the channel's exact integer
weights.

Sources: McSherry & Talwar 2007, "Mechanism design via differential privacy", section 3; Dwork &
Roth 2014, section 3.4.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from math import lcm
from typing import TYPE_CHECKING, ClassVar

from client_sdk.protocol.channel import Channel, Coins
from client_sdk.protocol.epsilon import exp_floor, ln_ceiling
from client_sdk.protocol.requested_epsilon import RequestedEpsilon

if TYPE_CHECKING:
    from client_sdk.protocol.mechanisms.catalogue import ChannelRequest, Utility

MAX_VALUES = 64
"""The maximum number of values. Finding the scale then takes a tenth of a second for the utilities
of `by_distance`, and up to three seconds for arbitrary utilities."""

TOTAL = 2**60
"""The sum of the weights of all symbols, for each input."""

UNIT_OF_WEIGHTS = 2**128
"""Powers of e are computed in units of 2**-128. Only the final weights define the channel."""

NOTHING_FROM = -90
"""For an exponent x up to this number, e**x counts as 0. With exact fractions, computing e**x for a
much lower x would exhaust the memory."""

DOUBLINGS = 64
"""The maximum number of times to double the scale, starting at epsilon / (2 sensitivity). Only a
table that reveals nothing would need more doublings."""

LEAST_USE = Fraction(999, 1000)
"""The minimum `worst_ratio` of a table, as a share of e**epsilon. A table with a smaller ratio is
refused, because the reports would be noisier than epsilon requires."""

RESOLVED_BITS = 44
"""Every probability is at least 2**-44. Rounding to integer weights would distort smaller
probabilities."""

HALVINGS = 16
"""The number of bisections after the last doubling. The bisections find the scale to one part in
2**16."""

RANK_PRIME = 2**61 - 1
"""The prime for computing the rank of the table of weights. Full rank modulo a prime implies full
rank over the rational numbers. About one in 2**54 tables with full rank is refused by mistake."""


@dataclass(frozen=True, slots=True)
class Exponential(Channel):
    """The channel that a table of weights defines.

    Attributes:
        weights: one row for each true value, with one weight for each symbol. Each weight is at
            least 1, and every row adds up to ``TOTAL``.
    """

    name: ClassVar[str] = "exponential"

    weights: tuple[tuple[int, ...], ...]
    _sums: tuple[tuple[int, ...], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Compute each row's running sums, so that drawing a symbol always takes the same time."""
        object.__setattr__(self, "_sums", tuple(tuple(accumulate(row)) for row in self.weights))

    @classmethod
    def build(cls, request: ChannelRequest) -> Exponential:
        """Return the channel for a metric's utilities, or for `by_distance` if they are unset."""
        if request.has_no_answer:
            raise ValueError("'exponential' cannot place a missing answer on the scale; remove fill_in, or use 'auto'")
        if request.utility is None and not request.kind.is_ordered:
            raise ValueError(f"'exponential' needs utility = [[…], …] for a {request.kind.name}, which has no order")
        return cls.within(request.epsilon, request.utility or by_distance(request.size))

    @classmethod
    def within(cls, epsilon: RequestedEpsilon, utility: Utility) -> Exponential:
        """Return the channel with the largest scale that ``epsilon`` allows.

        Raises:
            ValueError: if the utilities do not distinguish all values, or need weights beyond 64
                bits. The message says how to fix the utilities.
        """
        _refuse_many(len(utility))
        gaps = _gaps(utility)
        sensitivity = max(max(column) - min(column) for column in zip(*gaps, strict=True))
        enough, too_much = Fraction(0), ln_ceiling(epsilon.odds) / (2 * sensitivity) if sensitivity else Fraction(0)
        for _ in range(DOUBLINGS):
            if not _is_within(_table(gaps, too_much), epsilon.odds):
                break
            enough, too_much = too_much, 2 * too_much
        else:
            raise ValueError("the utilities are the same for all values; make them differ")
        for _ in range(HALVINGS):
            middle = (enough + too_much) / 2
            if _is_within(_table(gaps, middle), epsilon.odds):
                enough = middle
            else:
                too_much = middle
        weights = _table(gaps, enough)
        if cls(weights).worst_ratio < LEAST_USE * epsilon.odds:
            raise ValueError("the utilities within a row differ too much for 64-bit weights; lower epsilon")
        if not _has_full_rank(weights):
            raise ValueError("the utilities make one value look like a mixture of others; make them differ")
        return cls(weights)

    @property
    def inputs(self) -> int:
        """The number of true values, which are the rows of the table."""
        return len(self.weights)

    @property
    def symbols(self) -> int:
        """The number of reported values, which are the columns of the table."""
        return len(self.weights[0])

    @property
    def integers(self) -> dict[str, int | tuple[int, ...]]:
        """The integers that define the channel: all weights, row by row, and the number of rows."""
        return {"inputs": self.inputs, "weights": tuple(weight for row in self.weights for weight in row)}

    @property
    def worst_ratio(self) -> Fraction:
        """The largest ratio of two weights in a column of the table.

        The ratio of the probabilities is the same, because all rows have the same sum.
        """
        return max(Fraction(max(column), min(column)) for column in zip(*self.weights, strict=True))

    def probability(self, symbol: int, given: int) -> Fraction:
        """Return the probability of ``symbol`` if the input is ``given``."""
        return Fraction(self.weights[given][symbol], TOTAL)

    def perturb(self, value: int, coins: Coins) -> int:
        """Return a random symbol for the input ``value``; always draw exactly one random number."""
        return bisect_right(self._sums[value], coins.below(TOTAL))


def by_distance(values: int) -> Utility:
    """Return utilities for ordered values: values farther from the truth have lower utilities.

    The utility is minus the distance between the positions of the two values. For three values, the
    first row is 0, -1, -2.
    """
    _refuse_many(values)
    return [[Fraction(-abs(true - reported)) for reported in range(values)] for true in range(values)]


def _refuse_many(values: int) -> None:
    if values > MAX_VALUES:
        raise ValueError(f"'exponential' supports at most {MAX_VALUES} values, not {values}")


def _gaps(utility: Utility) -> list[list[int]]:
    """Return each utility minus the row's maximum, scaled to integers by a common factor."""
    unit = lcm(*(value.denominator for row in utility for value in row))
    whole = [[int(value * unit) for value in row] for row in utility]
    return [[value - max(row) for value in row] for row in whole]


def _table(gaps: list[list[int]], scale: Fraction) -> tuple[tuple[int, ...], ...]:
    """Return the table of weights. Within a row, weights are proportional to e**(scale * gap).

    Weights are rounded down. The most useful value of each row has a gap of 0 and gets the
    remainder, so that the row adds up to `TOTAL`.
    """
    heights = {gap: _height(scale * gap) for gap in {gap for row in gaps for gap in row}}
    table = []
    for row in gaps:
        rounded = [heights[gap] for gap in row]
        norm = sum(rounded)
        weights = [TOTAL * height // norm for height in rounded]
        weights[row.index(0)] += TOTAL - sum(weights)
        table.append(tuple(weights))
    return tuple(table)


def _height(exponent: Fraction) -> int:
    """Return e**exponent, for an exponent up to 0, in units of 1 / `UNIT_OF_WEIGHTS`."""
    return int(exp_floor(exponent) * UNIT_OF_WEIGHTS) if exponent > NOTHING_FROM else 0


def _is_within(weights: tuple[tuple[int, ...], ...], odds: Fraction) -> bool:
    most, least = odds.as_integer_ratio()
    columns, least_weight = zip(*weights, strict=True), max(1, TOTAL >> RESOLVED_BITS)
    return all(min(column) >= least_weight and least * max(column) <= most * min(column) for column in columns)


def _has_full_rank(weights: tuple[tuple[int, ...], ...]) -> bool:
    rows = [[weight % RANK_PRIME for weight in row] for row in weights]
    for _ in range(len(rows)):
        pivot = next((row for row in rows if row[0]), None)
        if pivot is None:
            return False
        rows.remove(pivot)
        inverse = pow(pivot[0], -1, RANK_PRIME)
        rest = [weight * inverse % RANK_PRIME for weight in pivot[1:]]
        rows = [
            [(weight - row[0] * unit) % RANK_PRIME for weight, unit in zip(row[1:], rest, strict=True)] for row in rows
        ]
    return True
