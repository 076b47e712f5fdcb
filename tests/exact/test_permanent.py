"""What reports reveal about any two histories of answers, and about answers that never change, by
enumeration.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache, partial
from itertools import product

import pytest

from client_sdk.protocol import Metric
from client_sdk.protocol.epsilon import NANOS
from tests.support.devices.clients import ask
from tests.support.laws.coins import exact_law
from tests.support.laws.permanents import (
    OFFSETS,
    GridOffsets,
    Law,
    asking,
    channel_of,
    law_of_reports,
    reports_of,
    worst_ratio,
)
from tests.support.laws.series import ln_bounds

EPSILONS = [("1", "2"), ('"ln 3"', '"ln 3"'), ("0.2", "5")]
"""Pairs of a report's epsilon and a permanent epsilon: half of it, equal, and almost without
permanent noise.
"""

CASES = [
    (values, reports, *epsilons)
    for values, reports in [(2, 1), (2, 2), (2, 3), (3, 1), (3, 2), (3, 3)]
    for epsilons in (EPSILONS[:1] if values == reports == 3 else EPSILONS)
]
"""Values, reports, and the two epsilons."""


@cache
def metric_of(values: int, epsilon: str, permanent: str) -> Metric:
    return asking(values, epsilon=epsilon, permanent=permanent).metric("m")


@cache
def laws(values: int, reports: int, epsilon: str, permanent: str) -> dict[tuple[int, ...], Law]:
    metric = metric_of(values, epsilon, permanent)
    return {history: law_of_reports(metric, history) for history in product(range(values), repeat=reports)}


@pytest.mark.parametrize(("epsilon", "permanent"), EPSILONS)
@pytest.mark.parametrize("values", [2, 3, 5])
def test_the_law_of_one_report_is_the_product_of_the_two_laws(values: int, epsilon: str, permanent: str) -> None:
    channel = channel_of(metric_of(values, epsilon, permanent))
    for value in range(values):
        answers = exact_law(partial(channel.permanent.perturb, value))
        multiplied = {
            symbol: sum(
                (
                    weight * exact_law(partial(channel.instantaneous.perturb, answer))[symbol]
                    for answer, weight in answers.items()
                ),
                Fraction(0),
            )
            for symbol in range(channel.symbols)
        }
        assert exact_law(partial(channel.perturb, value)) == multiplied
        assert {symbol: channel.probability(symbol, value) for symbol in range(channel.symbols)} == multiplied
        assert {(symbol,): weight for symbol, weight in multiplied.items()} == law_of_reports(
            metric_of(values, epsilon, permanent), (value,)
        )


@pytest.mark.parametrize(("values", "reports", "epsilon", "permanent"), CASES)
def test_any_two_histories_differ_by_the_epsilon_of_each_report_at_most(
    values: int, reports: int, epsilon: str, permanent: str
) -> None:
    channel = channel_of(metric_of(values, epsilon, permanent))
    law_of = laws(values, reports, epsilon, permanent)
    assert worst_ratio(*law_of.values()) <= channel.worst_ratio**reports


@pytest.mark.parametrize(("values", "reports", "epsilon", "permanent"), [case for case in CASES if case[1] > 1])
def test_what_was_reported_before_does_not_make_the_next_report_reveal_more(
    values: int, reports: int, epsilon: str, permanent: str
) -> None:
    """Whatever the answers were, the next report given the earlier ones is within the epsilon of
    one report.
    """
    channel = channel_of(metric_of(values, epsilon, permanent))
    nexts = []
    for law in laws(values, reports, epsilon, permanent).values():
        for earlier in product(range(values), repeat=reports - 1):
            weights = [law[(*earlier, symbol)] for symbol in range(values)]
            nexts.append([weight / sum(weights) for weight in weights])
    for symbol in range(values):
        column = [weights[symbol] for weights in nexts]
        assert max(column) / min(column) <= channel.worst_ratio


@pytest.mark.parametrize(("values", "reports", "epsilon", "permanent"), CASES)
def test_answers_that_never_change_differ_by_the_permanent_epsilon_at_most(
    values: int, reports: int, epsilon: str, permanent: str
) -> None:
    channel = channel_of(metric_of(values, epsilon, permanent))
    law_of = laws(values, reports, epsilon, permanent)
    assert worst_ratio(*(law_of[(value,) * reports] for value in range(values))) <= channel.permanent.worst_ratio


GRID = [Fraction(place, OFFSETS) for place in (0, 8, 9, OFFSETS)]
"""Both ends, and two numbers that are nearly equal."""


def test_numbers_that_never_change_differ_by_the_permanent_epsilon_at_most() -> None:
    table = '[metric.m]\nkind = "number"\nlow = 0\nhigh = 1\nstatistic = "mean"\nepsilon = 0.9\n'
    metric = ask(f"{table}permanent_epsilon = 1").metric("m")
    law_of = [exact_law(partial(reports_of, metric, [number] * 4, function=GridOffsets)) for number in GRID]
    assert worst_ratio(*law_of) <= channel_of(metric).permanent.worst_ratio


def test_the_epsilon_of_both_steps_together_does_not_add_up_over_reports() -> None:
    """Why that is not what is charged: two reports of (a, a) and (b, c) reveal more than twice what
    one reveals.
    """
    channel = channel_of(metric_of(3, "1", "2"))
    columns = [[channel.probability(symbol, value) for value in range(3)] for symbol in range(3)]
    together = max(max(column) / min(column) for column in columns)
    law_of = laws(3, 2, "1", "2")
    assert together**2 < worst_ratio(law_of[0, 0], law_of[1, 2]) <= channel.worst_ratio**2


@pytest.mark.parametrize("values", [2, 3, 5])
@pytest.mark.parametrize(("epsilon", "permanent"), EPSILONS)
def test_both_figures_are_declared_rounded_up(values: int, epsilon: str, permanent: str) -> None:
    metric = metric_of(values, epsilon, permanent)
    channel = channel_of(metric)
    for declared, ratio in (
        (metric.epsilon_nanos, channel.worst_ratio),
        (metric.channel.permanent_nanos, channel.permanent.worst_ratio),
    ):
        low, high = ln_bounds(ratio)
        assert low * NANOS <= declared < high * NANOS + 1
