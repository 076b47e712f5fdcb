"""What made-up reports could have done to a tally, and whether it looks made up."""

from __future__ import annotations

from dataclasses import dataclass

from client_sdk.protocol import Label


@dataclass(frozen=True, slots=True)
class Move:
    """By how much an unbiased estimate could have been moved.

    Attributes:
        down: by how much it could have been lowered.
        up: by how much it could have been raised.

    """

    down: float
    up: float


@dataclass(frozen=True, slots=True)
class Fakes:
    """What made-up reports could have done to the estimates of a tally.

    Attributes:
        fraction: of the reports that is taken for made up: beta.
        shares: where answers have shares each value with its move, in the domain's order; else none.
        mean: the move of the mean, or none where there is no mean.
        test: of the tally.

    """

    fraction: float
    shares: tuple[tuple[Label, Move], ...] | None
    mean: Move | None
    test: RangeTest


DRAWN_AT_MOST = 999
"""Tallies that are drawn for a test: with none of them as far from the range, a thousandth is the p-value."""


@dataclass(frozen=True, slots=True)
class RangeTest:
    """Whether some population could have produced a tally.

    Attributes:
        statistic: twice the logarithm by which the likeliest law is less likely than the tally's own frequencies.
        p_value: how often a tally of the likeliest law is as far from the range.
        drawn: how many were drawn to tell; none where the tally lies within the range.

    """

    statistic: float
    p_value: float
    drawn: int

    @property
    def is_impossible(self) -> bool:
        """Whether none of all tallies that were drawn is as far from the range."""
        return self.p_value <= 1 / (DRAWN_AT_MOST + 1)
