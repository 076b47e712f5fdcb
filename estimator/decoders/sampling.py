"""Random tallies from their exact distribution, with few draws for many devices.

Devices are independent. For n devices with the same input x, the reports are therefore a single
multinomial draw. The draw has n trials and the probabilities P(symbol | x).

In many channels, each input has a block of equally likely symbols. All other symbols have the same
smaller probability. With a certain probability, a report is drawn uniformly from all symbols, and
otherwise uniformly from the block. In a balanced design with unequal weights of base blocks, both
draws use these weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from client_sdk.protocol.channel import COIN_SCALE, Channel
from client_sdk.protocol.mechanisms.block_design import BlockDesign
from client_sdk.protocol.mechanisms.hierarchical import Hierarchical
from client_sdk.protocol.mechanisms.one_of import OneOf
from client_sdk.protocol.mechanisms.optimal_mean import OptimalMean
from client_sdk.protocol.mechanisms.projective_geometry import ProjectiveGeometry
from client_sdk.protocol.mechanisms.square_wave import SquareWave
from estimator.statistics.arrays import Counts, Floats

SymbolOf = Callable[[Counts, Counts], Counts]
"""A function that returns the symbol at a place (position) in an input's block.

The arguments are an array of inputs and an array of places, from 0 to size - 1. The shapes of both
arrays must be compatible (broadcast).
"""

Sampler = Callable[[Counts, np.random.Generator], Counts]
"""A function that draws a random tally.

The arguments are the number of devices with each input, shape (k,), and a random generator. The
result is the number of reports of each symbol, shape (m,).
"""

MAX_KEPT_PROBABILITIES = 2**24
"""The maximum number of probabilities that `by_table` keeps in memory (128 MB)."""

DRAWN_AT_ONCE = 2**20
"""The maximum number of devices or places in a batch, for arrays of 8 MB."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """The blocks of a channel, all of the same size.

    Attributes:
        size: the number of symbols in a block.
        symbol_of: returns the symbol at each place of an input's block. The symbols of a block are
            distinct.
        weights: the weights for drawing symbols. All symbols are divided into ranges of equal
            length, one for each weight. The places of a block are divided in the same way.
    """

    size: int
    symbol_of: SymbolOf
    weights: tuple[Fraction, ...] = (Fraction(1),)

    @property
    def share_of_first(self) -> Fraction:
        """The weighted probability of the first place of a block."""
        return self.weights[0] / sum(self.weights) * len(self.weights) / self.size

    def drawn(self, number: int) -> Floats:
        """Return the weighted probability of each of ``number`` symbols or places."""
        total = sum(self.weights) * number / len(self.weights)
        chances = np.array([float(weight / total) for weight in self.weights])
        return np.repeat(chances, number // len(self.weights))


def of_names(_: Channel) -> Blocks:
    """Return the blocks of a channel whose symbols are its inputs. Each block is one symbol."""
    return Blocks(1, lambda given, _: given)


def of_square_wave(channel: SquareWave) -> Blocks:
    """Return the blocks of a square wave. The block of input x begins at symbol x."""
    return Blocks(channel.width, lambda given, place: given + place)


def of_block_design(channel: BlockDesign) -> Blocks:
    """Return the blocks of a block design: the symbols that support an input.

    (A block of the design is a set of inputs; a block here is a set of symbols.)
    """
    points, size = channel.points, channel.block_size
    members = np.array([channel.base_block(index) for index in range(channel.base_blocks)], dtype=np.int64).ravel()

    def symbol_of(given: Counts, place: Counts) -> Counts:
        shift = (given - members[place]) % points
        return place // size * points + shift

    return Blocks(channel.base_blocks * size, symbol_of, tuple(map(Fraction, channel.weights)))


def of_geometry(channel: ProjectiveGeometry) -> Blocks:
    """Return the blocks of a projective geometry: for an input, the points orthogonal to it."""
    return Blocks(channel.orthogonal, _orthogonal(channel))


def _orthogonal(channel: ProjectiveGeometry) -> SymbolOf:
    """Return a function that finds the points orthogonal to inputs.

    The function computes for arrays what ``ProjectiveGeometry.perturb`` computes for one input.
    """
    prime = channel.prime
    powers, firsts = powers_and_firsts(prime, channel.dimension)
    inverses = inverses_modulo(prime)

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


def powers_and_firsts(prime: int, dimension: int) -> tuple[Counts, Counts]:
    """Return two arrays, each with an entry for every m from 0 to ``dimension``.

    * the power ``prime`` ** m
    * the index of the first point with m coordinates after its leading 1. The last entry is the
      number of points.
    """
    powers = np.array([prime**digits for digits in range(dimension + 1)], dtype=np.int64)
    return powers, (powers - 1) // (prime - 1)


def inverses_modulo(prime: int) -> Counts:
    """Return 0, then the inverse modulo ``prime`` of each number from 1 to ``prime`` - 1."""
    return np.array([0, *(pow(digit, -1, prime) for digit in range(1, prime))], dtype=np.int64)


def by_blocks(channel: Channel, blocks: Blocks) -> Sampler:
    """Return a sampler for a channel that favors a block of symbols for each input."""
    in_block = channel.probability(_first_symbol(blocks), given=0) / blocks.share_of_first
    surplus = float(in_block - blocks.size * (1 - in_block) / (channel.symbols - blocks.size))
    anything = blocks.drawn(channel.symbols)

    def sample(inputs: Counts, generator: np.random.Generator) -> Counts:
        kept = generator.binomial(inputs, surplus)
        tally = generator.multinomial(inputs.sum() - kept.sum(), anything)
        _add_block_draws(tally, kept, blocks, generator)
        return tally

    return sample


def _first_symbol(blocks: Blocks) -> int:
    zero = np.zeros(1, dtype=np.int64)
    return int(blocks.symbol_of(zero, zero)[0])


def _add_block_draws(tally: Counts, kept: Counts, blocks: Blocks, generator: np.random.Generator) -> None:
    """For some devices, draw a symbol from the block of their input, and add it to the tally.

    ``kept`` is the number of these devices for each input. If an input has many of these devices,
    the number of devices for each symbol of the block is drawn. If an input has few devices, a
    symbol is drawn for each device, unless the weights of the block differ.
    """
    fewest = blocks.size if len(blocks.weights) == 1 else 1
    many = np.flatnonzero(kept >= fewest)
    places = np.arange(blocks.size)
    chances = blocks.drawn(blocks.size)
    inputs_at_once = max(1, DRAWN_AT_ONCE // blocks.size)
    for first in range(0, many.size, inputs_at_once):
        given = many[first : first + inputs_at_once]
        draws = generator.multinomial(kept[given], chances)
        np.add.at(tally, blocks.symbol_of(given[:, None], places), draws)
    ends = np.cumsum(np.where(kept < fewest, kept, 0))
    for first in range(0, int(ends[-1]), DRAWN_AT_ONCE):
        devices = np.arange(first, min(first + DRAWN_AT_ONCE, int(ends[-1])))
        given = np.searchsorted(ends, devices, side="right")
        tally += np.bincount(
            blocks.symbol_of(given, generator.integers(0, blocks.size, size=devices.size)), minlength=tally.size
        )


def level_by_level(channel: Hierarchical, sampler_of: Callable[[Channel], Sampler]) -> Sampler:
    """Return a sampler that draws a tree level for each device, then each level's symbols."""
    levels = [(level.span, sampler_of(level.channel)) for level in channel.levels]
    alike = np.full(len(levels), 1 / len(levels))

    def sample(inputs: Counts, generator: np.random.Generator) -> Counts:
        on_levels = generator.multinomial(inputs, alike).T
        nodes = (
            np.add.reduceat(devices, np.arange(0, channel.inputs, span))
            for (span, _), devices in zip(levels, on_levels, strict=True)
        )
        return np.concatenate([draw(of_nodes, generator) for (_, draw), of_nodes in zip(levels, nodes, strict=True)])

    return sample


