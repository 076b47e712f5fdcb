"""The accountant against exact sums, against the known optimum, and against every choice that a
ceiling allows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from client_sdk.protocol import Channel
from client_sdk.protocol.channel import epsilon_nanos
from client_sdk.protocol.kinds.boolean import Boolean
from client_sdk.protocol.kinds.category import Category
from client_sdk.protocol.mechanisms import channel_for
from client_sdk.protocol.mechanisms.balanced_design import BalancedDesign
from client_sdk.protocol.mechanisms.cyclic_design import CyclicDesign
from client_sdk.protocol.mechanisms.hierarchical import Hierarchical
from client_sdk.protocol.mechanisms.k_ary_randomized_response import KAryRandomizedResponse
from client_sdk.protocol.mechanisms.laplace import Laplace
from client_sdk.protocol.mechanisms.optimal_mean import OptimalMean
from client_sdk.protocol.mechanisms.projective_geometry import ProjectiveGeometry
from client_sdk.protocol.mechanisms.square_wave import SquareWave
from client_sdk.protocol.requested_epsilon import RequestedEpsilon
from estimator.plan.exposure import CELLS, CUT, PrivacyLoss, bounded_epsilon, composed_epsilon, loss_of
from tests.support.core.tables import for_each
from tests.support.laws.losses import Law, closed_delta, composed, exact_delta, law_of

DELTAS = (1e-9, 1e-6, 1e-3, 0.1)

Accountant = Callable[[Mapping[PrivacyLoss, int], float], float]


def _channel(epsilon: object, values: int) -> Channel:
    requested = RequestedEpsilon.parse(epsilon)
    if values == 2:
        return channel_for(Boolean(), requested)
    names = tuple(str(value) for value in range(values))
    return channel_for(Category(names), requested, "k-ary-randomized-response")


def _least(law: Law, delta: float) -> float:
    """Return the exact epsilon of a law at a delta."""
    too_little, enough = 0.0, float(math.log(max(law)))
    for _ in range(60):
        middle = (too_little + enough) / 2
        too_little, enough = (too_little, middle) if exact_delta(law, middle) <= delta else (middle, enough)
    return enough


def _moved(reports: Mapping[PrivacyLoss, int]) -> float:
    """Return by how much the grid may have raised the sum of all losses."""
    several = {loss: number for loss, number in reports.items() if number}
    span = sum((2 * number + 1) * loss.epsilon for loss, number in several.items())
    return len(several) * span / CELLS if len(several) > 1 else 0.0


def check_accountant(accountant: Accountant) -> None:
    """Compare an accountant with the exact sums.

    It is never below them, and above them only by the grid and the tails.
    """
    cases: list[list[tuple[object, int, int]]] = [
        [("ln 3", 2, 1)],
        [("ln 3", 2, 6)],
        [(1, 2, 4), (0.5, 2, 3)],
        [(1, 4, 3), (2, 2, 2)],
        [(0.25, 2, 3), (0.5, 3, 2), (1.5, 5, 2)],
    ]
    for case in cases:
        channels = [(_channel(epsilon, values), reports) for epsilon, values, reports in case]
        law = composed([law_of(channel, 0, 1) for channel, reports in channels for _ in range(reports)])
        reports = {loss_of(channel): number for channel, number in channels}
        moved = _moved(reports)
        for delta in DELTAS:
            epsilon_bound = accountant(reports, delta)
            # an epsilon is rounded up to billionths
            declared = sum(number * 2e-9 for number in reports.values())
            assert epsilon_bound >= _least(law, delta) - 2**-50
            assert epsilon_bound <= _least(law, delta * (1 - 2 * CUT)) + moved + declared + 2**-30


def test_a_few_reports_compose_as_exact_sums_say() -> None:
    check_accountant(composed_epsilon)


@pytest.mark.parametrize(
    "mutant",
    [
        lambda reports, delta: composed_epsilon(dict.fromkeys(reports, 1), delta),
        lambda reports, delta: sum(number * loss.epsilon for loss, number in reports.items()) + 0 * delta,
        lambda reports, delta: composed_epsilon(
            {loss._replace(extreme=loss.extreme * 0.99): number for loss, number in reports.items()}, delta
        ),
    ],
    ids=["ignores how many there are", "adds", "a probability one percent too small"],
)
def test_wrong_accountants_are_refused(mutant: Accountant) -> None:
    with pytest.raises(AssertionError):
        check_accountant(mutant)


@for_each("epsilon", [0.1, 1.0, 3.0])
@for_each("reports", [1, 2, 7, 40, 365])
@for_each("delta", DELTAS)
def test_many_randomized_responses_have_the_optimal_composition(epsilon: float, reports: int, delta: float) -> None:
    epsilon_bound = composed_epsilon({PrivacyLoss.worst(epsilon): reports}, delta)
    assert closed_delta(epsilon, reports, epsilon_bound) <= delta
    assert (
        epsilon_bound == 0
        or closed_delta(epsilon, reports, epsilon_bound * (1 - 2**-20)) >= delta * (1 - 2 * CUT) - 2**-50
    )


def test_nothing_reveals_nothing_and_what_has_no_bound_has_none() -> None:
    assert composed_epsilon({}, 1e-6) == 0
    assert composed_epsilon({PrivacyLoss.worst(1.0, delta=1e-3): 1}, 1e-6) == math.inf
    with_delta, without = ({PrivacyLoss.worst(1.0, delta): 30} for delta in (1e-8, 0.0))
    assert composed_epsilon(without, 1e-6) < composed_epsilon(with_delta, 1e-6)
    assert composed_epsilon(with_delta, 1e-6) <= composed_epsilon(without, 1e-6 - 31e-8)


@pytest.mark.parametrize("delta", DELTAS)
def test_a_ceiling_bounds_every_choice_that_it_allows(delta: float) -> None:
    losses = [PrivacyLoss.worst(1.0), PrivacyLoss.worst(0.75), PrivacyLoss(0.5, 0.3)]
    charges = dict(zip(losses, (100, 75, 50), strict=True))
    bound = bounded_epsilon(dict.fromkeys(losses, math.inf), charges, 700, delta)
    tried = 0
    for numbers in product(range(8), range(10), range(0, 15, 2)):
        cost = sum(number * charges[loss] for number, loss in zip(numbers, losses, strict=True))
        if 600 < cost <= 700:
            tried += 1
            reports = dict(zip(losses, numbers, strict=True))
            assert composed_epsilon(reports, delta) <= bound + _moved(reports)
    assert tried > 40


CHANNELS = [
    BalancedDesign.within(RequestedEpsilon.parse(1), 12, 12, 4, 1),
    BalancedDesign.within(RequestedEpsilon.parse(1), 5, 7, 3, 3),
    KAryRandomizedResponse.within(RequestedEpsilon.parse(1), 5),
    CyclicDesign.within(RequestedEpsilon.parse(1), 7, 2, 3),
    CyclicDesign.within(RequestedEpsilon.parse(1), 12, 4, 3),
    ProjectiveGeometry.within(RequestedEpsilon.parse(1), 9, 3, 3),
    SquareWave.within(RequestedEpsilon.parse(2), 9),
    Hierarchical.within(RequestedEpsilon.parse(1), 9),
    Laplace.within(RequestedEpsilon.parse(1), 9),
    OptimalMean.of_total((2, 3, 2), 2, RequestedEpsilon.parse(1).odds),
]


@for_each("channel", CHANNELS)
def test_no_pair_of_answers_differs_by_more_than_the_loss(channel: Channel) -> None:
    loss = loss_of(channel)
    tightest = math.inf
    for first, second in product(range(channel.inputs), repeat=2):
        law = law_of(channel, first, second)
        for epsilon in np.linspace(0, loss.epsilon, 9).tolist():
            said = -loss.extreme * math.expm1(epsilon - loss.epsilon)
            assert exact_delta(law, epsilon) <= said + 2**-50
        if first != second:
            tightest = min(tightest, loss.extreme - float(sum(m for r, m in law.items() if r == channel.worst_ratio)))
    exact = not isinstance(channel, Laplace | Hierarchical)
    assert not exact or abs(tightest) < 2**-40
    assert Fraction(loss.epsilon) * 10**9 >= epsilon_nanos(channel)
