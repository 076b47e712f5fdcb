"""Figures over windows in few bytes.

Numbers are whole multiples of a step, which is a hundredth of the narrowest interval.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from estimator.results.estimate import Estimate

FINEST = 1e-12
"""An interval that is shorter has no length; it needs no step of its own."""

KnownEstimate = Estimate | None


def step_of(estimates: Iterable[KnownEstimate]) -> float:
    """Return a power of ten that is at most a hundredth of the narrowest interval."""
    lengths = [
        estimate.high - estimate.low for estimate in estimates if estimate is not None and estimate.estimate is not None
    ]
    narrowest = min((length for length in lengths if length > FINEST), default=1.0)
    return float(f"1e{math.floor(math.log10(narrowest)) - 2}")


def tracks(rows: Sequence[Sequence[KnownEstimate]]) -> dict[str, Any]:
    """Return rows of estimates in the form that the page's script reads.

    Where every interval begins at 0, ``d`` may be left out.

    ``e`` is the estimate, ``d`` how far the interval reaches below it, ``u`` how far above, and
    ``m`` the likeliest value less the estimate. All are in steps, and null where there is no
    estimate.

    Args:
        rows: a row for each figure, with an estimate for each window.

    """
    step = step_of(estimate for row in rows for estimate in row)
    coded = [[_coded(estimate, step) for estimate in row] for row in rows]
    columns = {
        name: [[None if steps is None else steps[column] for steps in row] for row in coded]
        for column, name in enumerate("edum")
    }
    if not any(likeliest is not None for row in columns["m"] for likeliest in row):
        del columns["m"]
    return {"step": step, **columns}


def _coded(known: KnownEstimate, step: float) -> tuple[int, int, int, int | None] | None:
    if known is None or known.estimate is None:
        return None
    estimate = round(known.estimate / step)
    likeliest = None if known.maximum_likelihood is None else round(known.maximum_likelihood / step) - estimate
    return estimate, estimate - round(known.low / step), round(known.high / step) - estimate, likeliest
