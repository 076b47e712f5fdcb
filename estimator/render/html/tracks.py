"""Figures over windows in few bytes: where charts draw them, and the texts that tables show.

Drawn numbers are whole multiples of a step, which is a hundredth of the narrowest interval; like
texts, intervals are rounded outwards and an estimate lies in its interval. The page's script never
rounds them: what was rounded to a step must not be rounded again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from estimator.render.rounding import steps_of
from estimator.render.units import Unit
from estimator.results.estimate import Estimate

FINEST = 1e-12
"""An interval that is shorter has no length; it needs no step of its own."""

KEPT_DIGITS = 11
"""Fewer than the script keeps of a number of steps, so that it rounds none (``numbers.js``)."""

KnownEstimate = Estimate | None


def exponent_of(estimates: Iterable[KnownEstimate]) -> int:
    """Return the power of ten that is at most a hundredth of the narrowest interval.

    It is larger where a number would have more digits than the script keeps.
    """
    known = [estimate for estimate in estimates if estimate is not None and estimate.estimate is not None]
    lengths = (estimate.high - estimate.low for estimate in known)
    narrowest = min((length for length in lengths if length > FINEST), default=1.0)
    largest = max((max(-estimate.low, estimate.high) for estimate in known), default=1.0)
    return max(math.floor(math.log10(narrowest)) - 2, math.floor(math.log10(max(largest, FINEST))) - KEPT_DIGITS + 1)


def tracks(rows: Sequence[Sequence[KnownEstimate]], unit: Unit) -> dict[str, Any]:
    """Return rows of estimates in the form that the page's script reads.

    Where every interval begins at 0, ``d`` may be left out.

    ``e`` is the estimate, ``d`` how far the interval reaches below it, ``u`` how far above, and
    ``m`` the likeliest value less the estimate. All are in steps, and null where there is no
    estimate. ``t`` is the text: estimate, lower and upper end, and the likeliest value if there is
    one, each without the unit, which is ``suffix``.

    Args:
        rows: a row for each figure, with an estimate for each window.
        unit: in which the texts are.

    """
    exponent = exponent_of(estimate for row in rows for estimate in row)
    coded = [[_coded(estimate, exponent) for estimate in row] for row in rows]
    columns = {
        name: [[None if steps is None else steps[column] for steps in row] for row in coded]
        for column, name in enumerate("edum")
    }
    if not any(likeliest is not None for row in columns["m"] for likeliest in row):
        del columns["m"]
    texts = [[_text(estimate, unit) for estimate in row] for row in rows]
    return {"step": float(f"1e{exponent}"), "suffix": unit.suffix, "t": texts, **columns}


def _text(known: KnownEstimate, unit: Unit) -> str | None:
    if known is None or known.estimate is None:
        return None
    rounded = unit.rounded(known)
    return " ".join((rounded.estimate, rounded.low, rounded.high, unit.likeliest(known))).rstrip()


def _coded(known: KnownEstimate, exponent: int) -> tuple[int, int, int, int | None] | None:
    if known is None or known.estimate is None:
        return None
    estimate, low, high = steps_of(known.estimate, known.low, known.high, exponent)
    step = float(f"1e{exponent}")
    likeliest = None if known.maximum_likelihood is None else round(known.maximum_likelihood / step) - estimate
    return estimate, estimate - low, high - estimate, likeliest
