"""Figures over windows in few bytes: whole numbers of a step that is a hundredth of the narrowest interval."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from estimator.results.estimate import Estimate

FINEST = 1e-12
"""Of an interval without a length any step would do."""

Known = Estimate | None


def step_of(estimates: Iterable[Known]) -> float:
    """Return a power of ten that shows a hundredth of the narrowest interval."""
    lengths = [one.high - one.low for one in estimates if one is not None and one.unbiased is not None]
    narrowest = min((length for length in lengths if length > FINEST), default=1.0)
    return float(f"1e{math.floor(math.log10(narrowest)) - 2}")


def tracks(rows: Sequence[Sequence[Known]]) -> dict[str, Any]:
    """Return rows of estimates, one a window, as the page's script reads them.

    ``e`` is the estimate, ``d`` how far the interval reaches below it, ``u`` above, ``m`` the likeliest value less the
    estimate; all in steps, and null where there is none.
    """
    step = step_of(one for row in rows for one in row)
    coded = [[_coded(one, step) for one in row] for row in rows]
    columns = {
        name: [[None if one is None else one[column] for one in row] for row in coded]
        for column, name in enumerate("edum")
    }
    if not any(one is not None for row in columns["m"] for one in row):
        del columns["m"]
    return {"step": step, **columns}


def _coded(one: Known, step: float) -> tuple[int, int, int, int | None] | None:
    if one is None or one.unbiased is None:
        return None
    estimate = round(one.unbiased / step)
    likeliest = None if one.likeliest is None else round(one.likeliest / step) - estimate
    return estimate, estimate - round(one.low / step), round(one.high / step) - estimate, likeliest
