"""What made-up reports could have done to a tally, and whether the tally looks made up."""

from __future__ import annotations

from typing import Annotated

from estimator.results.estimate import NO_LABEL, FigureLabel
from estimator.results.record import Record, says


class Move(Record, frozen=True):
    """By how much made-up reports could have moved an unbiased estimate."""

    statistic: Annotated[str, says("of the figure.")]
    down: Annotated[float, says("the largest decrease.")]
    up: Annotated[float, says("the largest increase.")]
    value: Annotated[
        FigureLabel,
        says(
            "of the figure. Left out for the only figure of its statistic; for coordinates and "
            "coefficients it is left out because the move is that of any of them."
        ),
    ] = NO_LABEL


class RangeTest(Record, frozen=True):
    """A test of whether some population could have produced a tally."""

    statistic: Annotated[
        float, says("twice the log-likelihood ratio of the tally's own frequencies to the likeliest law.")
    ]
    p_value: Annotated[float, says("the probability that a tally of the likeliest law lies as far from the range.")]
    drawn: Annotated[
        int,
        says(
            "the number of simulated tallies; 0 if the tally lies within the range, or so far from "
            "it that none would lie as far."
        ),
    ]
    impossible: Annotated[bool, says("whether not a single simulated tally lies, or would lie, as far from the range.")]


class Fakes(Record, frozen=True, kw_only=True):
    """What made-up reports could have done to the estimates of a tally."""

    fraction: Annotated[float, says("beta, the assumed fraction of made-up reports.")]
    moves: Annotated[tuple[Move, ...], says("of the figures, in their order.")] = ()
    test: Annotated[RangeTest, says("of the tally.")]
