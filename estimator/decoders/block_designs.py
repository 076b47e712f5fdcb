"""Inverses of block designs, in which a report supports all values of its block.

Each symbol names a block, which is a subset of the values. A device prefers blocks that contain its
answer. A report *supports* the values in its block. The support count of a value is the number of
reports that support the value. The blocks are the shifts of a few base blocks. For 7 values and the
base block {0, 1, 3}, the shifts are {1, 2, 4}, {2, 3, 5} and so on, modulo 7. Fourier transforms
(FFT) compute sums over all shifts.

In a balanced design, any two values occur together in the same number of blocks. The support count
of a value is therefore binomial, and yields an unbiased estimate of the value's share, which is the
fraction of people with this answer.

The pseudo-random base blocks of a cyclic design are not exactly balanced, so their support counts
would give biased shares. Instead, least squares solves the linear equations between shares and
symbol probabilities, separately for each Fourier frequency. This estimate is unbiased in every
population. If all values are equally common, the estimate has the smallest possible variance.
Blocks of two values are exactly balanced, and need no least squares.

Source: Park, Nam & Lee 2023, section IV; Kay 1993, "Fundamentals of statistical signal processing:
estimation theory", section 4.4 (least squares of circulant equations by Fourier transforms).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from client_sdk.protocol.channel import COIN_SCALE
from client_sdk.protocol.mechanisms.balanced_design import BalancedDesign
from client_sdk.protocol.mechanisms.cyclic_design import PAIR, CyclicDesign
from estimator.decoders.decoder import Inverse, Squares
from estimator.decoders.support import Balanced, Block, Incidence, Support
from estimator.statistics.arrays import Counts, Floats, Reports, nearest_shares
from estimator.statistics.confidence import EXACT_BELOW, FEW
from estimator.statistics.intervals import binomial_intervals, score_intervals

Spectra = NDArray[np.complex128]


@dataclass(frozen=True, slots=True, eq=False)
class Shifts:
    """Sums over the values of a block, and over the blocks that contain a value, computed by FFT.

    Attributes:
        inputs: k, the number of inputs.
        blocks: the real Fourier transforms of the 0/1 vectors of j base blocks, shape
            (j, k // 2 + 1).
    """

    inputs: int
    blocks: Spectra

    @classmethod
    def from_channel(cls, channel: CyclicDesign) -> Shifts:
        """Return the shifts of a channel's base blocks."""
        return cls.of_blocks(channel.inputs, [channel.base_block(index) for index in range(channel.base_blocks)])

    @classmethod
    def of_blocks(cls, inputs: int, blocks: Sequence[tuple[int, ...]]) -> Shifts:
        """Return the shifts of the base blocks ``blocks``, which are subsets of 0..inputs-1."""
        indicators = np.zeros((len(blocks), inputs))
        for indicator, block in zip(indicators, blocks, strict=True):
            indicator[list(block)] = 1
        return cls(inputs, np.fft.rfft(indicators))

    def of_values(self, scores: Floats) -> Floats:
        """Return, for each value, the total score of the blocks that contain it, shape (..., k)."""
        return self.gathered(scores, self.blocks)

    def of_symbols(self, shares: Floats) -> Floats:
        """Return, for each block, the sum of the shares of its values, shape (..., m)."""
        return self.spread(shares, self.blocks)

    def gathered(self, scores: Floats, weights: Spectra) -> Floats:
        """Return a weighted sum of the blocks' scores for each value, shape (..., k).

        A weight depends on the value minus the shift of the block. ``weights`` contains the Fourier
        transforms of each base block's weights.
        """
        spectra = np.fft.rfft(scores.reshape(*scores.shape[:-1], -1, self.inputs))
        return np.fft.irfft((spectra * weights).sum(axis=-2), n=self.inputs)

    def spread(self, shares: Floats, weights: Spectra) -> Floats:
        """Return a weighted sum of the values' shares for each block, shape (..., m).

        ``weights`` has the same form as in `gathered`.
        """
        spectra = np.fft.rfft(shares)[..., np.newaxis, :] * weights.conj()
        return np.fft.irfft(spectra, n=self.inputs).reshape(*shares.shape[:-1], -1)


@dataclass(frozen=True, slots=True, eq=False)
class LeastSquares:
    """The inverse of a cyclic design that is not exactly balanced.

    A report of base block i, shifted by s, has the score ``weight_i(v - s)`` for the share of value
    v. The expected score is 1 if the sender's answer is v, and 0 if it is another value.

    Attributes:
        block: the distribution of the symbols.
        shifts: the sums over the values of a block, and over the blocks that contain a value.
        weights: the Fourier transforms of the j base blocks' weights, shape (j, k // 2 + 1).
        mean_squares: the mean squared score of a report in the estimate of a value's share, shape
            (k,). The index is the distance (modulo k) between the value and the sender's answer.
        own: the probability that a report's block contains the sender's answer.
        other_least: the smallest probability that the block contains one particular value other
            than the sender's answer.
        other_most: the largest probability that the block contains one particular value other than
            the sender's answer.
    """

    block: Block
    shifts: Shifts
    weights: Spectra
    mean_squares: Floats
    own: float
    other_least: float
    other_most: float

    @classmethod
    def from_block(cls, channel: CyclicDesign, block: Block, own: float) -> LeastSquares:
        """Compute the weights and the mean squared scores for a channel."""
        shifts = Shifts.from_channel(channel)
        inputs, blocks, gap = channel.inputs, shifts.blocks, block.supporting - block.others
        powers = (np.abs(blocks) ** 2).sum(axis=0)
        weights = blocks / (gap * powers)
        weights[:, 0] = 1  # the scores of each symbol add up to 1 over all values, as shares do
        squares = np.fft.irfft(weights, n=inputs) ** 2
        near = np.fft.irfft((np.fft.rfft(squares).conj() * blocks).sum(axis=0), n=inputs)
        held = channel.symbols * channel.block_size / inputs * block.others + gap * np.fft.irfft(powers, n=inputs)[1:]
        mean_squares = block.others * squares.sum() + gap * near
        return cls(block, shifts, weights, mean_squares, own, float(held.min()), float(held.max()))

    def shares(self, counts: Counts, reports: Reports) -> Floats:
        """Return the unbiased estimate of each value's share, shape (..., k)."""
        return self.shifts.gathered(counts / reports, self.weights)

    def standard_errors(self, counts: Counts, reports: Reports) -> Floats:
        """Return the standard error of each share, shape (..., k), above 0.

        The variance is computed for a population with the valid shares (at least 0, with sum 1)
        that are nearest to the estimates.
        """
        shares = nearest_shares(self.shares(counts, reports))
        spectrum = np.fft.rfft(shares) * np.fft.rfft(self.mean_squares).conj()
        squares = np.fft.irfft(spectrum, n=self.shifts.inputs)
        errors: Floats = np.sqrt((squares - shares**2) / reports)
        return errors

    def intervals(self, counts: Counts, reports: Reports, family: int = 1) -> tuple[Floats, Floats]:
        """Return the ends of the shares' confidence intervals, each of shape (..., k), within 0..1.

        The interval consists of the shares that a score test does not reject. The test uses the
        largest variance over all populations with the tested share.

        If a tally has few reports, or if few reports are expected to support a value, the score
        test is inaccurate. The interval is then computed from the value's support count, with
        bounds on the probability of support that are valid for every population.
        """
        own, other = self.mean_squares[0], self.mean_squares[1:].max()
        low, high = score_intervals(self.shares(counts, reports), own, other, reports, family)
        few = np.less(reports, max(EXACT_BELOW, FEW / self.other_least))
        if few.any():
            low, high = np.where(few, self._conservative(counts, reports, family), (low, high))
        return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)

    def symbol_law(self, shares: Floats) -> Floats:
        """Return the probability of each symbol, shape (..., m), given shares of shape (..., k)."""
        return self.block.symbol_law(self.shifts, shares)

    def expectations(self, scores: Floats) -> Floats:
        """Return the expected score of a report for each input, given scores of shape (..., m)."""
        return self.block.expectations(self.shifts, scores)

    def contrast(self, weights: Floats) -> Floats:
        """Return each symbol's score in the estimate of a weighted sum of shares, shape (m,)."""
        return self.shifts.spread(weights, self.weights)

    def squares(self, inputs: int) -> Squares:
        """Return a report's mean squared scores for the sender's value and for other values."""
        own, others = self.mean_squares[:1], self.mean_squares[1:]
        enough = max(EXACT_BELOW, math.ceil(FEW / self.other_least))
        return Squares(inputs, own, others.max(keepdims=True), others.mean(keepdims=True), least_reports=enough)

    def extremes(self) -> tuple[Floats, Floats]:
        """Return the smallest and the largest score of any symbol, each of shape (1,).

        All values have the same extremes, because every block occurs with all shifts.
        """
        scores = np.fft.irfft(self.weights, n=self.shifts.inputs)
        return scores.min(keepdims=True).ravel(), scores.max(keepdims=True).ravel()

    def _conservative(self, counts: Counts, reports: Reports, family: int) -> tuple[Floats, Floats]:
        supports = np.rint(self.shifts.of_values(counts.astype(np.float64))).astype(np.int64)
        low, high = binomial_intervals(supports, reports, family)
        return (
            (low - self.other_most) / (self.own - self.other_most),
            (high - self.other_least) / (self.own - self.other_least),
        )


