"""Cyclic block designs inverted: least squares over Z_k, one transform a base block.

Blocks of pseudo-random values are nearly, not exactly, balanced, so that support counts alone would be biased. The
least squares of the channel's linear equations are solved frequency by frequency, because every block is taken with
all its shifts. The weights of the equations are those of a uniform population, for which the result has the least
variance of all unbiased estimates; it is unbiased in every population. Pairs are exactly balanced.

Source: Park, Nam & Lee 2023, section IV; Kay 1993, "Fundamentals of statistical signal processing: estimation theory",
section 4.4 (least squares of circulant equations by Fourier transforms).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from client_sdk.protocol import COIN_SCALE
from client_sdk.protocol.mechanisms.cyclic_design import PAIR, CyclicDesign
from estimator.inverse.protocol import Inverse
from estimator.inverse.support import Balanced, Block, Support
from estimator.statistics.arrays import Counts, Floats, Reports
from estimator.statistics.binomial_intervals import binomial_intervals
from estimator.statistics.confidence import EXACT_BELOW, FEW
from estimator.statistics.score_intervals import score_intervals
from estimator.statistics.simplex import nearest_shares

Spectra = NDArray[np.complex128]


@dataclass(frozen=True, slots=True, eq=False)
class Shifts:
    """Which shifts of base blocks hold which values: convolutions over Z_k.

    Attributes:
        inputs: k.
        blocks: the real Fourier transforms of the base blocks' indicators, shape (j, k // 2 + 1).

    """

    inputs: int
    blocks: Spectra

    @classmethod
    def of(cls, channel: CyclicDesign) -> Shifts:
        """Transform the base blocks of a channel."""
        indicators = np.zeros((channel.base_blocks, channel.inputs))
        for index, indicator in enumerate(indicators):
            indicator[list(channel.base_block(index))] = 1
        return cls(channel.inputs, np.fft.rfft(indicators))

    def of_values(self, scores: Floats) -> Floats:
        """Return the sum of the scores of the symbols whose block holds each value, shape (..., k)."""
        return self.gathered(scores, self.blocks)

    def of_symbols(self, shares: Floats) -> Floats:
        """Return the sum of the shares of the values that each symbol's block holds, shape (..., m)."""
        return self.spread(shares, self.blocks)

    def gathered(self, scores: Floats, weights: Spectra) -> Floats:
        """Return the sum of all symbols' scores, (..., m), each with its weight for a value: shape (..., k)."""
        spectra = np.fft.rfft(scores.reshape(*scores.shape[:-1], -1, self.inputs))
        return np.fft.irfft((spectra * weights).sum(axis=-2), n=self.inputs)

    def spread(self, shares: Floats, weights: Spectra) -> Floats:
        """Return the sum of all values' shares, (..., k), each with its weight for a symbol: shape (..., m)."""
        spectra = np.fft.rfft(shares)[..., np.newaxis, :] * weights.conj()
        return np.fft.irfft(spectra, n=self.inputs).reshape(*shares.shape[:-1], -1)


