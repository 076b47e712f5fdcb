"""The exact law of a procedure that draws from a numpy generator, by replay of every outcome of
every draw.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from typing import Any, cast

import numpy as np

from estimator.statistics.arrays import Counts

Law = dict[tuple[int, ...], Fraction]

Outcome = tuple[tuple[int, ...], Fraction]
"""Counts, and how likely they are."""


class ScriptedGenerator:
    """Stands in for ``numpy.random.Generator``: draw i has outcome number ``script[i]``, or the
    first one beyond its end.

    Attributes:
        taken: for each draw the number of its outcome, and the number of its possible outcomes.
        weight: the probability of all outcomes together.

    """

    def __init__(self, script: list[int]) -> None:
        self._script = script
        self.taken: list[tuple[int, int]] = []
        self.weight = Fraction(1)

    def binomial(self, n: Any, p: Any) -> Counts:
        trials, chances = np.broadcast_arrays(n, p)
        outcomes = [
            self._choose(_outcomes(n, (c, 1 - c)))[0]
            for n, c in zip(trials.ravel().tolist(), map(Fraction, chances.ravel().tolist()), strict=True)
        ]
        return np.array(outcomes, dtype=np.int64).reshape(trials.shape)

    def multinomial(self, n: Any, pvals: Any) -> Counts:
        chances = [Fraction(chance) for chance in pvals.tolist()]
        chances[-1] = 1 - sum(chances[:-1], start=Fraction(0))  # as numpy does
        trials = np.asarray(n)
        rows = [self._choose(_outcomes(total, tuple(chances))) for total in trials.ravel().tolist()]
        return np.array(rows, dtype=np.int64).reshape(*trials.shape, len(chances))

    def integers(self, low: int, high: int, size: int) -> Counts:
        each = [((value,), Fraction(1, high - low)) for value in range(low, high)]
        return np.array([self._choose(each)[0] for _ in range(size)], dtype=np.int64)

    def _choose(self, possible: Sequence[Outcome]) -> tuple[int, ...]:
        index = self._script[len(self.taken)] if len(self.taken) < len(self._script) else 0
        self.taken.append((index, len(possible)))
        outcome, weight = possible[index]
        self.weight *= weight
        return outcome


def exact_law_of_counts(procedure: Callable[[np.random.Generator], Counts]) -> Law:
    """Return the probability of each array of counts that a procedure can return."""
    law: Law = defaultdict(Fraction)
    script: list[int] | None = []
    while script is not None:
        generator = ScriptedGenerator(script)
        counts = procedure(cast("np.random.Generator", generator))
        law[tuple(counts.tolist())] += generator.weight
        script = _next(generator.taken)
    return dict(law)


def _next(taken: list[tuple[int, int]]) -> list[int] | None:
    """Return the script of the next path in lexicographic order, or None after the last one."""
    left = list(taken)
    while left:
        index, outcomes = left.pop()
        if index + 1 < outcomes:
            return [*(before for before, _ in left), index + 1]
    return None


@cache
def _outcomes(total: int, chances: tuple[Fraction, ...]) -> list[Outcome]:
    """Return the counts that are possible; the same draw is replayed on very many paths."""
    outcomes = [(row, _multinomial(row, chances)) for row in _compositions(total, len(chances))]
    return [(row, weight) for row, weight in outcomes if weight]


def _multinomial(counts: tuple[int, ...], chances: tuple[Fraction, ...]) -> Fraction:
    ways = math.factorial(sum(counts)) // math.prod(map(math.factorial, counts))
    return ways * math.prod((chance**count for chance, count in zip(chances, counts, strict=True)), start=Fraction(1))


def _compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        yield from ((first, *rest) for rest in _compositions(total - first, parts - 1))
