"""Non-negative solutions of linear equations in exact integers, by the simplex method.

Pivots keep integers integers: each division is exact (Edmonds 1967, "Systems of distinct
representatives and linear algebra"; Bareiss 1968). The column of the largest sum enters, because
that takes few pivots. After a pivot without progress it is the first one, because the rule of least
indices cannot cycle (Bland 1977, "New finite pivoting rules for the simplex method", theorem 3.1).
So the search always ends, and ends at the same solution on every machine.
"""

from __future__ import annotations

from math import gcd

Row = list[int]


def non_negative_solution(equations: list[Row], totals: Row) -> dict[int, int] | None:
    """Return weights of some columns whose weighted sum is a multiple of the totals.

    There are at most as many weights as equations, all positive and without a common divisor.
    None if there are no such weights.

    Args:
        equations: the coefficients, one row for each equation.
        totals: the right sides, each at least 0 and some above 0.

    """
    rows = [[*row, total] for row, total in zip(equations, totals, strict=True)]
    basis = [len(equations[0]) + index for index in range(len(rows))]  # one artificial column for each equation
    missing, scale, progress = [sum(column) for column in zip(*rows, strict=True)], 1, True
    while (most := max(missing[:-1])) > 0:
        entering = missing.index(most) if progress else next(i for i, each in enumerate(missing) if each > 0)
        leaving = _leaving(rows, basis, entering)
        pivot, progress = rows[leaving], rows[leaving][-1] > 0
        others = [pivot if row is pivot else _eliminated(row, pivot, entering, scale) for row in rows]
        missing = _eliminated(missing, pivot, entering, scale)
        rows, scale, basis[leaving] = others, pivot[entering], entering
    if missing[-1]:
        return None
    weights = {column: row[-1] for column, row in zip(basis, rows, strict=True) if row[-1]}
    divisor = gcd(*weights.values())
    return {column: weights[column] // divisor for column in sorted(weights)}


def _leaving(rows: list[Row], basis: Row, entering: int) -> int:
    """Return the row that bounds the entering weight most; of equal ones, the least column's."""
    best = None
    for index, row in enumerate(rows):
        if row[entering] > 0:
            if best is None:
                best = index
                continue
            ours, theirs = row[-1] * rows[best][entering], rows[best][-1] * row[entering]
            if (ours, basis[index]) < (theirs, basis[best]):
                best = index
    assert best is not None  # noqa: S101 what is missing falls, so some row bounds it
    return best


def _eliminated(row: Row, pivot: Row, entering: int, scale: int) -> Row:
    factor, lead = row[entering], pivot[entering]
    return [(each * lead - factor * other) // scale for each, other in zip(row, pivot, strict=True)]
