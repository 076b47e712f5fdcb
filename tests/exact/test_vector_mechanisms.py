"""The mechanisms that the benchmark of vectors compares with.

They are unbiased, and as far off as their papers say.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from benchmarks.vector_mechanisms import hemisphere, least_error, priv_unit_g, sqkr
from estimator.statistics.arrays import Floats

LENGTH, REPORTS, EPSILON = 16, 4000, 2.0
Mechanism = Callable[[Floats, float, np.random.Generator], Floats]


def quantised(bits: int, directions: Floats, epsilon: float, generator: np.random.Generator) -> Floats:
    return sqkr(directions, epsilon, bits, generator)


MECHANISMS: dict[str, Mechanism] = {
    "PrivUnitG": priv_unit_g,
    "hemisphere": hemisphere,
    "SQKR, 1 bit": partial(quantised, 1),
    "SQKR, 3 bits": partial(quantised, 3),
}


def reports_of(name: str) -> tuple[Floats, Floats]:
    direction = np.arange(1.0, LENGTH + 1) * (-1) ** np.arange(LENGTH)
    direction /= np.linalg.norm(direction)
    return direction, MECHANISMS[name](np.tile(direction, (REPORTS, 1)), EPSILON, np.random.default_rng(1))


@pytest.mark.parametrize("name", MECHANISMS)
def test_each_is_unbiased(name: str) -> None:
    direction, reports = reports_of(name)
    deviations = (reports.mean(axis=0) - direction) / (reports.std(axis=0) / math.sqrt(REPORTS))
    assert np.abs(deviations).max() < 4.5


def test_their_errors_are_those_of_the_papers() -> None:
    direction, reports = reports_of("hemisphere")
    along = math.exp(math.lgamma(LENGTH / 2) - math.lgamma((LENGTH + 1) / 2)) / math.sqrt(math.pi)
    length = 1 / (along * math.tanh(EPSILON / 2))
    assert np.allclose(np.linalg.norm(reports, axis=1), length)
    direction, reports = reports_of("PrivUnitG")
    squares = ((reports - direction) ** 2).sum(axis=1)
    assert abs(squares.mean() / (LENGTH * least_error(EPSILON)) - 1) < 0.05
    assert [round(least_error(epsilon), 3) for epsilon in (0.5, 1, 2, 4, 8)] == [25.18, 6.33, 1.617, 0.435, 0.133]
