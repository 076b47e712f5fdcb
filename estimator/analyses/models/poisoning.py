"""By how much made-up reports could have moved the coefficients of a model of products.

They move the mean of the vectors by a length r at most (`Vectors.length_moved`). What
follows holds for every mean within r, and so for that of the honest reports; the penalty lambda and
the noise s are those of the tally.

* A mean of parts p, S, z and y, each divided by its weight, gives k = p - z y and C = S - z z'.
  By the inequality of Cauchy and Schwarz over the four parts of r,
  |dk| <= r root(1/w_p^2 + |z|^2/w_y^2 + y^2/w_z^2) + r^2 / (2 w_z w_y) and, in Frobenius' norm,
  |dC| <= r root(1/w_S^2 + 4 |z|^2/w_z^2) + r^2/w_z^2. To lift small eigenvalues is to project on a
  convex set, which makes no distance longer.
* With A the inverse of the penalised covariance, A* that of the other mean, and b = A k:
  A* - A = -A* dC A, so that |db| <= |A*| (|dk| + |dC| |b|). Lifted eigenvalues are at least
  lambda / 2, and move by |dC| at most (Weyl 1912): |A*| <= 2 / lambda, and
  |A*| <= 1 / (1 / |A| - |dC|) if that is above 0.
* The correction for the bias is s^2 M b with M = A^2 + tr(A) A. Its change is
  s^2 (M* db + (M* - M) b), where |M*| <= (1 + d) |A*|^2, and
  M* - M = A* D + D A + tr(D) A* + tr(A) D for D = A* - A, whose Frobenius norm is at most
  |A*| |dC| |A|, and whose trace at most root(d) times that.
* Whatever the mean, b* is |A*| (|k| + |dk|) at most, so that no coefficients are further away than
  that, with their correction, and the tally's own together.
"""

from __future__ import annotations

import math

import numpy as np

from client_sdk.protocol.models.model import weights
from client_sdk.protocol.vectors.vector import UNIT
from estimator.analyses.models.products import Covariances, Moments, Ridge


def coefficient_move(moments: Moments, ridge: Ridge, noise: float, length: float) -> float:
    """Return how far the coefficients lie at most from those of any mean within a length.

    Args:
        moments: of the tally.
        ridge: fitted to them.
        noise: s, as it was fitted with.
        length: r, of the vectors with their weights.

    """
    of_k, of_c = covariance_moves(moments, length)
    with_label = Covariances.of(moments).with_label
    inverse, plain = ridge.inverse, ridge.inverse @ with_label
    size, inputs = float(np.linalg.norm(inverse, 2)), len(plain)
    other = 2 / ridge.penalty
    if 1 / size > of_c:
        other = min(other, 1 / (1 / size - of_c))
    own, products = float(np.linalg.norm(plain)), float(np.linalg.norm(with_label))
    of_correction = noise**2 * (1 + inputs) * other**2
    anything = own + float(np.linalg.norm(plain - ridge.coefficients)) + (1 + of_correction) * other * (products + of_k)
    of_plain, of_inverse = other * (of_k + of_c * own), other * of_c * size
    through_inverse = (other * (1 + math.sqrt(inputs)) + float(np.trace(inverse))) * own
    through_inverse += float(np.linalg.norm(inverse @ plain))
    return min(anything, (1 + of_correction) * of_plain + noise**2 * of_inverse * through_inverse)


def covariance_moves(moments: Moments, length: float) -> tuple[float, float]:
    """Return |dk| and |dC|: how far covariances lie at most from those of means within a length."""
    of_label, of_square, _, of_feature, of_itself = (each / UNIT for each in weights())
    z, y = float(np.linalg.norm(moments.features)), abs(float(moments.label))
    with_label = length * math.hypot(1 / of_label, z / of_itself, y / of_feature)
    of_features = length * math.hypot(1 / of_square, 2 * z / of_feature)
    return with_label + length**2 / (2 * of_feature * of_itself), of_features + length**2 / of_feature**2
