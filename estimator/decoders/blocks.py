"""Channels of two probabilities: the likelier symbols of an input are its block.

Given an input, each symbol of its block has one probability, and each other symbol has a smaller
one. That is a mixture of two uniform draws: one of all symbols, and one of the symbols of the
block. In a weighted design both draws have the weights of its base blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from client_sdk.protocol.channel import Channel
from client_sdk.protocol.mechanisms.block_design import BlockDesign
from client_sdk.protocol.mechanisms.projective_geometry import ProjectiveGeometry
from client_sdk.protocol.mechanisms.square_wave import SquareWave
from estimator.statistics.arrays import Counts, Floats

SymbolOf = Callable[[Counts, Counts], Counts]
"""From inputs and places within their blocks, 0 to size - 1, to the symbols there. Arrays are
broadcast.
"""


@dataclass(frozen=True, slots=True)
class Blocks:
    """The blocks of a channel, all of one size.

    Attributes:
        size: how many symbols a block has.
        symbol_of: returns the symbol at a place of an input's block. Symbols at different places
            differ.
        weights: of equal stretches of the symbols, and of equal stretches of the places. Only one
            if all are alike.

    """

    size: int
    symbol_of: SymbolOf
    weights: tuple[Fraction, ...] = (Fraction(1),)

    @property
    def share_of_first(self) -> Fraction:
        """The probability of the first place if a place is drawn by its weight."""
        return self.weights[0] / sum(self.weights) * len(self.weights) / self.size

    def drawn(self, number: int) -> Floats:
        """Return the probability of each of a number of symbols, or of places, by their weights."""
        total = sum(self.weights) * number / len(self.weights)
        chances = np.array([float(weight / total) for weight in self.weights])
        return np.repeat(chances, number // len(self.weights))


def of_names(_: Channel) -> Blocks:
    """Return the blocks of a channel whose symbols each name an input."""
    return Blocks(1, lambda given, _: given)


def of_square_wave(channel: SquareWave) -> Blocks:
    """Return the bands."""
    return Blocks(channel.width, lambda given, place: given + place)


def of_block_design(channel: BlockDesign) -> Blocks:
    """Return the shifts that hold an input, weighted by base block."""
    points, size = channel.points, channel.block_size
    members = np.array([channel.base_block(index) for index in range(channel.base_blocks)], dtype=np.int64).ravel()

    def symbol_of(given: Counts, place: Counts) -> Counts:
        shift = (given - members[place]) % points
        return place // size * points + shift

    return Blocks(channel.base_blocks * size, symbol_of, tuple(map(Fraction, channel.weights)))


def of_geometry(channel: ProjectiveGeometry) -> Blocks:
    """Return the hyperplanes that hold an input."""
    return Blocks(channel.orthogonal, _orthogonal(channel))


def _orthogonal(channel: ProjectiveGeometry) -> SymbolOf:
    """Return the points orthogonal to a point, as ``ProjectiveGeometry.perturb`` does."""
    prime = channel.prime
    powers = np.array([prime**digits for digits in range(channel.dimension + 1)], dtype=np.int64)
    firsts = (powers - 1) // (prime - 1)
    inverses = np.array([0, *(pow(digit, -1, prime) for digit in range(1, prime))], dtype=np.int64)

    def digits_of(vectors: Counts) -> Counts:
        digits: Counts = vectors[..., None] // powers[:-1] % prime
        return digits

    def symbol_of(given: Counts, place: Counts) -> Counts:
        pivot = np.searchsorted(firsts, given, side="right") - 1
        leading = np.searchsorted(firsts, place, side="right") - 1
        before, after = np.divmod(powers[leading] + place - firsts[leading], powers[pivot])
        product = (digits_of(given - firsts[pivot]) * digits_of(after)).sum(axis=-1)
        vectors = (before * prime + -product % prime) * powers[pivot] + after
        leading = np.searchsorted(powers, vectors, side="right") - 1
        first, rest = np.divmod(vectors, powers[leading])
        points: Counts = firsts[leading] + digits_of(rest) * inverses[first][..., None] % prime @ powers[:-1]
        return points

    return symbol_of
