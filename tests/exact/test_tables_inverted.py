"""The exponential mechanism inverted: unbiased in rationals, of least variance, and with the
variance that it states.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from client_sdk.protocol.mechanisms.exponential import TOTAL, Exponential
from estimator.decoders.exponential import TableInverse, inverse
from tests.support.core.tables import for_each
from tests.support.estimates.inverses import (
    PRECISION,
    UNLIKE,
    enumerated_covariance,
    matrix,
    requested,
    scale_of,
    solved,
    uneven,
)

TABLES: dict[str, Exponential] = {
    **{f"scale of {k} at {epsilon}": scale_of(k, epsilon) for k in (2, 3, 5, 8) for epsilon in ("0.25", "1", "5")},
    "scale of 64 at 1": scale_of(64, "1"),
    "utilities at 1": Exponential.within(requested(1), UNLIKE),
    "utilities at 4": Exponential.within(requested(4), UNLIKE),
}
SMALL = [name for name, channel in TABLES.items() if channel.inputs <= 8]


def error(table: TableInverse) -> float:
    """Return by how much an entry of the decoder may be off: solving loses the digits of the
    condition number.

    Gaussian elimination with pivoting is exact for equations that are off by some k last digits
    (Higham 2002, "Accuracy and stability of numerical algorithms", section 9.3). The solution is
    then off by that many times the condition number, relative to the largest entry.
    """
    weighted = table.law / table.law.mean(axis=0)
    condition = float(np.linalg.cond(weighted @ table.law.T))
    return 16 * len(table.law) * PRECISION * condition * float(np.abs(table.decoder).max())


@pytest.mark.long
@for_each("name", TABLES)
def test_what_a_report_adds_to_a_value_is_1_on_average_if_it_is_the_answer_else_0(name: str) -> None:
    """The law in exact integers, and the decoder as the exact rationals that its floats are."""
    table, channel = inverse(TABLES[name]), TABLES[name]
    decoder = [[Fraction(entry) for entry in row] for row in table.decoder.tolist()]
    for answer, row in enumerate(channel.weights):
        for value in range(channel.inputs):
            expected = (
                sum((weight * added for weight, added in zip(row, decoder[value], strict=True)), Fraction(0)) / TOTAL
            )
            assert abs(expected - (answer == value)) <= error(table)


@for_each("name", SMALL)
def test_the_decoder_is_the_inverse_of_the_table_in_rationals(name: str) -> None:
    table, channel = inverse(TABLES[name]), TABLES[name]
    exact = solved([[Fraction(weight, TOTAL) for weight in row] for row in channel.weights])
    computed = table.decoder.T  # a row a symbol, as in the inverse of a table with a row an input
    assert max(
        abs(Fraction(float(computed[y, v])) - exact[y][v]) for y in range(len(exact)) for v in range(len(exact))
    ) <= (error(table))
    assert all(sum(row) == 1 for row in exact)


@for_each("name", TABLES)
def test_what_each_report_adds_has_the_sum_1(name: str) -> None:
    table = inverse(TABLES[name])
    assert np.abs(table.decoder.sum(axis=0) - 1).max() <= len(table.law) * error(table)


@for_each("name", TABLES)
@for_each("reports", [1, 100])
def test_the_standard_error_equals_enumeration(name: str, reports: int) -> None:
    """At a tally in the proportions of a law, so that only rounding moves anything to the
    simplex.
    """
    channel = TABLES[name]
    table, shares = inverse(channel), uneven(channel.inputs)
    whole = 2**50
    counts = np.rint(matrix(channel) @ shares * whole).astype(np.int64)
    variance = np.diagonal(enumerated_covariance(channel, table, shares)) / reports
    errors = table.standard_errors(counts, int(counts.sum())) * np.sqrt(counts.sum() / reports)
    # rounding moves counts by a half, which is 2**-51 of the reports, and the decoder has its own
    # error
    off = channel.symbols * float(np.abs(table.decoder).max()) * (2.0**-51 + error(table))
    scale = float(np.abs(table.mean_squares).max()) / float(variance.min() * reports)
    assert np.allclose(errors, np.sqrt(variance), rtol=4 * channel.inputs * off * scale, atol=0)
    assert (table.standard_errors(np.eye(1, channel.symbols, dtype=np.int64)[0], 1) > 0).all()


def test_of_all_unbiased_decoders_this_one_has_the_least_variance_in_a_uniform_population() -> None:
    """A table with more symbols than inputs has many decoders; plain least squares is another
    one.
    """
    law = np.array([[8, 1, 1, 3, 3], [1, 6, 1, 2, 6], [1, 1, 2, 8, 4]]) / 16
    table, plain = TableInverse.from_law(law), np.linalg.pinv(law.T)
    uniform = np.full(3, 1 / 3)
    for decoder in (table.decoder, plain):
        assert np.allclose(decoder @ law.T, np.eye(3), rtol=0, atol=error(table))
    best, other = ((uniform @ law) @ decoder.T**2 for decoder in (table.decoder, plain))
    assert (best < other).all()
    for step in (-1.0, -0.01, 0.01, 1.0):
        moved = table.decoder + step * (plain - table.decoder)
        assert ((uniform @ law) @ moved.T**2 > best).all()


@pytest.mark.parametrize("name", ["scale of 64 at 1", "utilities at 4"])
def test_the_law_and_its_adjoint_are_those_of_the_channel(name: str) -> None:
    channel = TABLES[name]
    table, law, k = inverse(channel), matrix(channel), channel.inputs
    assert np.allclose(table.symbol_law(uneven(k)), law @ uneven(k), rtol=4 * k * PRECISION, atol=0)
    assert np.allclose(table.expectations(uneven(k)), law.T @ uneven(k), rtol=4 * k * PRECISION, atol=0)