def cyclic_inverse(channel: CyclicDesign) -> Inverse:
    """Return the inverse of a cyclic design. Blocks of two values need no least squares."""
    inputs, size = channel.inputs, channel.block_size
    keep = Fraction(channel.keep_numerator, COIN_SCALE)
    supporting = keep / (channel.base_blocks * size)
    others = (1 - keep) / (channel.base_blocks * (inputs - size))
    block = Block(float(supporting), float(others))
    if size == PAIR:
        return Balanced(Support(keep, (PAIR - keep) / (inputs - 1)), block, Shifts.from_channel(channel))
    return LeastSquares.from_block(channel, block, float(keep))


def cyclic_extreme(channel: CyclicDesign) -> float:
    """Return the probability that a report causes the full privacy loss that epsilon allows.

    Such a report multiplies an observer's odds of the true answer against another answer by
    e**epsilon. The result is the largest such probability over all pairs of answers.
    """
    return float(channel.keep_numerator / COIN_SCALE * _apart(channel))


def _apart(channel: CyclicDesign) -> float:
    """For any two answers, return the largest fraction of the first's blocks without the second."""
    if channel.block_size == PAIR:
        return 1 - 1 / (channel.inputs - 1)
    indicators = np.zeros((channel.base_blocks, channel.inputs))
    for index, indicator in enumerate(indicators):
        indicator[list(channel.base_block(index))] = 1
    common = np.fft.irfft((np.abs(np.fft.rfft(indicators)) ** 2).sum(axis=0), n=channel.inputs)[1:]
    return 1 - round(float(common.min())) / (channel.base_blocks * channel.block_size)


