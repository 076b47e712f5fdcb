"""The inverses of block designs against the true channels: operators, unbiasedness, variance,
likelihood, coverage.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import cache
from math import lcm
from operator import mul

import numpy as np
import pytest

from client_sdk.protocol import Channel
from client_sdk.protocol.mechanisms.balanced_design import BalancedDesign
from client_sdk.protocol.mechanisms.cyclic_design import CyclicDesign
from client_sdk.protocol.mechanisms.k_ary_randomized_response import KAryRandomizedResponse
from client_sdk.protocol.mechanisms.projective_geometry import ProjectiveGeometry
from client_sdk.protocol.requested_epsilon import RequestedEpsilon
from estimator.decoders.block_designs import LeastSquares
from estimator.decoders.inversions import inverse_of
from estimator.decoders.support import Balanced
from estimator.likelihood.shares import ROUNDING, SLACK, maximum_likelihood
from estimator.statistics.arrays import Floats, nearest_shares
from tests.support.core.tables import for_each
from tests.support.estimates.inverses import PRECISION, matrix, solved, uneven


def designs(epsilon: str) -> list[Channel]:
    requested = RequestedEpsilon.parse(Decimal(epsilon))
    cyclic = [(3, 2, 1), (4, 2, 3), (7, 2, 3), (8, 2, 7), (7, 3, 2), (9, 4, 3), (16, 6, 4), (32, 9, 128)]
    geometries = [(7, 2, 3), (5, 2, 3), (13, 3, 3), (14, 2, 4), (20, 5, 3), (40, 3, 4), (60, 2, 6)]
    balanced = [(7, 7, 3, 1), (5, 7, 3, 3), (6, 6, 3, 1), (12, 12, 4, 1), (14, 17, 4, 4), (30, 30, 11, 1)]
    return [
        *(BalancedDesign.within(requested, *design) for design in balanced),
        *(CyclicDesign.within(requested, *design) for design in cyclic),
        *(ProjectiveGeometry.within(requested, *design) for design in geometries),
    ]


DESIGNS = [*designs("0.5"), *designs("2"), *designs("4")]
SMALL = [channel for channel in DESIGNS if channel.inputs <= 16]
LARGE = [channel for channel in DESIGNS if channel.inputs > 16]


@cache
def weights(channel: Channel) -> Floats:
    """Return what one report of each symbol adds to each share, shape (symbols, inputs)."""
    return inverse_of(channel).shares(np.eye(channel.symbols, dtype=np.int64), 1)


@cache
def tolerance(channel: Channel) -> float:
    """Return a bound on rounding: a few last digits of each term, magnified by the inversion."""
    return 64 * PRECISION * channel.symbols * float(np.abs(weights(channel)).max())


@pytest.mark.long
@for_each("channel", DESIGNS)
def test_the_law_of_symbols_and_its_adjoint_are_those_of_the_channel(channel: Channel) -> None:
    inverse, law = inverse_of(channel), matrix(channel)
    scores = np.arange(channel.symbols, dtype=np.float64) % 7 + 0.5
    rounding = 16 * PRECISION * channel.symbols
    assert np.allclose(inverse.symbol_law(uneven(channel.inputs)), law @ uneven(channel.inputs), rtol=rounding, atol=0)
    assert np.allclose(inverse.expectations(scores), law.T @ scores, rtol=rounding, atol=0)


@pytest.mark.long
@for_each("channel", DESIGNS)
def test_what_a_report_adds_to_a_value_is_1_on_average_if_it_is_the_answer_else_0(channel: Channel) -> None:
    expected = weights(channel).T @ matrix(channel)
    assert np.allclose(expected, np.eye(channel.inputs), rtol=0, atol=tolerance(channel))


@pytest.mark.parametrize(
    "channels", [pytest.param(SMALL, id="small"), pytest.param(LARGE, marks=pytest.mark.long, id="large")]
)
def test_the_standard_error_equals_enumeration(channels: list[Channel]) -> None:
    for channel in channels:
        assert_enumerated(channel)


def assert_enumerated(channel: Channel) -> None:
    shares, reports = uneven(channel.inputs), 2**50
    law = matrix(channel) @ shares
    variance = law @ weights(channel) ** 2 - shares**2
    counts = np.rint(law * reports).astype(np.int64)
    errors = inverse_of(channel).standard_errors(counts, int(counts.sum())) * np.sqrt(float(counts.sum()))
    assert np.allclose(errors, np.sqrt(variance), rtol=1024 * tolerance(channel), atol=0)


@for_each("channel", DESIGNS)
def test_one_report_leaves_a_standard_error(channel: Channel) -> None:
    counts = np.eye(1, channel.symbols, dtype=np.int64)[0]
    assert (inverse_of(channel).standard_errors(counts, 1) > 0).all()


@pytest.mark.long
@for_each("channel", SMALL)
def test_the_weights_are_those_of_exact_least_squares(channel: Channel) -> None:
    """In rationals: the weighted least squares of a uniform population, which are exactly
    unbiased.
    """
    k, m = channel.inputs, channel.symbols
    law = [[channel.probability(y, x) for x in range(k)] for y in range(m)]
    points = channel.points if isinstance(channel, BalancedDesign) else m
    if isinstance(channel, ProjectiveGeometry | BalancedDesign) and k < points:
        # its support counts know all points
        law = [[channel.probability(y, x) for x in range(points)] for y in range(m)]
    size = len(law[0])
    weighed = [[chance * size / sum(row) for chance in row] for row in law]  # by that of a uniform population
    normal = product_of(transposed(law), weighed)
    exact = product_of(weighed, solved(normal))
    assert product_of(transposed(law), exact) == [[answer == value for value in range(size)] for answer in range(size)]
    assert np.allclose(weights(channel), np.array(exact, dtype=float)[:, :k], rtol=0, atol=tolerance(channel))


def transposed(matrix: list[list[Fraction]]) -> list[list[Fraction]]:
    return [list(column) for column in zip(*matrix, strict=True)]


def product_of(left: list[list[Fraction]], right: list[list[Fraction]]) -> list[list[Fraction]]:
    """Return the exact product of two matrices, in integers: fractions reduce each sum."""
    (rows, of_rows), (columns, of_columns) = over_one_denominator(left), over_one_denominator(transposed(right))
    return [[Fraction(sum(map(mul, row, column)), of_rows * of_columns) for column in columns] for row in rows]


def over_one_denominator(matrix: list[list[Fraction]]) -> tuple[list[list[int]], int]:
    denominator = lcm(*(entry.denominator for row in matrix for entry in row))
    return [[entry.numerator * (denominator // entry.denominator) for entry in row] for row in matrix], denominator


@pytest.mark.long
@for_each("channel", DESIGNS)
@for_each("power", [0, 3])
def test_no_shares_are_likelier_than_the_likeliest_by_more_than_the_stated_slack(channel: Channel, power: int) -> None:
    counts = (np.arange(channel.symbols) % 5) ** power * 40 + np.arange(channel.symbols) % 2
    inverse, reports = inverse_of(channel), int(counts.sum())
    shares = maximum_likelihood(inverse, counts)
    law = matrix(channel)
    assert (shares >= 0).all()
    assert abs(shares.sum() - 1) <= 16 * channel.inputs * PRECISION
    best = maximum_by_expectation(law, counts / reports)
    gained = (counts * np.log(law @ best / (law @ shares))).sum()
    assert gained <= reports * max(SLACK * channel.inputs / reports, ROUNDING)


def maximum_by_expectation(law: Floats, frequencies: Floats) -> Floats:
    """Return nearly the likeliest shares by 2000 plain rounds of expectation maximization, which
    are slow but independent.
    """
    shares: Floats = np.full(law.shape[1], 1 / law.shape[1])
    for _ in range(2000):
        shares = shares * (law.T @ (frequencies / (law @ shares)))
    return shares


def test_the_nearest_shares_are_on_the_simplex_and_obey_the_conditions_of_a_projection() -> None:
    for size in (1, 2, 5, 100):
        wished = np.sin(np.arange(size) * 3.0) / 2
        nearest = nearest_shares(wished)
        assert (nearest >= 0).all()
        assert abs(nearest.sum() - 1) <= 4 * size * PRECISION
        lowered = wished - nearest
        assert np.allclose(lowered[nearest > 0], lowered.max(), rtol=0, atol=4 * size * PRECISION)


def test_blocks_of_three_and_more_are_inverted_by_least_squares_and_balanced_ones_by_support() -> None:
    for channel in DESIGNS:
        unbalanced = isinstance(channel, CyclicDesign) and channel.block_size > 2
        assert isinstance(inverse_of(channel), LeastSquares if unbalanced else Balanced)


UNBALANCED = [
    CyclicDesign.within(RequestedEpsilon.parse(epsilon), *design)
    for epsilon, design in ((1, (9, 4, 3)), (2, (32, 4, 128)), (4, (100, 3, 128)))
]
RUNS = 20_000


@pytest.mark.long
@for_each("reports", [5, 49, 50, 200, 3000])
@for_each("channel", UNBALANCED)
def test_the_intervals_of_unbalanced_designs_cover_by_sampling(channel: CyclicDesign, reports: int) -> None:
    """At least 95% below 50 reports, 93% from there on.

    The slack is what chance does in 20,000 tallies once in 10**9.
    """
    inverse = inverse_of(channel)
    rng = np.random.default_rng(7)
    promised = 0.95 if reports < 50 else 0.93
    slack = 6.0 * (promised * (1 - promised) / RUNS) ** 0.5
    for shares in (np.eye(1, channel.inputs)[0], uneven(channel.inputs)):
        law = inverse.symbol_law(shares)
        drawn = rng.multinomial(reports, law / law.sum(), size=RUNS // channel.inputs + 1)
        low, high = inverse.intervals(drawn, np.full((len(drawn), 1), reports))
        covered = (low <= shares) & (shares <= high)
        assert covered.shape == (len(drawn), channel.inputs)
        assert covered.mean() >= promised - slack


def test_a_channel_of_one_symbol_a_value_is_also_inverted_through_the_same_operators() -> None:
    channel = KAryRandomizedResponse.within(RequestedEpsilon.parse(1), 5)
    inverse = inverse_of(channel)
    assert np.allclose(inverse.symbol_law(uneven(5)), matrix(channel) @ uneven(5), rtol=16 * PRECISION, atol=0)
    assert np.allclose(inverse.expectations(uneven(5)), matrix(channel).T @ uneven(5), rtol=16 * PRECISION, atol=0)
