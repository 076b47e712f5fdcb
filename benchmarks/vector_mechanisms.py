"""Other mechanisms for unit vectors, implemented from their papers for comparison.

Each function takes directions, shape (n, d). Each function simulates one private report per
direction, and returns an unbiased estimate. The functions use numpy's random numbers, and are for
measurement only.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import product
from statistics import NormalDist

import numpy as np

from estimator.decoders.rotated_axes import hadamard
from estimator.statistics.arrays import Floats

NORMAL = NormalDist()
FINEST = 1e-12
STEPS = 2500
"""The number of candidates for the edge of the cap in PrivUnitG: 500 per standard deviation."""

SHRINKS, SHARES = np.arange(0.1, 0.95, 0.05).tolist(), np.arange(0.05, 1.0, 0.05).tolist()
"""The candidates for the parameters of Kashin representations."""

PILOT = 16
"""The number of random vectors on which the parameters are tried."""


def cap_gain(epsilon: float, edge: float) -> float:
    """Return the expected component, along the device's vector, of a report of PrivUnitG.

    A report is in the cap if this component is above the edge. The edge is a quantile of the normal
    distribution.
    """
    share = 1 - NORMAL.cdf(edge)
    keep = _keep(epsilon, share)
    return NORMAL.pdf(edge) * (keep / share - (1 - keep) / (1 - share))


def _keep(epsilon: float, share: float) -> float:
    odds = math.exp(epsilon) * share
    return odds / (odds + 1 - share)


def best_edge(epsilon: float) -> float:
    """Return the edge of the cap with the smallest error of PrivUnitG."""
    return max((step / 500 for step in range(STEPS)), key=lambda edge: cap_gain(epsilon, edge))


def least_error(epsilon: float) -> float:
    """Return n times the squared error of a coordinate with PrivUnitG, in high dimension."""
    return 1 / cap_gain(epsilon, best_edge(epsilon)) ** 2


def priv_unit_g(directions: Floats, epsilon: float, generator: np.random.Generator) -> Floats:
    """PrivUnitG: Asi, Feldman & Talwar 2022, section 4.

    "Optimal algorithms for mean estimation under local privacy". The report is a random normal
    vector. With a certain probability, the report's component along the device's direction is above
    the edge. Otherwise, this component is below the edge.
    """
    edge = best_edge(epsilon)
    share = 1 - NORMAL.cdf(edge)
    ranks = generator.random(len(directions))
    kept = generator.random(len(directions)) < _keep(epsilon, share)
    ranks = np.where(kept, 1 - share * ranks, (1 - share) * ranks)
    along = np.array([NORMAL.inv_cdf(rank) for rank in np.clip(ranks, FINEST, 1 - FINEST).tolist()])
    normal = generator.normal(size=directions.shape)
    across = normal - (normal * directions).sum(axis=1, keepdims=True) * directions
    reports: Floats = (across + along[:, np.newaxis] * directions) / cap_gain(epsilon, edge)
    return reports


def hemisphere(directions: Floats, epsilon: float, generator: np.random.Generator) -> Floats:
    """Duchi, Jordan & Wainwright 2018, section 4.2.3.

    "Minimax optimal procedures for locally private estimation". The report is a random direction.
    With a certain probability, the report is in the hemisphere around the vector. Otherwise, the
    report is in the opposite hemisphere.
    """
    devices, length = directions.shape
    normal = generator.normal(size=directions.shape)
    uniform = normal / np.linalg.norm(normal, axis=1, keepdims=True)
    is_toward = generator.random(devices) < math.exp(epsilon) / (1 + math.exp(epsilon))
    is_flipped = ((uniform * directions).sum(axis=1) > 0) != is_toward
    half_sphere = math.lgamma((length + 1) / 2) - math.lgamma(length / 2 + 1)
    scale = length * math.sqrt(math.pi) / 2 * math.exp(half_sphere) / math.tanh(epsilon / 2)
    reports: Floats = scale * np.where(is_flipped, -1.0, 1.0)[:, np.newaxis] * uniform
    return reports


def sqkr(directions: Floats, epsilon: float, bits: int, generator: np.random.Generator) -> Floats:
    """SQKR: Chen, Kairouz & Ozgur 2020, section 3.

    "Breaking the communication-privacy-accuracy trilemma". The device computes the Kashin
    representation of its vector, and rounds each number at random to the positive or the negative
    level. The device reports ``bits`` of these signs, at publicly drawn places, by randomized
    response with 2**bits values.
    """
    devices, length = directions.shape
    frame = _Frame(length, generator)
    level, numbers = frame.representation(directions)
    ups = generator.random(numbers.shape) < (1 + numbers / level) / 2
    places = np.argsort(generator.random(numbers.shape), axis=1)[:, :bits]
    signs = np.where(np.take_along_axis(ups, places, axis=1), 1.0, -1.0)
    symbols = 2**bits
    truth = math.exp(epsilon) / (math.exp(epsilon) + symbols - 1)
    other = _another(signs, generator)
    reported = np.where((generator.random(devices) < truth)[:, np.newaxis], signs, other)
    gained = (math.exp(epsilon) + symbols - 1) / (math.exp(epsilon) - 1)
    sampled = np.zeros(numbers.shape)
    np.put_along_axis(sampled, places, reported * (level * gained * frame.size / bits), axis=1)
    return frame.synthesis(sampled)


def _another(signs: Floats, generator: np.random.Generator) -> Floats:
    """Return a random different row for each row of signs. All are equally likely."""
    bits = signs.shape[1]
    flips = generator.integers(1, 2**bits, size=len(signs))
    flipped = flips[:, np.newaxis] >> np.arange(bits) & 1
    return signs * (1.0 - 2.0 * flipped)


class _Frame:
    """A tight frame for vectors of length d: d rows of a Hadamard transform with random signs.

    The rows have N numbers. N is the smallest power of two that is at least 2 d.
    """

    def __init__(self, length: int, generator: np.random.Generator) -> None:
        self.size = 2 << (length - 1).bit_length()
        self._rows = generator.permutation(self.size)[:length]
        self._signs = generator.choice([-1.0, 1.0], size=self.size)

    def analysis(self, vectors: Floats) -> Floats:
        wide = np.zeros((len(vectors), self.size))
        wide[:, self._rows] = vectors
        numbers: Floats = hadamard(wide) / math.sqrt(self.size) * self._signs
        return numbers

    def synthesis(self, numbers: Floats) -> Floats:
        vectors: Floats = (hadamard(numbers * self._signs) / math.sqrt(self.size))[:, self._rows]
        return vectors

    def representation(self, vectors: Floats) -> tuple[float, Floats]:
        """Return a level, and the Kashin representation of vectors (Lyubarsky & Vershynin 2010).

        The level is a bound on the absolute value of all numbers of the representation.
        """
        shrink, share = _parameters(len(self._rows))
        return self.level(shrink, share), self.truncated(vectors, shrink, share)[1]

    def level(self, shrink: float, share: float) -> float:
        """Return the level: the sum of the bounds in all rounds of `truncated`."""
        return 1 / ((1 - shrink) * math.sqrt(share * self.size))

    def truncated(self, vectors: Floats, shrink: float, share: float) -> tuple[float, Floats]:
        """Return the norm of the largest remainder, and the representation of vectors.

        Each round represents the remainder of a vector by numbers that are truncated to a bound.
        The cut-off part is the remainder for the next round.
        """
        most, left, numbers = 1 / math.sqrt(share * self.size), vectors, np.zeros((len(vectors), self.size))
        longest = 1.0
        while FINEST < longest < 2 * most * math.sqrt(share * self.size):  # a longer remainder would not shrink
            part = np.clip(self.analysis(left), -most, most)
            numbers += part
            left = left - self.synthesis(part)
            most, longest = most * shrink, float(np.linalg.norm(left, axis=1).max())
        return longest, numbers


@lru_cache
def _parameters(length: int) -> tuple[float, float]:
    """Return the parameters with the smallest level that leave no remainder of random vectors."""
    generator = np.random.default_rng(length)
    frame, normal = _Frame(length, generator), generator.normal(size=(PILOT, length))
    pilot = normal / np.linalg.norm(normal, axis=1, keepdims=True)
    return next(
        pair
        for pair in sorted(product(SHRINKS, SHARES), key=lambda pair: frame.level(*pair))
        if frame.truncated(pilot, *pair)[0] < FINEST
    )
