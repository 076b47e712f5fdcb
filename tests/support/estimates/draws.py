"""The exact law of a procedure's draws, in which one call may draw many multinomials, each row with
its own law.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from estimator.statistics.arrays import Counts
from tests.support.laws.generators import Law, exact_law_of_counts


class RowByRow:
    """Passes draws on; a multinomial of many laws becomes one draw for each row, which is
    equivalent.
    """

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator

    def __getattr__(self, name: str) -> Any:
        return getattr(self._generator, name)

    def multinomial(self, n: Any, pvals: Any) -> Counts:
        if np.ndim(pvals) == 1:
            return self._generator.multinomial(n, pvals)
        return np.array([self._generator.multinomial(trials, law) for trials, law in zip(n, pvals, strict=True)])


def exact_law_of_rows(procedure: Callable[[np.random.Generator], Counts]) -> Law:
    """Return the probability of each array of counts that a procedure can return."""
    return exact_law_of_counts(lambda generator: procedure(cast("np.random.Generator", RowByRow(generator))))