@dataclass(frozen=True, slots=True, eq=False)
class LeastSquares:
    """The inverse of a design that is not exactly balanced.

    A report of block i shifted by s adds ``weight_i(v - s)`` to the estimate of value v. What it adds has mean 1 if
    the answer is v and 0 if not; its mean square depends on the answer x through the distance x - v alone.

    Attributes:
        block: the law.
        shifts: which symbols hold which values.
        weights: the transforms of the weights, shape (j, k // 2 + 1).
        mean_squares: of the weight that a report adds to a value, by the distance of the answer, shape (k,).
        own: how often a block holds the sender's answer.
        other_least: how often it holds another value, for the distance at which that is least often.
        other_most: for the distance at which it is most often.

    """

    block: Block
    shifts: Shifts
    weights: Spectra
    mean_squares: Floats
    own: float
    other_least: float
    other_most: float

    @classmethod
    def of(cls, channel: CyclicDesign, block: Block, own: float) -> LeastSquares:
        """Prepare the weights of a channel and their exact second moments."""
        shifts = Shifts.of(channel)
        inputs, blocks, gap = channel.inputs, shifts.blocks, block.supporting - block.others
        powers = (np.abs(blocks) ** 2).sum(axis=0)
        weights = blocks / (gap * powers)
        weights[:, 0] = 1  # whatever the symbol, its weights add up to 1, as the shares do
        squares = np.fft.irfft(weights, n=inputs) ** 2
        near = np.fft.irfft((np.fft.rfft(squares).conj() * blocks).sum(axis=0), n=inputs)
        held = channel.symbols * channel.block_size / inputs * block.others + gap * np.fft.irfft(powers, n=inputs)[1:]
        mean_squares = block.others * squares.sum() + gap * near
        return cls(block, shifts, weights, mean_squares, own, float(held.min()), float(held.max()))

    def shares(self, counts: Counts, reports: Reports) -> Floats:
        """Return the unbiased estimate of each value's share, shape (..., k)."""
        return self.shifts.gathered(counts / reports, self.weights)

    def standard_errors(self, counts: Counts, reports: Reports) -> Floats:
        """Return the standard error of each estimated share, shape (..., k), for people sampled at random.

        It is that of the population on the simplex nearest to the estimate, exactly; so it is above 0.
        """
        shares = nearest_shares(self.shares(counts, reports))
        spectrum = np.fft.rfft(shares) * np.fft.rfft(self.mean_squares).conj()
        squares = np.fft.irfft(spectrum, n=self.shifts.inputs)
        errors: Floats = np.sqrt((squares - shares**2) / reports)
        return errors

    def intervals(self, counts: Counts, reports: Reports, family: int = 1) -> tuple[Floats, Floats]:
        """Return the ends of the shares' confidence intervals, each of shape (..., k), within 0..1.

        A share has many populations, of different variance. From 50 reports on the interval holds the shares that a
        score test does not reject, with the largest variance over all populations that have the share. Where few
        reports hold a value, it is that of the support count, which is binomial in every population, with the
        worst one for either end: the confidence is kept at every truth.
        """
        own, other = self.mean_squares[0], self.mean_squares[1:].max()
        low, high = score_intervals(self.shares(counts, reports), own, other, reports, family)
        few = np.less(reports, max(EXACT_BELOW, FEW / self.other_least))
        if few.any():
            low, high = np.where(few, self._conservative(counts, reports, family), (low, high))
        return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)

    def symbol_law(self, shares: Floats) -> Floats:
        """Return the probability of each symbol, shape (..., m), in a population of such shares."""
        return self.block.symbol_law(self.shifts, shares)

    def expectations(self, scores: Floats) -> Floats:
        """Return what each input, shape (..., k), expects of a score of the symbol."""
        return self.block.expectations(self.shifts, scores)

    def contrast(self, weights: Floats) -> Floats:
        """Return what a report of each symbol adds to the estimate of a weighted sum of shares."""
        return self.shifts.spread(weights, self.weights)

    def extremes(self) -> tuple[Floats, Floats]:
        """Return the least and the most that a report adds to each estimate; shape (1,): every block has all shifts."""
        added = np.fft.irfft(self.weights, n=self.shifts.inputs)
        return added.min(keepdims=True).ravel(), added.max(keepdims=True).ravel()

    def _conservative(self, counts: Counts, reports: Reports, family: int) -> tuple[Floats, Floats]:
        supports = np.rint(self.shifts.of_values(counts.astype(np.float64))).astype(np.int64)
        low, high = binomial_intervals(supports, reports, family)
        return (
            (low - self.other_most) / (self.own - self.other_most),
            (high - self.other_least) / (self.own - self.other_least),
        )


def inverse(channel: CyclicDesign) -> Inverse:
    """Return the inverse of a cyclic design: of support counts for pairs, else by least squares."""
    inputs, size = channel.inputs, channel.block_size
    keep = Fraction(channel.keep_numerator, COIN_SCALE)
    supporting = keep / (channel.base_blocks * size)
    others = (1 - keep) / (channel.base_blocks * (inputs - size))
    block = Block(float(supporting), float(others))
    if size == PAIR:
        return Balanced(Support(keep, (PAIR - keep) / (inputs - 1)), block, Shifts.of(channel))
    return LeastSquares.of(channel, block, float(keep))