def by_bands(channel: OptimalMean) -> Sampler:
    """Return a sampler that draws a band (see `optimal_mean`) for each device, then the symbols."""
    of_bands = [
        np.array([float(channel.probability(symbol, knot)) for symbol in range(channel.symbols)])
        for knot in channel.knots
    ]
    inputs_of_channel, knots = np.arange(channel.inputs), np.array(channel.knots)
    before = np.searchsorted(knots[1:-1], inputs_of_channel, side="right")
    part = (inputs_of_channel - knots[before]) / np.array(channel.steps)[before]

    def sample(inputs: Counts, generator: np.random.Generator) -> Counts:
        at_next = generator.binomial(inputs, part)
        devices = np.bincount(before, inputs - at_next, knots.size) + np.bincount(before + 1, at_next, knots.size)
        tally = np.zeros(channel.symbols, dtype=np.int64)
        for count, law in zip(devices.astype(np.int64).tolist(), of_bands, strict=True):
            tally += generator.multinomial(count, law / law.sum())
        return tally

    return sample


def by_table(channel: Channel) -> Sampler:
    """Return a sampler that makes one multinomial draw for all devices with the same input."""
    laws: dict[int, NDArray[np.float64]] = {}

    def law_of(given: int) -> NDArray[np.float64]:
        if given in laws:
            return laws[given]
        law = np.array([float(channel.probability(symbol, given)) for symbol in range(channel.symbols)])
        law /= law.sum()
        if channel.inputs * channel.symbols <= MAX_KEPT_PROBABILITIES:
            laws[given] = law
        return law

    def sample(inputs: Counts, generator: np.random.Generator) -> Counts:
        tally = np.zeros(channel.symbols, dtype=np.int64)
        for given in np.flatnonzero(inputs).tolist():
            law = law_of(given)
            # numpy assigns rounding errors to the last symbol, which must therefore be possible
            possible = np.flatnonzero(law)
            tally[possible] += generator.multinomial(inputs[given], law[possible])
        return tally

    return sample


def by_metric(channel: OneOf) -> Sampler:
    """Return a sampler for devices that each answer one of m yes/no questions.

    For each question, the sampler takes the number of devices with the true answer 'no' and the
    number with the true answer 'yes', shape (2 m,). Each device is counted only for the question
    that it answers.
    """
    lie = float(1 - Fraction(channel.keep_numerator, COIN_SCALE))

    def sample(inputs: Counts, generator: np.random.Generator) -> Counts:
        lies = generator.binomial(inputs, lie)
        told: Counts = inputs - lies + lies.reshape(-1, 2)[:, ::-1].ravel()
        return told

    return sample
