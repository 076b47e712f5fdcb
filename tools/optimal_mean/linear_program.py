"""The minimum worst variance of all unbiased channels with an epsilon, by linear programming."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import block_array, eye_array, hstack, kron, vstack

from estimator.statistics.arrays import Floats

ANSWERS: Final = 17
"""The number of answers, from 0 to 1, with a bounded variance. By symmetry, negative answers have
the same variances.
"""


def least_variance(epsilon: float, scores: Floats, answers: int = ANSWERS) -> float:
    """Return the minimum worst variance of channels with given scores, on a range from -1 to 1.

    The scores are antisymmetric and rising. The variance is bounded only on a grid of answers,
    which can only lower the result. Channels with other scores are excluded, which can only raise
    the result.
    """
    size, odds = scores.size, math.exp(epsilon)
    places = np.linspace(0.0, 1.0, answers)
    base = (size + 1) // 2
    mirrored = np.minimum(np.arange(size), size - 1 - np.arange(size))
    spread = eye_array(base, format="csr")[mirrored]  # the least probabilities, which are symmetric
    laws, no_worst = eye_array(answers * size), np.zeros((answers * size, 1))
    repeated = vstack([spread] * answers)
    above = hstack([-laws, repeated, no_worst])
    below = hstack([laws, -odds * repeated, no_worst])
    squares = kron(eye_array(answers), scores[np.newaxis] ** 2)
    bounded = hstack([squares, np.zeros((answers, base)), -np.ones((answers, 1))])
    sums = vstack([kron(eye_array(answers), np.ones((1, size))), kron(eye_array(answers), scores[np.newaxis])])
    mirror = (eye_array(size) - eye_array(size).tocsr()[::-1]).tocsr()[: size // 2]
    of_zero = hstack([mirror, np.zeros((size // 2, (answers - 1) * size))])
    equal = block_array([[vstack([sums, of_zero]), np.zeros((2 * answers + size // 2, base + 1))]])
    solution = linprog(
        np.append(np.zeros(answers * size + base), 1.0),
        A_ub=vstack([above, below, bounded]).tocsr(),
        b_ub=np.concatenate([np.zeros(2 * answers * size), places**2]),
        A_eq=equal.tocsr(),
        b_eq=np.concatenate([np.ones(answers), places, np.zeros(size // 2)]),
        bounds=(0, None),
        method="highs-ipm",
    )
    return float(solution.fun)
