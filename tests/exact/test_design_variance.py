"""n times the variance of the channels that ``auto`` chooses, computed on the true channels,
against the optimum.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np

from client_sdk.protocol import COIN_SCALE, Channel
from client_sdk.protocol.epsilon import exp_floor
from client_sdk.protocol.kinds.category import Category
from client_sdk.protocol.mechanisms import AUTO, channel_for, designs
from client_sdk.protocol.mechanisms.balanced_design import BalancedDesign
from client_sdk.protocol.mechanisms.catalogue import GOOD_ENOUGH, set_mechanism
from client_sdk.protocol.mechanisms.cyclic_design import CyclicDesign
from client_sdk.protocol.mechanisms.k_ary_randomized_response import KAryRandomizedResponse
from client_sdk.protocol.mechanisms.projective_geometry import ProjectiveGeometry
from client_sdk.protocol.requested_epsilon import RequestedEpsilon
from estimator.decoders.block_designs import LeastSquares
from estimator.decoders.inversions import inverse_of
from estimator.decoders.support import Balanced, Support
from tests.support.core.tables import for_each

SIZES = [*range(2, 65), 80, 96, 100, 128, 200, 256, 500, 1000, 1024, 5000]
EPSILONS = ["0.1", "0.25", "0.5", "1", "1.5", "2", "3", "4", "5"]
PROMISED = 1.05
REACHED = 1.03
"""1.02 by the rule of auto, times 1 + 1/128 for pseudo-random blocks: a loss shows before the
promise is broken.
"""


def requested(epsilon: str) -> RequestedEpsilon:
    return RequestedEpsilon.parse(Decimal(epsilon))


def bound(inputs: int, epsilon: str) -> float:
    """Return n times the variance of subset selection with the best subset size: Ye & Barg 2018."""
    odds = exp_floor(Fraction(epsilon))
    return float(designs.subset_variance(inputs, designs.best_subset_size(inputs, odds), odds))


def variance(channel: Channel) -> float:
    """Return n times the variance of a share, averaged over values, in a uniform population of
    known answers.
    """
    if isinstance(channel, CyclicDesign):
        return spectral_variance(channel)
    inverse = support_of(channel) if isinstance(channel, BalancedDesign) else inverse_of(channel)
    support = inverse.support if isinstance(inverse, Balanced) else inverse
    assert isinstance(support, Support)
    own, other, k = support.own, support.other, channel.inputs
    return float((own * (1 - own) / k + other * (1 - other) * (k - 1) / k) * support.slope**2)


def support_of(channel: BalancedDesign) -> Support:
    """Return the support of values that are balanced, without all blocks, which take longer."""
    own = Fraction(channel.keep_numerator, COIN_SCALE)
    return Support(own, (channel.block_size - own) / (channel.points - 1))


def spectral_variance(channel: CyclicDesign) -> float:
    """Return the mean reciprocal eigenvalue of the information matrix, less the share: from the
    blocks alone.
    """
    k, d, j = channel.inputs, channel.block_size, channel.base_blocks
    keep = Fraction(channel.keep_numerator, COIN_SCALE)
    gap = float(keep / (j * d) - (1 - keep) / (j * (k - d)))
    indicators = np.zeros((j, k))
    for index in range(j):
        indicators[index, list(channel.base_block(index))] = 1
    eigenvalues = j * k * gap**2 * (np.abs(np.fft.fft(indicators)) ** 2).sum(axis=0)
    eigenvalues[0] = k
    return float((1 / eigenvalues).mean() - 1 / k)


FEWER_SIZES = [*range(2, 65, 5), 96, 128, 200, 256, 500, 1000, 1024, 5000]
"""Deriving a design of many divisors takes some milliseconds."""

REACHED_BY_AUTO = 1.0055
"""1.005 by the rule of auto, times 1.0005 for a prime above the number of values."""

TOO_FEW_SYMBOLS = {("4", 200), ("5", 1000), ("5", 1024), ("4", 5000), ("5", 5000)}
"""Cells for which no design of at most 65,536 symbols is known to have that variance."""


@for_each("epsilon", EPSILONS)
def test_the_variance_of_what_auto_chooses_is_the_least_but_for_half_a_percent(epsilon: str) -> None:
    for inputs in FEWER_SIZES:
        channel = channel_for(Category(tuple(map(str, range(inputs)))), requested(epsilon), AUTO)
        ratio = variance(channel) / bound(inputs, epsilon)
        assert 0.999 < ratio <= (REACHED if (epsilon, inputs) in TOO_FEW_SYMBOLS else REACHED_BY_AUTO), inputs
        assert channel.symbols <= 2**16 or inputs > 1024


@for_each("epsilon", ["0.1", "1", "4"])
@for_each("design", [(7, 2, 3), (8, 2, 7), (9, 4, 3), (64, 17, 128), (500, 70, 128)])
def test_the_second_moments_of_the_inverse_have_the_variance_of_the_spectrum(
    design: tuple[int, int, int], epsilon: str
) -> None:
    channel = CyclicDesign.within(requested(epsilon), *design)
    inverse = inverse_of(channel)
    if isinstance(inverse, LeastSquares):
        of_moments = inverse.mean_squares.mean() - 1 / channel.inputs
    else:
        assert isinstance(inverse, Balanced)
        own, other, k = inverse.support.own, inverse.support.other, channel.inputs
        of_moments = float((own * (1 - own) + other * (1 - other) * (k - 1)) / k * inverse.support.slope**2)
    rounding = 64 * channel.symbols * float(np.finfo(float).eps)
    assert abs(of_moments / spectral_variance(channel) - 1) <= rounding


@for_each("epsilon", EPSILONS)
def test_the_closed_forms_that_auto_compares_are_the_variances_of_the_true_channels(epsilon: str) -> None:
    """Exact except for pseudo-random blocks, whose variance is about 1 + 1/j of the optimum."""
    requested_epsilon = requested(epsilon)
    for inputs in (3, 8, 16, 33, 64, 200, 1024):
        for candidate in designs._candidates(inputs, requested_epsilon.odds):
            design = candidate.design
            channel: Channel = (
                CyclicDesign.within(requested_epsilon, inputs, *design)
                if candidate.name == designs.CYCLIC
                else ProjectiveGeometry.within(requested_epsilon, inputs, *design)
                if candidate.name == designs.PROJECTIVE
                else KAryRandomizedResponse.within(requested_epsilon, inputs)
            )
            assert channel.symbols == candidate.symbols
            # the numerator is cut to 64 bits, which takes some 2**-50 of the excess over 1/2 or 1/k
            # that carries the answer
            pseudo_random = candidate.name == designs.CYCLIC and design[0] > 2
            slack = 0.01 if pseudo_random else 2.0**-32
            assert abs(variance(channel) / float(candidate.variance) - 1) <= slack, (inputs, candidate)


@for_each("odds", [3, designs.LARGEST_PRIME - 1, 10**6])
def test_a_tally_of_a_geometry_takes_at_most_128_megabytes(odds: int) -> None:
    for inputs in (3, 5000, 40_000):
        symbols = [candidate.symbols for candidate in designs._candidates(inputs, Fraction(odds))]
        assert 8 * max(symbols) <= 128 * 2**20


def test_two_primes_on_either_side_are_the_nearest_ones() -> None:
    primes = [number for number in range(2, 1000) if all(number % divisor for divisor in range(2, number))]
    for center in range(2, 900):
        below = [prime for prime in reversed(primes) if prime <= center][:2]
        above = [prime for prime in primes if prime > center][:2]
        assert list(designs._primes_near(center)) == below + above


def test_blocks_are_chosen_for_sets_as_soon_as_favoring_all_members_costs_2_percent_more() -> None:
    odds = requested("2").odds
    for values in range(3, 41):
        favoring_all = (values + odds - 1) / (odds - 1) ** 2
        size = designs.best_subset_size(values + 1, odds)
        blocks = designs.rare_variance(values + 1, size, odds)
        chosen = set_mechanism(values, 1, odds)
        assert chosen == "one-of" or (chosen == designs.K_ARY) == (favoring_all <= GOOD_ENOUGH * blocks), values
