"""What ``auto`` chooses.

The choice for a domain and an epsilon never changes within a schema number of the registry.

For k values a balanced design has the least variance of any channel, or nearly that. Another
mechanism is chosen if it has fewer symbols, and a variance within .5 % of the least.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from client_sdk.protocol.mechanisms import designs

GOOD_ENOUGH = Fraction(1005, 1000)
"""A variance within .5 % of the least is as good: 200 more devices in 40,000 make up for it."""

FEW_COUNTS = 32
"""Up to this many counts are categories, each with an unbiased share. More counts form a
histogram."""


def category_mechanism(inputs: int, odds: Fraction) -> str:
    """Return the name of the mechanism for ``inputs`` categories at e**epsilon = ``odds``.

    All that has shares asks here: categories, ordinals, sets, crosses and small counts.
    """
    if designs.best_subset_size(inputs, odds) == 1:
        return designs.K_ARY  # the least variance, and as many symbols as values
    candidates = [*designs.by_name(inputs, odds), *_balanced(inputs, odds)]
    least = min(candidate.variance for candidate in candidates)
    good = (candidate for candidate in candidates if candidate.variance <= GOOD_ENOUGH * least)
    return min(good, key=lambda candidate: candidate.symbols).name


def _balanced(inputs: int, odds: Fraction) -> Iterator[designs.Candidate]:
    from client_sdk.protocol.mechanisms.balanced.choice import UNIT, balanced_choice  # noqa: PLC0415 2 ms

    design = balanced_choice(inputs, odds)
    if design is not None:
        yield designs.Candidate(Fraction(design.variance, UNIT), design.symbols, "balanced-design")


def number_mechanism(statistic: str, answers: int | None, odds: Fraction) -> str:
    """Return the name of the mechanism for a statistic of a number.

    Args:
        statistic: ``mean``, ``distribution`` or ``quantiles``.
        answers: the number of counts if more than the mean of counts is estimated; otherwise None.
        odds: e**epsilon.

    """
    if statistic == "mean":
        return "optimal-mean"
    if answers is not None and answers <= FEW_COUNTS:
        return category_mechanism(answers, odds)
    return "square-wave" if statistic == "distribution" else "hierarchical"
