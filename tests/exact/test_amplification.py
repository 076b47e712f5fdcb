"""What a tally reveals of one report: never less than the enumeration finds, and hardly more."""

from __future__ import annotations

from itertools import pairwise
from math import comb

import numpy as np
import pytest

from client_sdk.protocol import Channel
from client_sdk.protocol.mechanisms.k_ary_randomized_response import KAryRandomizedResponse
from client_sdk.protocol.mechanisms.optimal_mean import OptimalMean
from client_sdk.protocol.requested_epsilon import RequestedEpsilon
from estimator.plan import blanket as blanket_module
from estimator.plan.amplification import composed, sampled, shuffled_epsilon, shuffled_law
from estimator.plan.blanket import ROUNDING, Blanket, Shuffled
from tests.support.core.tables import for_each
from tests.support.estimates.amplification_checks import (
    CHANNELS,
    LOCAL,
    check_channel,
    check_corners,
    check_everything,
    check_exact,
    check_pairs,
    check_tails,
    divergence,
    exact_delta,
    local_epsilon_of,
    neighbors,
    sampled_law,
    tally_law,
    worst_divergence,
)
from tests.support.mutants.amplification import MUTANTS

PUBLISHED = [
    (10**4, 1, 2, 0.0432, 1e-4),
    (10**4, 1, 4, 0.0343, 1e-4),
    (10**4, 1, 8, 0.0257, 1e-4),
    (10**4, 1, 32, 0.0131, 1e-4),
    (10**4, 2, 2, 0.114, 1e-3),
    (10**4, 2, 4, 0.102, 1e-3),
    (10**4, 2, 8, 0.086, 1e-3),
    (10**4, 2, 32, 0.051, 1e-3),
    (10**5, 4, 2, 0.118, 1e-3),
]
"""Reports, local epsilon, values of k-ary randomized response, the epsilon of its blanket at delta
10^-6, and the unit of its last digit.
"""

MOST = {
    "randomized response": 6,
    "three values": 5,
    "geometry": 2,
    "cyclic design": 3,
    "drawn blocks": 2,
    "balanced design": 2,
    "square wave": 4,
    "wide bands": 3,
    "narrow bands": 3,
    "tree": 2,
    "weights": 4,
}
"""How many reports of each channel are enumerated."""

WORST = {local: Blanket.of_epsilon(local) for local in (1.0, 4.0)}

DELTAS = (1e-12, 1e-6, 1e-3, 0.1)


@pytest.mark.parametrize(("reports", "local", "values", "published", "unit"), PUBLISHED)
def test_the_figures_of_randomized_response_are_those_that_were_computed_by_its_formula(
    reports: int, local: int, values: int, published: float, unit: float
) -> None:
    channel = KAryRandomizedResponse.within(RequestedEpsilon.parse(local), values)
    assert abs(shuffled_epsilon(reports, Blanket.of_channel(channel), 1e-6) - published) <= unit / 2


def test_a_mean_reveals_no_more_than_the_target_of_a_few_thousand_reports() -> None:
    channel = OptimalMean.within(RequestedEpsilon.parse(4))
    blanket = Blanket.of_channel(channel)
    assert shuffled_epsilon(5638, blanket, 1e-6) < 0.56 < shuffled_epsilon(5638, WORST[4.0], 1e-6)


@for_each("local", LOCAL)
@for_each("reports", range(1, 13))
def test_delta_is_that_of_the_enumeration_rounded_up(reports: int, local: float) -> None:
    check_exact(reports, local)


@pytest.mark.parametrize("local", [1.0, 3.0])
def test_the_tails_that_are_given_up_are_added(local: float) -> None:
    check_tails(60, local)


@for_each("delta", DELTAS)
@for_each("local", LOCAL)
def test_epsilon_is_rounded_up(local: float, delta: float) -> None:
    for reports in (1, 2, 7, 24):
        epsilon = shuffled_epsilon(reports, Blanket.of_epsilon(local), delta)
        assert 0 <= epsilon <= local
        assert exact_delta(reports, local, epsilon) <= delta
        if epsilon > 0:
            assert exact_delta(reports, local, epsilon * (1 - 2**-19)) > delta * (1 - 2**-19)


