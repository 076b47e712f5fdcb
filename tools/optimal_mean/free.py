"""The scores with the minimum worst variance, for sliding bands of a given size.

`tools.optimal_mean` explains bands, scores and the worst variance.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy.optimize import minimize

from estimator.statistics.arrays import Floats
from tools.optimal_mean.shapes import Shape, worst_variance

ROUNDS: Final = 300
"""The maximum number of rounds of the search for scores. About 50 are usual."""


def best_scores(shape: Shape) -> tuple[float, Floats]:
    """Return the minimum worst variance on a range from -1 to 1, and the scores, shape (symbols,).

    The scores rise and are antisymmetric. The scale of the scores makes the expected score of the
    last band 1. The search bounds the variance for answers at each band and in the middle between
    two bands. The worst answer between two bands is nearly in the middle.
    """
    half = shape.symbols // 2
    mirror = np.zeros((shape.symbols, half))
    mirror[np.arange(half), np.arange(half)] = -1
    mirror[shape.symbols - 1 - np.arange(half), np.arange(half)] = 1
    law = shape.law()[(shape.bands - 1) // 2 :]
    places, squares = law @ mirror, law @ mirror**2
    start = np.linspace(1.0, 1.0 / half, half)
    start /= places[-1] @ start

    def variances(scores: Floats) -> Floats:
        place, square = places @ scores, squares @ scores**2
        middle = (place[1:] + place[:-1]) / 2
        return np.concatenate([square - place**2, (square[1:] + square[:-1]) / 2 - middle**2])

    def slopes(scores: Floats) -> Floats:
        place = (places @ scores)[:, np.newaxis]
        square = 2 * squares * scores
        at_middle = (square[1:] + square[:-1]) / 2 - (place[1:] + place[:-1]) / 2 * (places[1:] + places[:-1])
        return np.concatenate([square - 2 * place * places, at_middle])

    falling = np.eye(half) - np.eye(half, k=1)
    column, row = np.zeros((half, 1)), np.zeros(half)
    solution = minimize(
        lambda free: free[-1],
        np.append(start, variances(start).max()),
        jac=lambda _: np.append(row, 1.0),
        method="SLSQP",
        options={"maxiter": ROUNDS, "ftol": 1e-12},
        constraints=[
            {
                "type": "ineq",
                "fun": lambda free: free[-1] - variances(free[:-1]),
                "jac": lambda free: np.hstack([-slopes(free[:-1]), np.ones((2 * len(law) - 1, 1))]),
            },
            {"type": "ineq", "fun": lambda free: falling @ free[:-1], "jac": lambda _: np.hstack([falling, column])},
            {
                "type": "eq",
                "fun": lambda free: np.atleast_1d(places[-1] @ free[:-1] - 1),
                "jac": lambda _: np.append(places[-1], 0.0)[np.newaxis],
            },
        ],
    )
    scores: Floats = mirror @ solution.x[:-1]
    of_bands = shape.law() @ np.column_stack([scores, scores**2])
    return worst_variance(of_bands[:, 0], of_bands[:, 1]), scores
