"""The inverse of projective geometry, in which a reported point supports all orthogonal points.

Inputs and symbols are points of the projective geometry PG(t-1, q). The points are the lines
through the origin of a t-dimensional vector space over the integers modulo a prime q. The points
orthogonal to a point form its hyperplane. A device prefers points orthogonal to its input.

Source: Feldman, Nelson, Nguyen & Talwar 2022, "Private frequency estimation via projective
geometry", section 3. The decoder in that paper is a dynamic program over all vectors. This module
computes the sums over hyperplanes by Fourier transforms in t - 1 dimensions. Memory and time grow
with the number of points, which is about a factor q - 1 below the number of vectors.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from client_sdk.protocol.channel import COIN_SCALE
from client_sdk.protocol.mechanisms.projective_geometry import ProjectiveGeometry
from estimator.decoders.support import Balanced, Block, Support
from estimator.statistics.arrays import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Orthogonality:
    """For each point of PG(t-1, q), the sum over all points orthogonal to this point.

    Attributes:
        inputs: k, the number of inputs, which are the first k points.
        prime: q, the modulus of the vector space.
        firsts: for m from 0 to t - 1, the index of the first point with m coordinates after its
            leading 1. The last entry is the number of points.
        multiples: for each point w of PG(t-2, q) (row) and each m from 0 to q - 1 (column), the
            vector m w as an integer. The coordinates are the digits to the base q.
    """

    inputs: int
    prime: int
    firsts: tuple[int, ...]
    multiples: NDArray[np.int32]

    @classmethod
    def from_channel(cls, channel: ProjectiveGeometry) -> Orthogonality:
        """Compute the multiples of the points of the geometry with one dimension less."""
        prime, dimension = channel.prime, channel.dimension
        powers = [prime**digits for digits in range(dimension + 1)]
        firsts = tuple((power - 1) // (prime - 1) for power in powers)
        numbers = np.concatenate([np.arange(power, 2 * power, dtype=np.int32) for power in powers[: dimension - 1]])
        factors = np.arange(prime, dtype=np.int32)
        multiples = np.zeros((numbers.size, prime), dtype=np.int32)
        for power in powers[: dimension - 1]:
            digits = numbers // power % prime
            multiples += digits[:, None] * factors % prime * power
        return cls(channel.inputs, prime, firsts, multiples)

    def of_values(self, scores: Floats) -> Floats:
        """Return, for each input, the sum of the scores of the points orthogonal to it."""
        return self._sums(scores)[..., : self.inputs]

    def of_symbols(self, shares: Floats) -> Floats:
        """Return, for each point, the sum of the shares of the inputs orthogonal to it."""
        scores = np.zeros((*shares.shape[:-1], self.firsts[-1]))
        scores[..., : self.inputs] = shares
        return self._sums(scores)

    def _sums(self, scores: Floats) -> Floats:
        """Return, for each point, the sum of the scores of the points orthogonal to it.

        The recursion starts from PG(0, q), with a single point that is not orthogonal to itself.
        Each round adds a first coordinate. The points are then (0, w), for each point w of the
        previous round, and (1, u), for any vector u. Vectors are orthogonal if their product is 0
        modulo q.

        * For a point (0, w) or (1, m w), the sum over the orthogonal points that begin with 0 is
          known from the previous round.
        * The point (0, w) is orthogonal to (1, u) if the product of u and w is 0. The point
          (1, m w) is orthogonal to (1, u) if this product is -1/m.
        * For each w, the scores' Fourier transform is taken at the multiples of w. An inverse
          transform gives the sums over all u with the same product.
        * The point (1, 0) is orthogonal to all points that begin with 0, and to no point (1, u).
        """
        prime = self.prime
        to_be_orthogonal = [-pow(factor, -1, prime) % prime for factor in range(1, prime)]
        populations = scores.shape[:-1]
        sums = np.zeros((*populations, 1))
        for digits in range(1, len(self.firsts) - 1):
            first, end = self.firsts[digits : digits + 2]
            multiples = self.multiples[:first]
            affine = scores[..., first:end].reshape(*populations, *(prime,) * digits)
            spectra = np.fft.fftn(affine, axes=range(-digits, 0)).reshape(*populations, -1)
            by_product = np.fft.irfft(spectra[..., multiples[:, : prime // 2 + 1]], n=prime)
            larger = np.empty((*populations, end))
            larger[..., :first] = by_product[..., 0] + sums
            larger[..., first] = scores[..., :first].sum(axis=-1)
            larger[..., first + multiples[:, 1:]] = by_product[..., to_be_orthogonal] + sums[..., np.newaxis]
            sums = larger
        return sums


def inverse(channel: ProjectiveGeometry) -> Balanced:
    """Return the inverse of a channel.

    Any two values have the same number of points that support both, so the inverse is `Balanced`.
    """
    points, orthogonal = channel.symbols, channel.orthogonal
    common = (orthogonal - 1) // channel.prime
    keep = Fraction(channel.keep_numerator, COIN_SCALE)
    other = keep * common / orthogonal + (1 - keep) * (orthogonal - common) / (points - orthogonal)
    block = Block(float(keep / orthogonal), float((1 - keep) / (points - orthogonal)))
    return Balanced(Support(keep, other), block, Orthogonality.from_channel(channel))


def extreme(channel: ProjectiveGeometry) -> float:
    """Return the probability that a report causes the full privacy loss that epsilon allows.

    Such a report multiplies an observer's odds of the true answer against another answer by
    e**epsilon. The result is the largest such probability over all pairs of answers.
    """
    common = (channel.orthogonal - 1) // channel.prime
    return float(channel.keep_numerator / COIN_SCALE * (channel.orthogonal - common) / channel.orthogonal)
