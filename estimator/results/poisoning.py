"""What made-up reports could have done to a tally, and whether the tally looks made up."""

from __future__ import annotations

from client_sdk.protocol.kinds.kind import Label
from estimator.results.record import Record


class Move(Record, frozen=True):
    """By how much made-up reports could have moved an unbiased estimate.

    Attributes:
        down: the largest decrease.
        up: the largest increase.

    """

    down: float
    up: float


class ShareMove(Move, frozen=True, kw_only=True):
    """By how much they could have moved the share of one value.

    Attributes:
        value: the value.

    """

    value: Label


class RangeTest(Record, frozen=True):
    """A test of whether some population could have produced a tally.

    Attributes:
        statistic: twice the log-likelihood ratio of the tally's own frequencies to the likeliest
            law.
        p_value: the probability that a tally of the likeliest law lies as far from the range.
        drawn: the number of simulated tallies; 0 if the tally lies within the range, or so far from
            it that none would lie as far.
        impossible: whether not a single simulated tally lies, or would lie, as far from the range.

    """

    statistic: float
    p_value: float
    drawn: int
    impossible: bool


class Fakes(Record, frozen=True, kw_only=True):
    """What made-up reports could have done to the estimates of a tally.

    Attributes:
        fraction: beta, the assumed fraction of made-up reports.
        estimates: the move of each value's share, in the domain's order. None if answers have no
            shares.
        mean: the move of the mean. None if there is no mean.
        coefficients: of a model by products, the move of any coefficient, with the penalty of the
            tally; else None.
        test: of the tally.

    """

    fraction: float
    estimates: tuple[ShareMove, ...] | None = None
    mean: Move | None = None
    coefficients: Move | None = None
    test: RangeTest
