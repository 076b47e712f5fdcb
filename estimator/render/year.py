"""What a year of all answers reveals, in one sentence."""

from __future__ import annotations

from fractions import Fraction

from client_sdk.protocol.epsilon import NANOS, as_float
from client_sdk.protocol.statement import odds


def year_words(nanos: int | None) -> str:
    """Return in a sentence what a year of all answers reveals.

    Args:
        nanos: the loss in billionths of epsilon; None if there is no bound.

    """
    if nanos is None:
        return "Nothing limits what all answers of a device reveal within a year."
    epsilon = f"epsilon {as_float(nanos):.9g}"
    return f"Within a year, all answers of a device reveal at most {epsilon}: even odds become {odds(nanos)}."


def too_much(nanos: int | None, most: Fraction) -> list[str]:
    """Return a sentence if a year of all answers reveals more than a given epsilon."""
    if nanos is not None and nanos <= most * NANOS:
        return []
    least = "without a bound" if nanos is None else f"up to {as_float(nanos):.9g}"
    advice = "lower lifetime or per_month, ask less often, or pace"
    return [f"within a year a device reveals {least}, more than the {float(most):g} of --at-most: {advice}"]