@pytest.mark.parametrize(("name", "reports"), [(name, n) for name, most in MOST.items() for n in range(1, most + 1)])
def test_no_channel_reveals_more_than_the_bound(name: str, reports: int) -> None:
    check_channel(CHANNELS[name], reports)


@pytest.mark.long
@for_each("name", MOST)
def test_no_pair_of_answers_reveals_more_than_the_bound(name: str) -> None:
    for reports in (1, 2, 3):
        check_pairs(CHANNELS[name], reports)


@pytest.mark.parametrize(("buckets", "step"), [(512, 1e9), (1, 0.125), (2, 1e9)])
@pytest.mark.parametrize("name", ["three values", "geometry", "narrow bands"])
def test_no_bucket_and_no_node_makes_the_bound_too_small(
    name: str, buckets: int, step: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blanket_module, "BUCKETS", buckets)
    monkeypatch.setattr(blanket_module, "STEP", step)
    for reports in (3, 8):
        check_corners(Blanket.of_channel(CHANNELS[name]), reports)


@pytest.mark.parametrize("step", [0.125, 1e9])
def test_no_sum_between_two_nodes_is_forgotten(step: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The expectation over G is not below the sum over every G, whatever number K is apart."""
    monkeypatch.setattr(blanket_module, "STEP", step)
    reports, blanket = 200, Blanket.of_channel(CHANNELS["three values"])
    shuffled, chance = Shuffled.among(reports, blanket), blanket.neither / blanket.rest
    sums = np.arange(reports + 1)
    rows = [[_mass(int(reports - apart), chance, others) for others in range(reports + 1)] for apart in shuffled.most]
    for part in (0.0, 0.1, 0.3, 0.6):
        every = (np.array(rows) * shuffled._excess(part, sums[None, :].astype(float))).sum(axis=1)
        assert (shuffled._expected_excess(part) * ROUNDING >= every).all()


def _mass(trials: int, chance: float, successes: int) -> float:
    return comb(trials, successes) * chance**successes * (1 - chance) ** max(0, trials - successes)


@for_each("name", MOST)
def test_a_channel_reveals_no_more_than_the_worst_one_of_its_epsilon(name: str) -> None:
    blanket = Blanket.of_channel(CHANNELS[name])
    worst = Blanket.of_epsilon(blanket.local_epsilon)
    assert shuffled_epsilon(1000, blanket, 1e-6) <= shuffled_epsilon(1000, worst, 1e-6)


def test_one_report_hides_among_none() -> None:
    for local in LOCAL:
        assert shuffled_epsilon(1, Blanket.of_epsilon(local), 0.0) == local


def test_made_up_reports_hide_nobody() -> None:
    one = WORST[1.0]
    assert shuffled_epsilon(10**4, one, 1e-6, dishonest=10**3) == shuffled_epsilon(9 * 10**3, one, 1e-6)
    assert shuffled_epsilon(10, one, 0.0, dishonest=10) == shuffled_epsilon(10, one, 0.0, dishonest=99) == 1.0


def test_epsilon_falls_with_reports_and_delta_and_rises_with_what_one_report_reveals() -> None:
    of_values = Blanket.of_channel(KAryRandomizedResponse.within(RequestedEpsilon.parse(2), 5))
    by_reports = [shuffled_epsilon(10**power, Blanket.of_epsilon(2.0), 1e-6) for power in (0, 2, 4, 8, 12)]
    by_more = [shuffled_epsilon(10**power, of_values, 1e-6) for power in range(0, 13, 3)]
    locals_ = (1e-6, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0, 20.0, 70.0)
    by_local = [shuffled_epsilon(10**4, Blanket.of_epsilon(local), 1e-6) for local in locals_]
    by_delta = [shuffled_epsilon(10**4, WORST[1.0], delta) for delta in (0.0, 1e-40, 1e-20, 1e-6, 1e-3, 0.5)]
    assert all(more >= fewer for row in (by_reports, by_more) for more, fewer in pairwise(row))
    assert all(less <= more for less, more in pairwise(by_local))
    assert all(sure >= unsure for sure, unsure in pairwise(by_delta))
    assert (by_delta[0], by_delta[-1]) == (1.0, 0.0)


@pytest.mark.parametrize("local", [64.0, 65.0, 1e3, 1e200])
def test_a_report_that_reveals_everything_is_not_amplified(local: float) -> None:
    blanket = Blanket.of_epsilon(local)
    assert shuffled_epsilon(10**9, blanket, 0.0) == local
    assert 0 < shuffled_epsilon(1000, blanket, 1e-6) <= local
    assert 0 < shuffled_law(10**9, blanket).delta(local / 2) <= 1


def test_what_several_tallies_reveal_together_is_at_most_the_sum() -> None:
    channel = CHANNELS["randomized response"]
    local, delta = local_epsilon_of(channel), 0.2
    blanket = Blanket.of_channel(channel)
    epsilon = composed([(3, blanket), (2, blanket)], delta)
    assert 0 < epsilon < 2 * local
    for (first, second), (its, others) in zip(neighbors(channel, 3), neighbors(channel, 2), strict=False):
        both = [
            {a + b: p * q for a, p in tally_law(channel, x).items() for b, q in tally_law(channel, y).items()}
            for x, y in ((first, its), (second, others))
        ]
        assert divergence(both[0], both[1], epsilon) <= delta


def test_tallies_that_are_shuffled_apart_reveal_less_than_uploads_that_are_shuffled_whole() -> None:
    one = WORST[1.0]
    assert composed([(10**6, one)] * 3, 1e-6) < shuffled_epsilon(10**6, Blanket.of_epsilon(3.0), 1e-6)
    assert composed([(10**6, one)], 1e-6) >= shuffled_epsilon(10**6, one, 1e-6)


@for_each("taking_part", [1, 2, 3])
@for_each("name", ["randomized response", "three values"])
def test_who_took_part_is_hidden_as_the_theorem_says(name: str, taking_part: int) -> None:
    channel: Channel = CHANNELS[name]
    devices = 4
    for part in (0.0, 0.2, 0.6, 1.0):
        inner = part * local_epsilon_of(channel)
        within = float(worst_divergence(channel, taking_part, inner)) * (1 + 2**-50)
        epsilon, delta = sampled(inner, within, taking_part / devices)
        for first_answers, second_answers in neighbors(channel, devices):
            first, second = (sampled_law(channel, answers, taking_part) for answers in (first_answers, second_answers))
            assert divergence(first, second, epsilon) <= delta


def test_taking_part_for_certain_or_never_is_no_sampling_or_no_loss() -> None:
    assert sampled(1.0, 1e-6, 1.0) == (1.0, 1e-6)
    assert sampled(1.0, 1e-6, 0.0) == (0.0, 0.0)
    assert sampled(1e3, 1e-6, 0.5)[0] == 1e3


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda: shuffled_epsilon(0, WORST[1.0], 1e-6), "reports must be at least 1"),
        (lambda: shuffled_epsilon(5, WORST[1.0], 1e-6, dishonest=-1), "dishonest at least 0"),
        (lambda: shuffled_epsilon(5, Blanket(0.0, 0.5), 1e-6), "must be above 0"),
        (lambda: shuffled_epsilon(5, Blanket(float("nan"), 0.5), 1e-6), "must be above 0"),
        (lambda: shuffled_epsilon(5, WORST[1.0], 1.5), "delta must be from 0 to 1"),
        (lambda: sampled(1.0, 0.0, 1.5), "rate must be from 0 to 1"),
    ],
)
def test_what_is_out_of_range_is_refused(call: object, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        call()  # type: ignore[operator] # what the list holds


def test_the_checks_accept_the_right_bound() -> None:
    check_everything()


@pytest.mark.parametrize("name", MUTANTS)
def test_the_checks_refuse(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    MUTANTS[name](monkeypatch)
    with pytest.raises(AssertionError):
        check_everything()
