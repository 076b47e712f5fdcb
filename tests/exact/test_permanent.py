"""What any number of reports reveals of a whole history of answers: both declared figures, by enumeration."""

from __future__ import annotations

from fractions import Fraction
from functools import cache, partial
from itertools import product

import pytest

from client_sdk.spec import Metric
from client_sdk.spec.epsilon import NANOS
from tests.support.coins import exact_law
from tests.support.permanents import (
    Law,
    asking,
    channel_of,
    law_of_reports,
    pattern,
    reports_through_the_ledger,
    worst_ratio,
)
from tests.support.series import ln_bounds

EPSILONS = [("1", "2"), ('"ln 3"', '"ln 3"'), ("0.2", "5")]
"""Of a report, and permanent: half of it, as much, and nearly without permanent noise."""

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
    found = laws(values, reports, epsilon, permanent)
    worst = max(worst_ratio(law, other) for law, other in product(found.values(), repeat=2))
    assert worst <= channel.worst_ratio**reports


@pytest.mark.parametrize(("values", "reports", "epsilon", "permanent"), CASES)
def test_two_histories_of_one_pattern_differ_by_the_permanent_epsilon_of_each_value_at_most(
    values: int, reports: int, epsilon: str, permanent: str
) -> None:
    channel = channel_of(metric_of(values, epsilon, permanent))
    found = laws(values, reports, epsilon, permanent)
    alike = [pair for pair in product(found, repeat=2) if pattern(pair[0]) == pattern(pair[1])]
    assert len(alike) > len(found)
    for history, other in alike:
        bound = channel.permanent.worst_ratio ** len(set(history))
        assert worst_ratio(found[history], found[other]) <= bound


@pytest.mark.parametrize(("values", "reports", "epsilon", "permanent"), [case for case in CASES if case[1] > 1])
def test_what_was_reported_before_does_not_make_the_next_report_reveal_more(
    values: int, reports: int, epsilon: str, permanent: str
) -> None:
    """However the answers went, the next report given the earlier ones is within the epsilon of one report."""
    channel = channel_of(metric_of(values, epsilon, permanent))
    nexts = []
    for law in laws(values, reports, epsilon, permanent).values():
        for earlier in product(range(values), repeat=reports - 1):
            weights = [law[(*earlier, symbol)] for symbol in range(values)]
            nexts.append([weight / sum(weights) for weight in weights])
    for symbol in range(values):
        column = [weights[symbol] for weights in nexts]
        assert max(column) / min(column) <= channel.worst_ratio


def test_the_epsilon_of_both_steps_together_does_not_add_up_over_reports() -> None:
    """Why it is not what is charged: of (a, a) and (b, c) two reports tell more than twice what one tells."""
    channel = channel_of(metric_of(3, "1", "2"))
    columns = [[channel.probability(symbol, value) for value in range(3)] for symbol in range(3)]
    together = max(max(column) / min(column) for column in columns)
    found = laws(3, 2, "1", "2")
    assert together**2 < worst_ratio(found[0, 0], found[1, 2]) <= channel.worst_ratio**2


@pytest.mark.parametrize("values", [2, 3, 5])
@pytest.mark.parametrize(("epsilon", "permanent"), EPSILONS)
def test_both_figures_are_declared_rounded_up(values: int, epsilon: str, permanent: str) -> None:
    metric = metric_of(values, epsilon, permanent)
    channel = channel_of(metric)
    for declared, ratio in (
        (metric.epsilon_nanos, channel.worst_ratio),
        (metric.permanent_nanos, channel.permanent.worst_ratio),
    ):
        low, high = ln_bounds(ratio)
        assert low * NANOS <= declared < high * NANOS + 1


@pytest.mark.parametrize("max_values", [1, 2])
def test_through_the_ledger_what_is_charged_bounds_what_is_revealed(max_values: int) -> None:
    """With as many values as are charged at most, beyond which the last one answers: three reports of yes and no."""
    registry = asking(2, more=f'protects = "pattern"\nmax_values = {max_values}')
    channel = channel_of(registry.metric("m"))
    found = {
        history: exact_law(partial(reports_through_the_ledger, registry, history))
        for history in product(range(2), repeat=3)
    }
    for history, other in product(found, repeat=2):
        assert all(len(reports) == 3 for reports in found[history])
        assert worst_ratio(found[history], found[other]) <= channel.worst_ratio**3
        if max_values == 1 or pattern(history) == pattern(other):
            bound = channel.permanent.worst_ratio ** min(len(set(history)), max_values)
            assert worst_ratio(found[history], found[other]) <= bound
    if max_values == 2:
        assert found == laws(2, 3, "1", "2")
    else:
        assert found[0, 1, 0] == found[0, 0, 0]