@dataclass(frozen=True, slots=True, eq=False)
class FirstPoints:
    """The shifts of a design with v points, of which only the first k are inputs.

    Attributes:
        inputs: k, the number of inputs.
        shifts: the shifts of all v points.
    """

    inputs: int
    shifts: Shifts

    def of_values(self, scores: Floats) -> Floats:
        """Return, for each value, the total score of the blocks that contain it, shape (..., k)."""
        return self.shifts.of_values(scores)[..., : self.inputs]

    def of_symbols(self, shares: Floats) -> Floats:
        """Return, for each block, the sum of the shares of its values, shape (..., m)."""
        of_points = np.zeros((*shares.shape[:-1], self.shifts.inputs))
        of_points[..., : self.inputs] = shares
        return self.shifts.of_symbols(of_points)


@dataclass(frozen=True, slots=True, eq=False)
class WeightedBlock(Block):
    """The distribution of the symbols of a design with unequally likely blocks.

    Attributes:
        frequencies: how often devices draw each block, relative to the average, shape (m,).
    """

    frequencies: Floats

    def symbol_law(self, incidence: Incidence, shares: Floats) -> Floats:
        """Return the probability of each symbol, shape (..., m), given shares of shape (..., k)."""
        return self.frequencies * super(WeightedBlock, self).symbol_law(incidence, shares)

    def expectations(self, incidence: Incidence, scores: Floats) -> Floats:
        """Return the expected score of a report for each input, given scores of shape (..., m)."""
        return super(WeightedBlock, self).expectations(incidence, self.frequencies * scores)


def balanced_inverse(channel: BalancedDesign) -> Balanced:
    """Return the inverse of a balanced design, computed from support counts."""
    points, size, blocks = channel.points, channel.block_size, channel.base_blocks
    keep = Fraction(channel.keep_numerator, COIN_SCALE)
    other = (keep * (size - 1) + (1 - keep) * size) / (points - 1)
    frequencies = np.array([float(channel.chance(index) * blocks) for index in range(blocks)])
    block = WeightedBlock(
        float(keep / (blocks * size)), float((1 - keep) / (blocks * (points - size))), np.repeat(frequencies, points)
    )
    shifts = Shifts.of_blocks(points, [channel.base_block(index) for index in range(blocks)])
    return Balanced(Support(keep, other), block, FirstPoints(channel.inputs, shifts))


def balanced_extreme(channel: BalancedDesign) -> float:
    """Return the probability that a report causes the full privacy loss that epsilon allows.

    Such a report multiplies an observer's odds of the true answer against another answer by
    e**epsilon. The result is the largest such probability over all pairs of answers.
    """
    apart = (channel.points - channel.block_size) / (channel.points - 1)
    return float(channel.keep_numerator / COIN_SCALE * apart)
