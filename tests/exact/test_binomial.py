"""Binomial laws in floats against exact sums: each errs on the side that its name says, by very
little.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from math import comb

import numpy as np
import pytest

from estimator.plan import blanket
from tests.support.core.tables import for_each

DIGITS = 100
"""Decimal digits of the exact sums: their error is far below the last digit of a float."""


@pytest.mark.long
@for_each("local", [1e-6, 0.5, 1.0, 4.0, 20.0])
@for_each("trials", [0, 1, 2, 31, 32, 33, 64, 1000, 10**5])
def test_the_law_is_rounded_up_by_no_more_than_it_says(trials: int, local: float) -> None:
    probability, complement = math.exp(-local), -math.expm1(-local)
    mean = trials * probability
    spread = math.sqrt(mean * complement)
    near = {0, 1, 2, trials - 1, trials, *(round(mean + z * spread) for z in (-9, -3, -1, 0, 1, 3, 9))}
    for successes in sorted(count for count in near if 0 <= count <= trials):
        number, total = np.array([float(successes)]), np.array([float(trials)])
        (ceiling,) = blanket.log_mass_ceiling(number, total, probability, complement)
        with localcontext() as context:
            context.prec = DIGITS
            clone = (-Decimal(local)).exp()
            exact = Decimal(comb(trials, successes)).ln()
            exact += successes * clone.ln() + (trials - successes) * (1 - clone).ln()
        slack = blanket.FIXED_ERROR + blanket.ERROR_PER_STEP * abs(successes - mean)
        assert exact <= Decimal(float(ceiling)) <= exact + 2 * Decimal(slack)


@for_each("trials", range(40))
def test_the_tail_of_fair_coins_is_exact_where_its_fraction_ends_and_else_too_small(
    trials: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    coins = [comb(trials, heads) for heads in range(trials + 1)]
    leasts = range(trials // 2 + 1, trials + 1)
    exact = [Fraction(sum(coins[least:]), coins[least - 1]) for least in leasts]
    for depth, slack in ((64, Fraction(1, 2**42)), (2, Fraction(1))):
        monkeypatch.setattr(blanket, "DEPTH", depth)
        floors = blanket.fair_tail_floor(np.array(leasts, float), np.full(len(leasts), float(trials)))
        for floor, ratio in zip(floors, exact, strict=True):
            assert ratio * (1 - slack) <= Fraction(float(floor)) <= ratio
