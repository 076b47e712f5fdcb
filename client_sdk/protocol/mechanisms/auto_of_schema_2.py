"""What ``auto`` chooses in schema 2.

As in schema 1, the choice for a domain and an epsilon never changes within the schema number. Each
function below may choose otherwise than the one of its name in `auto`, until schema 2 is released.
"""

from __future__ import annotations

from fractions import Fraction

from client_sdk.protocol.mechanisms import auto

OPTIMAL_MEAN_UP_TO = Fraction(2_980_958, 1000)
"""e**8: beyond it `optimal_mean` has no table."""


def category_mechanism(inputs: int, odds: Fraction) -> str:
    """Return the name of the mechanism for ``inputs`` categories at e**epsilon = ``odds``.

    All that has shares asks here: categories, ordinals, sets, crosses and small counts.
    """
    return auto.category_mechanism(inputs, odds)


def number_mechanism(statistic: str, answers: int | None, odds: Fraction) -> str:
    """Return the name of the mechanism for a statistic of a number.

    Args:
        statistic: ``mean``, ``distribution`` or ``quantiles``.
        answers: the number of counts if more than the mean of counts is estimated; otherwise None.
        odds: e**epsilon.

    """
    if statistic == "mean":
        return "optimal-mean" if odds <= OPTIMAL_MEAN_UP_TO else "hybrid"
    if answers is not None and answers <= auto.FEW_COUNTS:
        return category_mechanism(answers, odds)
    return auto.number_mechanism(statistic, answers, odds)
